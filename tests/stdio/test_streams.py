"""File descriptors, lines and the threads at both ends of a channel."""

import asyncio
import os
import socket
import sys
import threading
from unittest.mock import patch

import pytest

from django_mcp.transports import stdio_streams
from django_mcp.transports.stdio_streams import Channel, Lines, Reader, Writer, divert, read, take_over, write

LIMIT = 30


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


def cut(*chunks, limit=100):
    lines = Lines(limit)
    return [line for chunk in chunks for line in lines.feed(chunk)] + list(lines.end())


class TestLines:
    """BL-031."""

    @pytest.mark.parametrize(
        "chunks", [[b"one\ntwo\n"], [b"one\r\ntwo\r\n"], [b"o", b"ne\n", b"tw", b"o"], [b"one\r", b"\ntwo"]]
    )
    def test_pieces_make_the_same_lines(self, chunks):
        assert cut(*chunks) == [b"one", b"two"]

    def test_blank_lines_are_lines(self):
        assert cut(b"\n\r\n") == [b"", b""]

    def test_lines_may_be_as_long_as_the_limit(self):
        assert cut(b"123\n", b"456\r\n", b"7", b"89", limit=3) == [b"123", b"456", b"789"]

    @pytest.mark.parametrize("chunks", [[b"1234\nok\n"], [b"123456\nok\n"], [b"123", b"4", b"5" * 50, b"\nok\n"]])
    def test_a_line_that_is_too_long_is_told_once_and_not_kept(self, chunks):
        """S200."""
        assert cut(*chunks, limit=3) == [None, b"ok"]

    def test_what_is_too_long_takes_no_memory(self):
        lines = Lines(10)
        assert [*lines.feed(b"x" * 1000)] == []
        assert len(lines._line) == 0
        assert [*lines.end()] == [None]
        assert [*lines.end()] == []


class TestOwnership:
    """STD-02, BL-029."""

    def test_both_streams_are_kept_and_lead_elsewhere(self, tmp_path):
        source, target, errors = (tmp_path / name for name in ("in", "out", "err"))
        source.write_bytes(b"from the client")
        with source.open("rb") as stdin, target.open("wb") as stdout, errors.open("wb") as stderr:
            channel = divert(stdin.fileno(), stdout.fileno(), stderr.fileno())
            assert os.read(stdin.fileno(), 100) == b""
            os.write(stdout.fileno(), b"stray")
            assert os.read(channel.stdin, 100) == b"from the client"
            os.write(channel.stdout, b"to the client")
            # Child processes get the diverted ones alone.
            assert [os.get_inheritable(fd) for fd in (channel.stdin, channel.stdout)] == [False, False]
            os.close(channel.stdin)
            os.close(channel.stdout)
        assert (target.read_bytes(), errors.read_bytes()) == (b"to the client", b"stray")

    def test_what_is_printed_goes_to_standard_error_from_then_on(self, monkeypatch):
        """STD-03."""
        channel = Channel(stdin=-1, stdout=-1)
        monkeypatch.setattr(sys, "stdout", sys.stdout)
        take_over.cache_clear()
        try:
            with patch.object(stdio_streams, "divert", return_value=channel) as diverted:
                assert take_over() is take_over() is channel
            diverted.assert_called_once_with(0, 1, 2)
            assert sys.stdout is sys.stderr
        finally:
            take_over.cache_clear()


class TestReading:
    def test_chunks_arrive_on_the_loop_until_the_end(self, pipe):
        async def main():
            chunks = asyncio.Queue()
            Reader(pipe[0], chunks.put_nowait)
            os.write(pipe[1], b"one")
            assert await asyncio.wait_for(chunks.get(), LIMIT) == b"one"
            os.close(pipe[1])
            assert await asyncio.wait_for(chunks.get(), LIMIT) == b""

        asyncio.run(main())

    def test_a_reader_ends_with_its_loop(self, pipe):
        chunks = []

        async def main():
            before = set(threading.enumerate())
            Reader(pipe[0], chunks.append)
            [thread] = set(threading.enumerate()) - before
            return thread

        thread = asyncio.run(main())
        os.write(pipe[1], b"late")
        thread.join(LIMIT)
        assert (thread.is_alive(), chunks) == (False, [])

    def test_a_descriptor_that_does_not_block_is_waited_for(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.setblocking(False)
            timer = threading.Timer(0.02, ours.sendall, [b"data"])
            timer.start()
            assert read(theirs.fileno()) == b"data"
            timer.join()

    def test_a_broken_channel_is_at_its_end(self):
        assert read(10_000) == b""


class TestWriting:
    def test_messages_are_lines_in_order(self, pipe):
        """S199."""
        writer = Writer(pipe[1], lambda: pytest.fail("It broke"))
        writer.put(b"one")
        writer.put(b"two")
        writer.finish(LIMIT)
        assert os.read(pipe[0], 100) == b"one\ntwo\n"

    def test_a_client_that_reads_no_more_is_told_once(self, pipe):
        """BL-098."""
        broken = threading.Semaphore(0)
        os.close(pipe[0])
        writer = Writer(pipe[1], broken.release)
        writer.put(b"one")
        writer.put(b"two")
        assert broken.acquire(timeout=LIMIT)
        writer.finish(LIMIT)
        assert not broken.acquire(blocking=False)

    def test_a_descriptor_that_does_not_block_is_waited_for(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.setblocking(False)
            data = b"x" * 2_000_000
            thread = threading.Thread(target=write, args=(theirs.fileno(), data))
            thread.start()
            received = b"".join(_exactly(ours, len(data)))
            thread.join(LIMIT)
        assert received == data


def _exactly(source, size):
    while size:
        piece = source.recv(min(size, 65536))
        size -= len(piece)
        yield piece
