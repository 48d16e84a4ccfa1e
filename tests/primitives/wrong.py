"""Functions that cannot be registered, and one that can."""

from typing import Annotated, Any

from pydantic import SecretStr

from django_mcp.primitives.headers import Header
from tests.primitives.values import Context


class Unreadable:
    __qualname__ = "unreadable"

    @property
    def __signature__(self):
        raise ValueError

    def __call__(self): ...


unreadable = Unreadable()


class Owner:
    """Holds methods."""


def look(word: str) -> str: ...  # type: ignore[empty-body]


async def alook(word: str) -> str: ...  # type: ignore[empty-body]


async def agen():
    yield 1  # pragma: no cover - it is looked at, not called


def stars(**rest): ...


def many(*rest): ...


def by_position(word, /): ...


def with_self(self): ...


def twice(context, other: Context): ...


def unresolved(money: "Money"): ...  # type: ignore[name-defined]  # noqa: F821


def unusable(word: Owner): ...


def drawn() -> bytes: ...  # type: ignore[empty-body]


def pair(one, other): ...


def headed(number: Annotated[float, Header("A")]): ...


def headed_secret(word: Annotated[SecretStr, Header("A")]): ...


def headed_twice(one: Annotated[str, Header("A")], other: Annotated[str, Header("a")]): ...


def no_self(): ...


def deep():
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(70):
        schema = {"type": "object", "properties": {"word": schema}}
    return schema
