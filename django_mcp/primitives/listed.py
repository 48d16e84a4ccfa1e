"""Resources and templates that are only listed: data without a function."""

from __future__ import annotations

import inspect
import re
from types import FrameType, SimpleNamespace
from typing import Any

from django_mcp.exceptions import InvalidPrimitive

VARIABLE = re.compile(r"\{[+#./;?&]?([^{}]*)\}")


class Listed:
    """Stands where the function of a resource belongs, and takes the variables of its URI as texts."""

    def __init__(self, uri: str, name: Any, called: str, caller: FrameType) -> None:
        module = str(caller.f_globals.get("__name__"))
        if name is None:
            raise InvalidPrimitive(
                f"{called}({uri!r}) in {module} has neither a function nor a name. What is only listed needs "
                f'one: write {called}({uri!r}, name="manual").'
            )
        self.__name__ = str(name)
        self.__module__ = module
        self.__qualname__ = f"{called}({uri!r})"
        self.__doc__ = None
        self.__code__ = SimpleNamespace(co_filename=caller.f_code.co_filename, co_firstlineno=caller.f_lineno)
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, annotation=str) for one in _variables(uri)]
        )

    def __call__(self, **variables: str) -> Any:
        """Never called: a reader is asked instead."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listed) and (self.__module__, self.__qualname__) == (
            other.__module__,
            other.__qualname__,
        )

    __hash__ = None  # type: ignore[assignment]  # nothing keeps it in a set


def _variables(uri: str) -> list[str]:
    names = [name.rstrip("*").partition(":")[0] for found in VARIABLE.findall(uri) for name in found.split(",")]
    return [name for name in dict.fromkeys(names) if name.isidentifier()]
