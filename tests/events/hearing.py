"""What the reader of this process hands on, for as long as a test listens."""

import time
from contextlib import contextmanager

from django_mcp.events.tail import reader

LIMIT = 30


class Heard(list):
    """Entries in the order they came."""

    def wait_for(self, count, kind=None):
        """The entries, as soon as there are so many (of a kind)."""
        until = time.monotonic() + LIMIT
        while len(found := [one for one in list(self) if kind in (None, one.kind)]) < count:
            assert time.monotonic() < until, f"{count} entries expected, heard {found}"
            time.sleep(0.005)
        return found


@contextmanager
def listening():
    heard = Heard()
    take = heard.extend
    reader.attach(take)
    try:
        yield heard
    finally:
        reader.detach(take)
        reader.close()
