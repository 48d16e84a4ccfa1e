"""Threads that are not ours and meet the database all the same."""

from asgiref.sync import SyncToAsync
from django.db import connections


def close_connections_of_asgiref() -> None:
    """Async code outside every exchange reaches the ORM on asgiref's own thread, which keeps its connections open."""
    SyncToAsync.single_thread_executor.submit(connections.close_all).result(timeout=30)
