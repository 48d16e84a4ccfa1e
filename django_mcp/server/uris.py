"""What a URI of a request has to look like (RES-13)."""

from __future__ import annotations

import re

from django_mcp.protocol.uri_templates import has_bad_escape

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def is_uri(text: str) -> bool:
    """Whether it has a scheme and no broken escape. What may follow is for the templates to say."""
    return _SCHEME.match(text) is not None and not has_bad_escape(text)
