"""Reading what a check says."""

from typing import Any


def only(messages: list[Any]) -> Any:
    """The one message there is."""
    [message] = messages
    return message
