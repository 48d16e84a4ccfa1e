"""What there is one of for each event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class PerLoop(dict[asyncio.AbstractEventLoop, T]):
    """Made when it is first asked for. Those of loops that have ended go when the next one is made.

    They know their loops, so that a dictionary with weak keys would keep them for ever.
    """

    def __init__(self, make: Callable[[asyncio.AbstractEventLoop], T]) -> None:
        super().__init__()
        self._make = make

    def of(self, loop: asyncio.AbstractEventLoop) -> T:
        found = self.get(loop)
        if found is None:
            for ended in [one for one in list(self) if one.is_closed()]:
                self.pop(ended, None)
            found = self[loop] = self._make(loop)
        return found
