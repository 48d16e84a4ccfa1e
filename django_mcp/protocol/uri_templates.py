"""URI templates (RFC 6570 levels 1 to 3, and ``{/path*}``), read backwards: from a URI to its variables.

Variables are percent-decoded once, after matching (RES-19). A variable that could lead out of its
place makes the URI a stranger: an encoded slash where a raw one cannot stand, ``..``, NUL.

A variable may have one of Django's path converters, ``{pk:int}``. Clients see the template without them.
Kept libraries only write URIs (``uritemplate``, used in ``primitives.uris``); none reads templates backwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote_to_bytes

from django_mcp.exceptions import InvalidPrimitive

# Matching can take time that grows with the square of the length. RFC 9110 section 4.1 recommends
# that this many octets be supported.
MAX_LENGTH = 8000


class UriTemplate:
    """A template, compiled once. The variables of a query are optional and come in any order.

    ``text`` is the template as RFC 6570 has it, ``converters`` what it was written with beyond that, ``query``
    names the variables of the query.
    """

    __slots__ = ("_pattern", "_roomy", "converters", "query", "text", "variables")

    def __init__(self, text: str) -> None:
        plain, self.converters = _take_converters(text)
        path, query = _split_query(plain)
        literals, variables = _parse(text, path, self.converters)
        self.text = plain
        self.variables = (*(variable.name for variable in variables), *query)
        _check_variables(text, variables, self.variables)
        self.query = frozenset(query)
        self._roomy = self.query.union(v.name for v in variables if v.reach != "segment")
        self._pattern = _compile(text, literals, variables, query)

    def __repr__(self) -> str:
        return f"UriTemplate({self.text!r})"

    def match(self, uri: str) -> dict[str, str] | None:
        """The decoded variables, if the template can stand for this URI."""
        if len(uri) > MAX_LENGTH or has_bad_escape(uri):
            return None
        found = self._pattern.fullmatch(uri)
        if found is None:
            return None
        variables = found.groupdict()
        if self.query and (query := found[self._pattern.groups]) is not None:
            for pair in query.split("&"):
                name, _, value = pair.partition("=")
                # Twice the same name would leave the choice between its values to chance.
                if name not in self.query or name in variables:
                    return None
                variables[name] = value
        return self._decode(variables)

    def _decode(self, variables: dict[str, str]) -> dict[str, str] | None:
        decoded = {}
        for name, value in variables.items():
            text = _decode(value)
            if text is None or (name not in self._roomy and _SEPARATOR.search(text)):
                return None
            if name in self.converters and not CONVERTERS[self.converters[name]].fullmatch(text):
                return None
            decoded[name] = text
        return decoded


def has_bad_escape(uri: str) -> bool:
    """Whether a percent sign in it does not begin an escape."""
    return _BAD_ESCAPE.search(uri) is not None


Reach = Literal["segment", "path", "anywhere"]


@dataclass(frozen=True, slots=True)
class _Variable:
    name: str
    # How far it goes: to the next slash, through the path, or anywhere.
    reach: Reach


def _take_converters(text: str) -> tuple[str, dict[str, str]]:
    """The template without the converters, and those by variable."""
    converters: dict[str, str] = {}

    def take(found: re.Match[str]) -> str:
        body = found[1]
        for name, converter in _CONVERTED.findall(body):
            if converter not in CONVERTERS:
                raise _invalid(
                    text,
                    f"the converter {converter!r}",
                    f"write one of {', '.join(CONVERTERS)}, or leave it out and annotate the parameter",
                )
            converters[name] = converter
        plain = _CONVERTED.sub(r"\1", body)
        if "path" not in [converter for _, converter in _CONVERTED.findall(body)]:
            return f"{{{plain}}}"
        if not plain.isidentifier():
            raise _invalid(text, f"the expression {{{body}}}", "a path stands alone: write {name:path}")
        # What clients fill in for {name} has its slashes encoded.
        return f"{{+{plain}}}"

    return _BRACES.sub(take, text), converters


def _split_query(text: str) -> tuple[str, tuple[str, ...]]:
    found = _QUERY.search(text)
    return (text[: found.start()], tuple(found[1].split(","))) if found else (text, ())


def _parse(text: str, path: str, converters: dict[str, str]) -> tuple[list[str], list[_Variable]]:
    """The literals, one before each variable and one after the last."""
    literals = [""]
    variables = []
    for position, part in enumerate(_BRACES.split(path)):
        if position % 2:
            for before, variable in _expression(text, part, converters):
                literals[-1] += before
                variables.append(variable)
                literals.append("")
        elif "{" in part or "}" in part:
            raise _invalid(text, "braces that do not match", "write each variable as {name}")
        else:
            literals[-1] += part
    return literals, variables


def _expression(text: str, body: str, converters: dict[str, str]) -> Iterator[tuple[str, _Variable]]:
    found = _EXPRESSION.fullmatch(body)
    if found is None:
        raise _invalid(
            text,
            f"the expression {{{body}}}",
            "write {name}, {+path}, {/path*} or, at the end, {?name,name}, with names that Python can use",
        )
    if found["path"]:
        yield "/", _Variable(found["path"], "path")
        return
    operator = found["operator"]
    before, separator = _LITERALS[operator]
    for name in found["names"].split(","):
        label = f"{name}=" if operator == ";" else ""
        reach: Reach = "anywhere" if operator in ("+", "#") else "segment"
        yield before + label, _Variable(name, "path" if converters.get(name) == "path" else reach)
        before = separator


def _check_variables(text: str, variables: list[_Variable], names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        raise _invalid(text, "a variable twice", "give each one a name of its own")
    if sum(variable.reach != "segment" for variable in variables) > 1:
        raise _invalid(
            text,
            "two variables that may contain slashes",
            "keep one of them, since nobody can tell where the first one ends",
        )


def _compile(text: str, literals: list[str], variables: list[_Variable], query: tuple[str, ...]) -> re.Pattern[str]:
    pattern = re.escape(literals[0])
    for variable, after in zip(variables, literals[1:], strict=True):
        is_last = variable is variables[-1]
        if not after and not is_last:
            raise _invalid(text, "two variables side by side", "put a text between them")
        stops = _STOPS[variable.reach]
        if variable.reach == "segment" and not is_last and "/" not in after:
            # Another variable follows in the same segment. Ending at the first chance leaves one
            # way to split it, where matching would otherwise try them all.
            stops += after[0]
        if query:
            stops += "?"
        characters = f"[^{re.escape(stops)}]" if stops else "."
        pattern += f"(?P<{variable.name}>{characters}+){re.escape(after)}"
    if query:
        # {&...} goes on with a query that the text before it has begun.
        pattern += f"(?:{'&' if '{&' in text else re.escape('?')}([^#]*))?"
    return re.compile(pattern, re.DOTALL)


def _decode(value: str) -> str | None:
    try:
        text = unquote_to_bytes(value).decode()
    except UnicodeError:
        return None
    if "\0" in text or ".." in _SEPARATOR.split(text):
        return None
    return text


def _invalid(text: str, fault: str, remedy: str) -> InvalidPrimitive:
    return InvalidPrimitive(f"The URI template {text!r} has {fault}: {remedy}.")


# Those that Django's URLs have, by the texts they take.
CONVERTERS = {
    "int": re.compile(r"[0-9]+"),
    "path": re.compile(r".+", re.DOTALL),
    "slug": re.compile(r"[-a-zA-Z0-9_]+"),
    "str": re.compile(r"[^/]+"),
    "uuid": re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
}
_CONVERTED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):([A-Za-z_]\w*)")
_BRACES = re.compile(r"\{([^{}]*)\}")
_NAMES = r"[A-Za-z_][A-Za-z0-9_]*(?:,[A-Za-z_][A-Za-z0-9_]*)*"
_QUERY = re.compile(rf"\{{[?&]({_NAMES})\}}\Z")
_EXPRESSION = re.compile(rf"/(?P<path>[A-Za-z_]\w*)\*|(?P<operator>[+#./;]?)(?P<names>{_NAMES})", re.ASCII)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# A backslash separates directories on some systems.
_SEPARATOR = re.compile(r"[/\\]")

# What an operator puts before its first variable, and before each further one.
_LITERALS = {
    "": ("", ","),
    "+": ("", ","),
    "#": ("#", ","),
    ".": (".", "."),
    "/": ("/", "/"),
    ";": (";", ";"),
}
_STOPS = {"segment": "/?#", "path": "?#", "anywhere": ""}
