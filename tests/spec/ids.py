"""Ids of requirements, and where tests cite them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SPEC = Path(__file__).resolve().parent
TESTS = SPEC.parent

# ``RPC-04``, ``PAG-01..05``, ``VER-03 to VER-05`` / ``S190``, ``S18-S30``
DASHED = re.compile(r"\b([A-Z][A-Z0-9]{1,4}-)(\d{2,3})\b(?:(?:\.\.| to )(?:\1)?(\d{2,3})\b)?")
PLAIN = re.compile(r"\b([SCMWX])([1-9]\d{0,2})\b(?:(?:\.\.|-| to )(?:\1)?([1-9]\d{0,2})\b)?")
LINE = re.compile(r"(?P<prefix>\S+)\s+(?P<numbers>[\d,-]+)\s+(?P<about>\S.*)")


@dataclass(frozen=True)
class Group:
    part: str
    prefix: str
    about: str
    ids: tuple[str, ...]


def spelled(prefix: str, number: int) -> str:
    width = {"BL-": 3}.get(prefix, 2 if prefix.endswith("-") else 1)
    return f"{prefix}{number:0{width}}"


def read_groups() -> list[Group]:
    groups, part = [], ""
    for line in (SPEC / "ids.txt").read_text().splitlines():
        if line.startswith("["):
            part = line.strip("[]")
        elif found := LINE.fullmatch(line.strip()) if not line.startswith("#") else None:
            numbers = [number for piece in found["numbers"].split(",") for number in _numbers(piece)]
            ids = tuple(spelled(found["prefix"], number) for number in numbers)
            groups.append(Group(part, found["prefix"], found["about"], ids))
    return groups


def _numbers(piece: str) -> range:
    first, _, last = piece.partition("-")
    return range(int(first), int(last or first) + 1)


def ids_in(text: str, prefixes: set[str]) -> Iterator[str]:
    """Every id of a known prefix, ranges written out."""
    for pattern in (DASHED, PLAIN):
        for prefix, first, last in pattern.findall(text):
            if prefix in prefixes:
                for number in range(int(first), int(last or first) + 1):
                    yield spelled(prefix, number)


def texts_of(source: str) -> Iterator[str]:
    """Docstrings and comments. What silences a linter has codes of its own."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield text
    if not any("#" in line and _cites(line) for line in source.splitlines()):
        return  # taking a file to pieces is slow
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and "noqa" not in token.string:
            yield token.string


def _cites(line: str) -> bool:
    return any(pattern.search(line) for pattern in (DASHED, PLAIN))


@cache
def read_citations() -> dict[str, list[str]]:
    """The files below tests/ that cite an id, by the id. This folder is not among them."""
    prefixes = {group.prefix for group in read_groups()}
    cited: dict[str, list[str]] = {}
    for file in sorted(TESTS.rglob("*.py")):
        if SPEC in file.parents:
            continue
        name = str(file.relative_to(TESTS.parent))
        for id in {id for text in texts_of(file.read_text()) for id in ids_in(text, prefixes)}:
            cited.setdefault(id, []).append(name)
    return cited


def read_not_applicable() -> dict[str, str]:
    """The reason, by the id."""
    prefixes = {group.prefix for group in read_groups()}
    stored = tomllib.loads((SPEC / "not_applicable.toml").read_text())
    return {id: reason for key, reason in stored.items() for id in ids_in(key, prefixes)}
