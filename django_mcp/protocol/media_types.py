"""Content negotiation: what Accept allows, and whether Content-Type is JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache


@lru_cache(maxsize=128)
def accepts(header: str | None, media_type: str) -> float:
    """The weight that Accept gives to a media type, 0.0 if it is refused.

    The most specific range decides (RFC 9110 section 12.5.1), so ``type/*;q=0`` or ``type/subtype;q=0``
    forbids what ``*/*`` would allow. Parameters of a range other than q are not compared.
    """
    if header is None:
        return 1.0
    weights: dict[str, float] = {}
    for media_range, weight in _ranges(header):
        weights[media_range] = max(weight, weights.get(media_range, 0.0))
    main_type = media_type.partition("/")[0]
    for media_range in (media_type, f"{main_type}/*", "*/*"):
        if media_range in weights:
            return weights[media_range]
    return 0.0


@lru_cache(maxsize=128)
def is_json(content_type: str | None) -> bool:
    """Whether a body is declared as application/json, in UTF-8 if a charset is named."""
    if content_type is None:
        return False
    media_type, _, parameters = content_type.partition(";")
    if media_type.strip().lower() != "application/json":
        return False
    return all(value.lower() in ("utf-8", "utf8") for name, value in _parameters(parameters) if name == "charset")


def _ranges(header: str) -> Iterator[tuple[str, float]]:
    for element in _ELEMENT.findall(header):
        media_range, _, parameters = element.partition(";")
        weight = dict(_parameters(parameters)).get("q", "1")
        # A malformed weight counts as none: refusing would help nobody.
        yield media_range.strip().lower(), float(weight) if _WEIGHT.fullmatch(weight) else 1.0


def _parameters(text: str) -> Iterator[tuple[str, str]]:
    for parameter in _PARAMETER.findall(text):
        name, _, value = parameter.partition("=")
        yield name.strip().lower(), value.strip().strip('"')


# Commas and semicolons inside quoted strings separate nothing. An open string goes on to the end:
# trying it again from each further quote would take quadratic time.
_QUOTED = r'"(?:[^"\\]++|\\.?)*+"?'
_ELEMENT = re.compile(rf'(?:[^,"]++|{_QUOTED})++')
_PARAMETER = re.compile(rf'(?:[^;"]++|{_QUOTED})++')
_WEIGHT = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")
