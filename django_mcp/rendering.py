"""Django templates as the text of prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.template import Context
from django.template.backends.django import Template as DjangoTemplate
from django.template.loader import get_template


def render_text(template_name: str, values: Mapping[str, Any]) -> str:
    """The text of a template, in the language that is active.

    Nothing is escaped: a model reads the text, no browser. Other engines escape as their settings say.
    """
    template = get_template(template_name)
    if isinstance(template, DjangoTemplate):
        return template.template.render(Context(dict(values), autoescape=False)).strip("\n")
    return str(template.render(dict(values))).strip("\n")
