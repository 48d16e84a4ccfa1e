"""What the client has answered so far in one call, and which of it counts for the question asked now."""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from django_mcp.primitives.jsonable import JSONDefault
from django_mcp.protocol.jsonrpc import encode

# How often one question is put before its text must be at fault
MAX_TIMES = 3


@dataclass(slots=True)
class Answers:
    """The memory of a call between its runs, of which JSON values alone travel with a modern client.

    ``known`` holds by key the digest of the question and the client's response; the digest is ``None`` for a
    response that came without a state, so nobody knows what was asked (MRTR-17).
    ``pages`` holds the digests of the questions that were put on pages, and ``submitted`` what came of those that
    are done; that is read from their rows in each request, and never travels with the client (ELI-14).
    """

    known: dict[str, tuple[str | None, Any]] = field(default_factory=dict)
    times: Counter[str] = field(default_factory=Counter)
    memo: dict[str, Any] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    submitted: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    rounds: int = 0
    state: Any = None
    # What tells this conversation from all others, where it goes through the client, and when it is over
    nonce: str | None = None
    ends: float = 0.0
    # What this run has used up, by nonce and by the refs of pages, and whether that stands: an error that the function
    # has caught may have undone it
    used: dict[str, Callable[[], bool]] = field(default_factory=dict)
    # Pages that were used up in a transaction of their own, for all runs of the call
    used_apart: set[str] = field(default_factory=set)
    # Whether that stays so although the function stops, since no transaction undoes it
    is_kept: bool = False
    # What tells this call from all others of its client, where nothing else does
    call_id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    # What this run asks, with the identity that was read where the function is: a form may query there
    asked: dict[str, tuple[Any, dict[str, Any]]] = field(default_factory=dict)
    # Questions without a key are numbered in each run.
    numbered: int = 0

    def next_key(self) -> str:
        self.numbered += 1
        return f"q{self.numbered}"

    def find(self, key: str, digest: str, *, is_sensitive: bool) -> tuple[bool, Any]:
        """Whether there is an answer to exactly this question, and the answer."""
        found = self.submitted.get(key) or self.known.get(key)
        if found is None:
            return False, None
        asked, response = found
        if asked is None:
            return not is_sensitive, response
        return asked == digest, response

    def is_unasked(self, key: str) -> bool:
        """Whether the response came by itself."""
        return key in self.known and self.known[key][0] is None

    def may_ask(self, keys: Collection[str], most: int) -> bool:
        """Whether there were fewer rounds than that. A page is put again, however often, until its person is done."""
        return self.rounds < most or (bool(keys) and self.pages.keys() >= set(keys))

    @property
    def is_spent(self) -> bool:
        return self.nonce is not None and self.has_used(self.nonce)

    def has_used(self, name: str) -> bool:
        return name in self.used_apart or (name in self.used and self.used[name]())

    def stop(self) -> None:
        """The function stops to ask, and what it wrote is undone."""
        self.numbered = 0
        if not self.is_kept:
            self.used.clear()

    def to_json(self) -> dict[str, Any]:
        return {
            "known": {key: list(entry) for key, entry in self.known.items()},
            "times": dict(self.times),
            "memo": self.memo,
            "pages": self.pages,
            "rounds": self.rounds,
            "state": self.state,
            "nonce": self.nonce,
            "ends": self.ends,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Answers:
        return cls(
            known={key: (digest, response) for key, (digest, response) in stored["known"].items()},
            times=Counter(stored["times"]),
            memo=stored["memo"],
            pages=stored["pages"],
            rounds=stored["rounds"],
            state=stored["state"],
            nonce=stored["nonce"],
            ends=stored["ends"],
        )


def digest_of(identity: Mapping[str, Any], default: JSONDefault) -> str:
    """The same for the same question in any process."""
    return hashlib.sha256(encode(identity, default)).hexdigest()[:32]
