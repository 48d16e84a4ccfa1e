"""Running user code: threads, connections, transactions and cancellation."""

from django_mcp.running.exchanges import (
    Exchange,
    close_lanes,
    exchange,
    has_ancestor,
    run_store,
    running_loop,
    write_later,
    write_store,
)
from django_mcp.running.isolation import activated
from django_mcp.running.lanes import lanes_idle, lanes_in_use
from django_mcp.running.runner import Runner, is_cancelled, refusing_writes, step

__all__ = [
    "Exchange",
    "Runner",
    "activated",
    "close_lanes",
    "exchange",
    "has_ancestor",
    "is_cancelled",
    "lanes_idle",
    "lanes_in_use",
    "refusing_writes",
    "run_store",
    "running_loop",
    "step",
    "write_later",
    "write_store",
]
