"""What legacy calls have sent, written down for clients that come back for it (LH-14, LH-24, LH-26).

One task of the loop writes for all of its calls, in one transaction, and only while there are some. No call waits
for it: on SQLite a tool may hold the only lock. A call that ends without breaking costs its share of one transaction.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from django.db import Error

from django_mcp.events import call_streams, on, workers
from django_mcp.events.call_streams import Entry
from django_mcp.events.kinds import Entry as LogEntry
from django_mcp.events.kinds import Kind
from django_mcp.running import write_store
from django_mcp.running.loops import PerLoop
from django_mcp.transports.recording import Recording

logger = logging.getLogger("django_mcp.http")

EVERY = 0.1  # seconds between two looks at what there is to write, unless somebody rings
BEAT = 1.0  # seconds between two looks at who has come back elsewhere, which are signs of life, while calls go on
BATCH = 200  # calls a transaction
BATCH_BYTES = 4 * 1024 * 1024  # of a transaction, unless one call alone has more
LONGEST_PAUSE = 2.0  # seconds between two tries while the database is away
GIVE_UP = 60.0  # seconds after its end for which a call that cannot be written is kept


class Journal:
    """The recordings of one event loop. All methods but ``ring`` are called in it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._recordings: dict[str, Recording] = {}
        self._rung = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._looked = -BEAT
        self._pause = EVERY
        # The process is about to end, so a stream may end only when everything is written.
        self.is_closing = False

    def __len__(self) -> int:
        return len(self._recordings)

    def ring(self) -> None:
        """Somebody waits for what there is. May be called on any thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._rung.set)

    def follow(self, recording: Recording) -> None:
        """Write what this one has to say, until it has ended."""
        recording.is_flushed = self.is_closing
        self._recordings[recording.key] = recording
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._work())

    def find(self, key: str) -> Recording | None:
        return self._recordings.get(key)

    def want(self, key: str) -> None:
        """A client has come back to this stream, wherever it did."""
        recording = self._recordings.get(key)
        if recording is not None:
            recording.on_wanted()
            self._rung.set()

    def hear(self, key: str) -> None:
        """The same on any thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self.want, key)

    def close(self) -> None:
        """Write everything there is from now on. For the end of the process."""
        self.is_closing = True
        for recording in self._recordings.values():
            recording.is_flushed = True
        self._rung.set()

    async def drain(self, timeout: float) -> None:
        """Wait at most *timeout* seconds until everything is written of calls that have ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while any(one.ended_at is not None for one in self._recordings.values()):
                    self._rung.set()
                    await asyncio.sleep(EVERY / 10)

    async def _work(self) -> None:
        while self._recordings:
            self._rung.clear()
            await self._write()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pause):
                    await self._rung.wait()

    async def _write(self) -> None:
        now = time.monotonic()
        is_time = now - self._looked >= BEAT
        # Whose client may be gone without a sign, and has come back to another worker.
        watched = [key for key, one in self._recordings.items() if one.is_running] if is_time else []
        for batch in self._batches(now) or ([[]] if watched else []):
            if not await self._save(batch, watched):
                return
            if watched:
                self._looked, watched = now, []

    def _batches(self, now: float) -> list[list[Entry]]:
        """What there is to write: one call at a time once something went wrong."""
        most = BATCH if self._pause == EVERY else 1
        batches: list[list[Entry]] = []
        size = 0
        for recording in self._recordings.values():
            entry = recording.entry(now)
            if entry is None:
                continue
            own = 0 if entry.chunk is None else sum(map(len, entry.chunk.messages))
            if not batches or len(batches[-1]) >= most or size + own > BATCH_BYTES:
                batches.append([])
                size = 0
            batches[-1].append(entry)
            size += own
        return batches

    async def _save(self, batch: list[Entry], watched: list[str]) -> bool:
        try:
            saved = await write_store(call_streams.save, workers.this.key, batch, watched)
        except Error as error:
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
            logger.warning("What calls have sent is not written, next try in %.1f s: %s", self._pause, error)
            self._put_back(batch)
            return False
        self._pause = EVERY
        for entry in batch:
            recording = self._recordings[entry.key]
            if entry.key in saved.gone or (entry.chunk is not None and entry.chunk.is_final):
                del self._recordings[entry.key]
            recording.note(entry)
        for key in saved.wanted:
            self.want(key)
        return True

    def _put_back(self, batch: list[Entry]) -> None:
        """The others come first, in case it was these that failed."""
        now = time.monotonic()
        for entry in batch:
            recording = self._recordings.pop(entry.key)
            if recording.ended_at is None or now - recording.ended_at < GIVE_UP:
                self._recordings[entry.key] = recording
            else:
                logger.warning("What a call has sent was given up")


_journals = PerLoop(Journal)
journal_of = _journals.of


def close_journals() -> None:
    """The process is about to end. Safe to call from a signal handler."""
    for loop, journal in tuple(_journals.items()):
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(journal.close)


def find_here(key: str) -> Recording | None:
    """The recording of a call that runs in this process."""
    found = (journal.find(key) for journal in tuple(_journals.values()))
    return next((one for one in found if one is not None), None)


def want_here(key: str) -> None:
    """May be called on any thread, for the calls of any process."""
    for journal in tuple(_journals.values()):
        recording = journal.find(key)
        if recording is not None:
            journal.hear(key)
            recording.ring_readers()  # of whom one is replaced


def _hear(entry: LogEntry) -> None:
    want_here(entry.data["stream"])


on(Kind.STREAM_WANTED, _hear)
