"""Texts that travel with a client and come back: nobody else can read, change or forge them."""

from __future__ import annotations

from typing import Protocol


class Sealer(Protocol):
    """Encrypts a text for the holder of the site's keys; ``open`` raises ``ValueError`` for anything else.

    ``bound`` has to be the same both times.
    """

    def seal(self, text: bytes, bound: bytes) -> str: ...

    def open(self, sealed: str, bound: bytes) -> bytes: ...
