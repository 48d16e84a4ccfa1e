"""What one legacy call has sent, numbered, until the journal has it.

The client gets every message first. Here it stays for a client that comes back for it (LH-14).
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable

from django_mcp.events.call_streams import Chunk, Entry
from django_mcp.transports.event_ids import POST, event_id

ROW_AFTER = 0.2  # seconds that a call runs before others are told of it


def new_key() -> str:
    """A random name for a stream, in which its time stands."""
    return f"{int(time.time()):08x}{secrets.token_hex(8)}"


def age_of(key: str) -> float:
    """How many seconds ago a stream of this name began."""
    return time.time() - int(key[:8], 16)


class Recording:
    """Numbers messages from 1 on; 0 is where the stream begins. Messages may be added on any thread.

    ``room`` is how many bytes may wait for the journal, which is told by ``ring`` when half of them do. Where it
    cannot write, the oldest are dropped beyond that.
    ``on_saved`` is called once when all there is now has been written, ``on_wanted`` when a client has come back,
    both in the loop. ``readers`` are rung whenever who reads the rows may find something new.
    """

    __slots__ = (
        "_began",
        "_count",
        "_is_stored",
        "_lock",
        "_messages",
        "_ring",
        "_room",
        "_saved",
        "_size",
        "ended_at",
        "is_broken",
        "is_flushed",
        "key",
        "on_saved",
        "on_wanted",
        "parts",
        "readers",
        "request",
        "session",
    )

    def __init__(
        self, session: int, request: str, room: int, *, ring: Callable[[], None], on_wanted: Callable[[], None]
    ) -> None:
        self.key = new_key()
        self.session = session
        self.request = request
        self._ring = ring
        self.on_wanted = on_wanted
        self.on_saved: Callable[[], None] | None = None
        self.readers: set[Callable[[], None]] = set()
        # The client does not get any more what is sent.
        self.is_broken = False
        # Everything is to be written whether it gets it or not.
        self.is_flushed = False
        # Whoever reads the stream elsewhere is to come back later.
        self.parts = False
        self.ended_at: float | None = None
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._messages: deque[bytes] = deque()
        self._size = 0
        self._room = room
        self._count = 0
        self._saved = 0
        self._is_stored = False

    @property
    def start_id(self) -> str:
        """The id of the event that begins the stream."""
        return event_id(POST, self.key, 0)

    @property
    def is_running(self) -> bool:
        """Whether others know of the call, and it goes on."""
        return self._is_stored and self.ended_at is None

    def add(self, data: bytes) -> str:
        """The id of a message."""
        with self._lock:
            was_full = self._is_full
            own_id = self._append(data)
            is_full = self._is_full
            while self._size > self._room and len(self._messages) > 1:
                self._size -= len(self._messages.popleft())
        if is_full and not was_full:
            self._ring()
        return own_id

    def end(self, data: bytes | None) -> str:
        """The id of the answer, if there is one. Whatever its size is, nothing is dropped for it."""
        with self._lock:
            own_id = "" if data is None else self._append(data)
            self.ended_at = time.monotonic()
        return own_id

    def entry(self, now: float) -> Entry | None:
        """What the journal should write of it; ``None`` as long as there is nothing."""
        with self._lock:
            is_final = self.ended_at is not None
            waits = self.on_saved is not None
            wants_all = is_final or waits or self.is_broken or self.is_flushed or self._is_full
            chunk = None
            if wants_all and (is_final or self._count > self._saved):
                chunk = Chunk(self._saved + 1, self._count, is_final, tuple(self._messages))
            is_new = not self._is_stored
            is_due = is_new and (wants_all or now - self._began >= ROW_AFTER)
            if chunk is None and not (is_due or waits or self.parts):
                return None
            return Entry(self.key, self.session, self.request, is_new, chunk, self.parts)

    def note(self, entry: Entry) -> None:
        """The entry was written."""
        with self._lock:
            self._is_stored = True
            self.parts = self.parts and not entry.parts
            if entry.chunk is not None:
                self._saved = entry.chunk.last
                while len(self._messages) > self._count - self._saved:
                    self._size -= len(self._messages.popleft())
            saved = self.on_saved if self._count == self._saved else None
            if saved is not None:
                self.on_saved = None
        if saved is not None:
            saved()
        self.ring_readers()

    def ring_readers(self) -> None:
        for ring in tuple(self.readers):
            ring()

    @property
    def _is_full(self) -> bool:
        return self._size > self._room / 2

    def _append(self, data: bytes) -> str:
        self._count += 1
        self._messages.append(data)
        self._size += len(data)
        return event_id(POST, self.key, self._count)
