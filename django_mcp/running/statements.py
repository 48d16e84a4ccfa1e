"""What an SQL statement does, as far as its text proves it."""

from __future__ import annotations

import re
from typing import Any

_VERB = re.compile(r"[\s(]*([a-z]+)", re.IGNORECASE)
_READS = frozenset({"SELECT", "VALUES", "SHOW", "FETCH"})
_CONTROL = frozenset({"BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "COMMIT", "SET", "PRAGMA"})
_ENDS = frozenset({"COMMIT", "END", "ROLLBACK", "ABORT"})
_SUSPICIOUS = ("INTO", "UPDATE", "SHARE")
_WRITES_OR_LOCKS = re.compile(r"\b(?:INTO|FOR\W+(?:\w+\W+){0,2}?(?:UPDATE|SHARE)|LOCK\s+IN\s+SHARE)\b")


def read_verb(sql: Any) -> str:
    """The first word in upper case; nothing for SQL that is not text or starts with a comment."""
    match = _VERB.match(sql) if isinstance(sql, str) else None
    return match[1].upper() if match else ""


def is_write(verb: str, sql: Any) -> bool:
    """Whatever is not provably a read, nor control of a transaction or of the session."""
    if verb in _CONTROL:
        return False
    if verb == "EXPLAIN":
        return "ANALYZE" in sql.upper()
    if verb not in _READS or ";" in sql.rstrip("; \n"):
        return True
    text = sql.upper()
    return any(word in text for word in _SUSPICIOUS) and _WRITES_OR_LOCKS.search(text) is not None


def begins_transaction(verb: str) -> bool:
    return verb in {"BEGIN", "START"}


def ends_transaction(verb: str, sql: Any) -> bool:
    return verb in _ENDS and " TO " not in sql.upper()
