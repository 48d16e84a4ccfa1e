"""A call is all or nothing on every database, and free where it writes nothing.

For the length of a call each connection of its thread is watched: our ``atomic()`` goes in front of the
first write, of the site's own outermost ``atomic()`` and of ``on_commit()``. Used on that thread only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Literal

from django.db import DEFAULT_DB_ALIAS, Error, OperationalError, connections
from django.db.transaction import Atomic

from django_mcp.exceptions import NotSaved, WriteRefused
from django_mcp.running.statements import begins_transaction, ends_transaction, is_write, read_verb
from django_mcp.running.threads import discard, is_in_transaction

logger = logging.getLogger("django_mcp.running")

SWALLOWED = (
    "An error was caught inside the transaction of this call, so nothing was saved. "
    "The statement that may fail belongs in its own transaction.atomic()."
)
REFUSED = (
    "A function given to context.remember() wrote to the database. Its row would be undone with every run that "
    "asks the client: write outside of remember()."
)
LEFT_OPEN = "A transaction was begun and not ended, so nothing was saved."
COMMIT_FAILED = "The database refused the changes when they were committed, so they were not saved."

# PQTRANS_INERROR: the number psycopg and psycopg2 give a transaction that can only be rolled back
_IN_ERROR = 3
# ER_LOCK_DEADLOCK: the server has rolled the whole transaction back
_DEADLOCK = 1213


class CallTransaction:
    """The transactions of one call, one for each database it writes to."""

    __slots__ = ("_atomic", "_watches", "refuses_writes", "state")

    def __init__(self, atomic: bool | None) -> None:
        self._atomic = atomic
        self.refuses_writes = False
        self.state: Literal["new", "open", "ended"] = "new"
        self._watches: list[_Watch] = []

    @property
    def has_begun_any(self) -> bool:
        """Whether a database is in a transaction of this call."""
        return any(watch.is_in_transaction for watch in self._watches)

    def begin(self) -> None:
        """Does nothing from the second time on."""
        if self.state != "new":
            return
        self.state = "open"
        try:
            for connection in connections.all():
                self._watch(connection)
        except BaseException:
            self.roll_back()
            self.state = "new"
            raise

    def _watch(self, connection: Any) -> None:
        watch = _Watch(connection, self)
        self._watches.append(watch)
        if self._atomic is False or not connection.settings_dict["AUTOCOMMIT"]:
            return
        watch.install()
        if watch.is_nested or (self._atomic and connection.alias == DEFAULT_DB_ALIAS):
            watch.enter()
        elif self._atomic:
            watch.enter_at_first_cursor()

    def commit(self) -> None:
        """Commit on one database after the other, or raise ``NotSaved``."""
        watches = self._stop_watching()
        remaining = list(watches)
        try:
            for watch in watches:
                watch.check()
            while remaining:
                remaining.pop(0).commit()
        finally:
            for watch in remaining:
                watch.roll_back()
            for watch in watches:
                watch.tidy()

    def roll_back(self) -> None:
        """Does nothing once the call is committed or rolled back."""
        watches = self._stop_watching()
        for watch in watches:
            watch.roll_back()
            watch.tidy()

    def _stop_watching(self) -> list[_Watch]:
        self.state = "ended"
        watches, self._watches = self._watches, []
        for watch in reversed(watches):
            watch.remove()
        return watches


class _Watch:
    """One connection during one call."""

    def __init__(self, connection: Any, owner: CallTransaction) -> None:  # Any: much of what follows has no stubs
        self._owner = owner
        self.is_nested = is_in_transaction(connection)
        self._connection = connection
        self._block: Any = None
        self._is_entering = False
        self._is_manual = False
        self._originals: dict[str, Callable[..., Any]] = {}
        self._covered: dict[str, Any] = {}

    def install(self) -> None:
        # First in line: in a call inside a call the inner one has to see a statement before the outer one.
        self._connection.execute_wrappers.insert(0, self._execute)
        self._shadow("set_autocommit", self._set_autocommit)
        self._shadow("on_commit", self._on_commit)
        self._shadow("close_if_unusable_or_obsolete", self._close_if_unusable_or_obsolete)

    def enter_at_first_cursor(self) -> None:
        self._shadow("_cursor", self._cursor)

    def _shadow(self, name: str, function: Callable[..., Any]) -> None:
        attributes = vars(self._connection)
        if name in attributes:  # a call inside a call, or a test double
            self._covered[name] = attributes[name]
        self._originals[name] = getattr(self._connection, name)
        attributes[name] = function

    def remove(self) -> None:
        if not self._originals:
            return
        attributes = vars(self._connection)
        self._connection.execute_wrappers.remove(self._execute)
        for name in self._originals:
            attributes.pop(name, None)
        attributes.update(self._covered)

    @property
    def _is_outside(self) -> bool:
        """Whether a write would be committed at once."""
        return not (self._connection.in_atomic_block or self._is_entering or self._is_manual)

    @property
    def is_in_transaction(self) -> bool:
        return self._block is not None or self._is_manual or self._connection.in_atomic_block

    def enter(self) -> None:
        connection = self._connection
        block: Any = Atomic(connection.alias, savepoint=True, durable=False)
        # A durable block of the site's code sees what it would see without us.
        block._from_testcase = not connection.atomic_blocks or connection.atomic_blocks[-1]._from_testcase
        self._is_entering = True
        try:
            block.__enter__()
        finally:
            self._is_entering = False
        self._block = block
        self.is_nested = bool(connection.savepoint_ids)

    def _execute(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        if self._owner.refuses_writes and is_write(read_verb(sql), sql):
            raise WriteRefused(REFUSED)
        if self._is_outside or self._is_manual:
            self._look_at(sql)
        try:
            return execute(sql, params, many, context)
        except OperationalError as error:
            if self._connection.vendor == "mysql" and error.args[0] == _DEADLOCK:
                self._connection.needs_rollback = True
                self._connection.rollback_exc = error
            raise

    def _look_at(self, sql: Any) -> None:
        verb = read_verb(sql)
        if self._is_manual:
            self._is_manual = not ends_transaction(verb, sql)
        elif begins_transaction(verb):
            self._is_manual = True
        elif is_write(verb, sql):
            self.enter()

    def _set_autocommit(self, autocommit: bool, force_begin_transaction_with_broken_autocommit: bool = False) -> None:
        by_atomic = force_begin_transaction_with_broken_autocommit
        if not autocommit and self._is_outside:
            self.enter()
            if by_atomic:  # the site's own outermost one: it becomes a savepoint of ours
                self._connection.savepoint_ids.append(self._connection.savepoint())
                return
        # Django refuses it in our transaction, unless it is our own atomic() that asks.
        self._originals["set_autocommit"](autocommit, by_atomic)

    def _on_commit(self, func: Callable[[], object], robust: bool = False) -> None:
        if self._is_outside:
            self.enter()
        # In a transaction of somebody else (ATOMIC_REQUESTS) it runs after our commit() and must fail as quietly.
        self._originals["on_commit"](func, robust or self.is_nested)

    def _close_if_unusable_or_obsolete(self) -> None:
        # database_sync_to_async() and the like call it between two statements of a call.
        if self._is_outside:
            self._originals["close_if_unusable_or_obsolete"]()

    def _cursor(self, *args: Any, **kwargs: Any) -> Any:
        if self._is_outside:
            self.enter()
        return self._originals["_cursor"](*args, **kwargs)

    def check(self) -> None:
        """Raise ``NotSaved`` if what was written can not be committed as a whole."""
        connection = self._connection
        if self._is_manual:
            raise NotSaved(LEFT_OPEN)
        if self._block is None:
            return
        if connection.atomic_blocks[-1:] != [self._block]:
            raise NotSaved(LEFT_OPEN)
        if connection.needs_rollback or _is_broken(connection.connection):
            raise NotSaved(SWALLOWED) from connection.rollback_exc

    def commit(self) -> None:
        block, self._block = self._block, None
        if block is None:
            return
        connection = self._connection
        if not self.is_nested:
            connection.run_on_commit = [
                (sids, _logging_errors(hook), robust) for sids, hook, robust in connection.run_on_commit
            ]
        try:
            block.__exit__(None, None, None)
        except Error as error:
            logger.warning("COMMIT failed on %r", connection.alias, exc_info=True)
            raise NotSaved(COMMIT_FAILED) from error

    def roll_back(self) -> None:
        block, self._block = self._block, None
        if block is None:
            return
        blocks = self._connection.atomic_blocks
        reason = _RollBack()
        try:
            while block in blocks:
                blocks[-1].__exit__(_RollBack, reason, None)
        except Error:  # the connection is cut, so the server has rolled back
            logger.warning("ROLLBACK failed on %r", self._connection.alias, exc_info=True)

    def tidy(self) -> None:
        """Close a connection that was in autocommit before the call and is not now."""
        is_watched = "set_autocommit" in vars(self._connection)  # by the call this one ran in
        if not (self.is_nested or is_watched) and (self._is_manual or is_in_transaction(self._connection)):
            discard(self._connection)


class _RollBack(Exception):
    """What an ``atomic()`` is left with when the call is undone."""


def _is_broken(raw: Any) -> bool:
    """Whether the driver knows that its transaction has failed or is gone."""
    info = getattr(raw, "info", None)
    return getattr(info, "transaction_status", None) == _IN_ERROR or not getattr(raw, "in_transaction", True)


def _logging_errors(hook: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        try:
            hook()
        except BaseException:  # the data is committed, whatever becomes of the hook
            logger.exception("An on_commit hook failed; the call stays committed")

    return run
