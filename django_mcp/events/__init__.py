"""The event log: what changed, read by every process, and the streams that tell clients of it.

``on(kind, callback)`` is for our own caches: it is called while this process reads the log.
"""

from django_mcp.events.kinds import Entry, Kind
from django_mcp.events.log import append, append_after, append_all
from django_mcp.events.tail import on, reader

__all__ = ["Entry", "Kind", "append", "append_after", "append_all", "on", "reader"]
