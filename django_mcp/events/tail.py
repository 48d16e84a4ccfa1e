"""The one reader of this process: a thread that hands new entries on, in order and each once.

It runs while somebody takes its entries, and begins at the end of the log. It looks by itself every so often
and whenever a doorbell rings. When the database is away it tries again and goes on from where it was.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from django.db import Error, connections

from django_mcp.conf import mcp_settings
from django_mcp.events import doorbells, log
from django_mcp.events.kinds import Entry
from django_mcp.events.numbering import StaleHead, log_alias, number_at_leisure
from django_mcp.events.retention import retention
from django_mcp.running.threads import after_fork

logger = logging.getLogger("django_mcp.events")

Take = Callable[[Sequence[Entry]], object]

PATIENCE = 2.0  # seconds that a reader waits for an entry that the next one says is there
WITH_BELL = 5.0  # seconds between two looks when other processes can be heard
POLL = {"sqlite": 0.1}
POLL_ELSEWHERE = 0.25
_BACK_OFF = (0.1, 2.0)
_HOLE = (0.002, 0.05)
_RING = "django_mcp.events"


class Reader:
    """Hands entries to whoever attaches. All its methods may be called on any thread."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start over: the thread is gone, as after a fork."""
        self._lock = threading.RLock()
        self._takers: list[Take] = []
        self._run: _Run | None = None

    @property
    def is_running(self) -> bool:
        return self._run is not None

    def attach(self, take: Take) -> int:
        """Have every entry above the returned number given to ``take``, on the reader's thread; never wait there.

        Reads the database. Raises ``django.db.Error`` where it is not to be reached.
        """
        while True:
            # Read before the lock is taken, which event loops take too.
            start = _begin(log_alias()) if self._run is None else None
            with self._lock:
                if self._run is None and start is not None:
                    self._run = _Run(self._hand_on, start)
                if self._run is not None:
                    self._takers.append(take)
                    return self._run.cursor

    def detach(self, take: Take) -> None:
        """The last one to leave ends the thread. Harmless the second time."""
        with self._lock:
            if take in self._takers:
                self._takers.remove(take)
            if not self._takers and self._run is not None:
                self._run.stop()
                self._run = None

    def close(self, timeout: float = 5.0) -> None:
        """End the thread and wait for it."""
        with self._lock:
            run, self._run = self._run, None
            self._takers.clear()
        if run is not None:
            run.stop()
            run.join(timeout)

    def _hand_on(self, run: _Run, entries: Sequence[Entry]) -> None:
        with self._lock:
            if run is not self._run:
                return
            run.cursor = entries[-1].seq
            takers = list(self._takers)
            _tell_local(entries)
            for take in takers:
                take(entries)


def _begin(alias: str) -> int:
    """The number to begin after. A log that nobody has written to gets its head: without it a look costs more."""
    start = log.position(alias)
    if not start:
        with suppress(Error, StaleHead):  # another one may be writing, and will do it
            number_at_leisure(alias)
    return start


