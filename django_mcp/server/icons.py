"""Icons that are paths of the site, made absolute for the one who asks (ICON-03)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django_mcp.server.call import Source


def complete_icons(holders: Iterable[dict[str, Any]], source: Source) -> None:
    """Put the site's address in front of paths. Where it is not known, such icons are left out."""
    for holder in holders:
        if "icons" in holder and any(icon["src"].startswith("/") for icon in holder["icons"]):
            _complete(holder, source.find_origin())


def _complete(holder: dict[str, Any], origin: str | None) -> None:
    icons = [
        {**icon, "src": f"{origin}{icon['src']}"} if icon["src"].startswith("/") else icon
        for icon in holder["icons"]
        if origin is not None or not icon["src"].startswith("/")
    ]
    if icons:
        holder["icons"] = icons
    else:
        del holder["icons"]
