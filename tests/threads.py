"""Threads that are not ours and meet the database all the same, and such as take their time."""

import threading
from contextlib import contextmanager
from unittest.mock import patch

from asgiref.sync import SyncToAsync
from django.db import connections

LIMIT = 30


def close_connections_of_asgiref() -> None:
    """Async code outside every exchange reaches the ORM on asgiref's own thread, which keeps its connections open."""
    SyncToAsync.single_thread_executor.submit(connections.close_all).result(timeout=30)


@contextmanager
def held_up(owner, name):
    """A thread is about to do it when the first event is set, does it when the second one is, and sets the third."""
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()
    real = getattr(owner, name)

    def slowly(*arguments):
        begun.set()
        go_on.wait(LIMIT)
        try:
            return real(*arguments)
        finally:
            done.set()

    with patch.object(owner, name, slowly):
        try:
            yield begun, go_on, done
        finally:
            go_on.set()