class _Run:
    """The thread, and how far it has read."""

    def __init__(self, hand_on: Callable[[_Run, Sequence[Entry]], None], cursor: int) -> None:
        self.cursor = cursor
        self._hand_on = hand_on
        self._bell = threading.Event()
        self._is_over = False
        self._missing_since: float | None = None
        self._is_unfinished = False
        self._thread = threading.Thread(target=self._work, name="mcp-events", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._is_over = True
        self._bell.set()

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)

    def _work(self) -> None:
        alias = log_alias()
        silence = doorbells.on_ring(self._bell.set)
        ear = doorbells.open_ear(alias, connections[alias].vendor)
        try:
            self._read_until_stopped(alias, ear)
        finally:
            silence()
            ear.close()
            connections.close_all()

    def _read_until_stopped(self, alias: str, ear: doorbells.Ear) -> None:
        pause, longest = _BACK_OFF
        look = _Look(alias)
        while not self._is_over:
            try:
                if look.may_show_something(self._bell.is_set() or self._is_unfinished):
                    self._bell.clear()
                    wait = self._step(alias)
                else:
                    wait = None
                pause = _BACK_OFF[0]
            except Exception as error:  # noqa: BLE001 - whatever it is, streams wait for this thread
                level = logging.WARNING if isinstance(error, Error) else logging.ERROR
                logger.log(level, "The event log cannot be read, next try in %.1f s: %s", pause, error)
                connections[alias].close()
                look = _Look(alias)
                wait, pause = pause, min(pause * 2, longest)
            self._bell.wait(_interval(look.vendor, ear) if wait is None else wait)

    def _step(self, alias: str) -> float | None:
        """Read what is there; how long to wait for what should be there and is not."""
        self._is_unfinished = True
        head, has_waiting = log.look(alias)
        self._is_unfinished = False
        if has_waiting:
            head = self._number(alias, head)
        if head < self.cursor:
            self._come_down(alias)
        while head > self.cursor and not self._is_over:
            entries = log.read(alias, self.cursor)
            good = list(log.unbroken(self.cursor, entries))
            if good:
                self._missing_since = None
                self._hand_on(self, good)
            elif (wait := self._wait_for_missing()) is not None:
                self._is_unfinished = True
                return wait
            elif entries:
                self._hand_on(self, entries[:1])
            else:
                self.cursor = head
        retention.see_to()
        return None

    def _number(self, alias: str, head: int) -> int:
        """Number what a process that died has left; another writer on SQLite makes it wait for the next look."""
        try:
            number_at_leisure(alias)
        except Error as error:
            logger.debug("Events wait for their numbers: %s", error)
            self._is_unfinished = True
            connections[alias].close_if_unusable_or_obsolete()
            return head
        return log.look(alias)[0]

    def _come_down(self, alias: str) -> None:
        """The log was restored, or the clock set back: numbers go on below the cursor."""
        highest = log.position(alias)
        if highest < self.cursor:
            logger.warning("The event log ends at %d, before the cursor %d", highest, self.cursor)
            self.cursor = highest

    def _wait_for_missing(self) -> float | None:
        """How long to wait before the next look at a hole; ``None`` once ``PATIENCE`` is at its end."""
        now = time.monotonic()
        if self._missing_since is None:
            self._missing_since = now
        missing = now - self._missing_since
        if missing < PATIENCE:
            shortest, longest = _HOLE
            return min(longest, max(shortest, missing))
        logger.warning("Events after number %d are gone and were not delivered", self.cursor)
        self._missing_since = None
        return None


class _Look:
    """Whether a look at the log can show anything new. SQLite can tell for three microseconds."""

    def __init__(self, alias: str) -> None:
        self._connection: Any = connections[alias]
        self.vendor: str = self._connection.vendor
        self._version: int | None = None

    def may_show_something(self, rang: bool) -> bool:
        if self.vendor != "sqlite":
            return True
        if self._connection.connection is None:
            self._connection.ensure_connection()
        (version,) = self._connection.connection.execute("PRAGMA data_version").fetchone()
        is_new = version != self._version
        self._version = version
        return is_new or rang


def _interval(vendor: str, ear: doorbells.Ear) -> float:
    given = mcp_settings().poll_interval
    if given is not None:
        return given
    return WITH_BELL if ear.hears else POLL.get(vendor, POLL_ELSEWHERE)


_local: dict[str, list[Callable[[Entry], object]]] = {}


def on(kind: str, callback: Callable[[Entry], object]) -> Callable[[], None]:
    """Call ``callback`` on the reader's thread for each entry of a kind, while the reader runs; returns what ends that.

    It must neither wait nor use the database.
    """
    callbacks = _local.setdefault(kind, [])
    callbacks.append(callback)

    def off() -> None:
        if callback in callbacks:
            callbacks.remove(callback)

    return off


def _tell_local(entries: Sequence[Entry]) -> None:
    for entry in entries:
        for callback in list(_local.get(entry.kind, ())):
            try:
                callback(entry)
            except Exception:  # the others and the streams must hear of it all the same
                logger.exception("A callback for %s failed", entry.kind)


reader = Reader()
after_fork(reader.forget)
