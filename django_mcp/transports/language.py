"""The language of a request, among those of the site."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.utils import translation
from django.utils.translation.trans_real import parse_accept_lang_header


@lru_cache(maxsize=256)
def language_of(accept_language: str | None) -> str | None:
    """The site's language that fits an ``Accept-Language`` header best, or ``None`` for its default."""
    if accept_language is None or not settings.USE_I18N:
        return None
    for language, _priority in parse_accept_lang_header(accept_language.lower()):
        if language == "*":
            return None
        try:
            return translation.get_supported_language_variant(language)
        except LookupError:
            continue
    return None


@receiver(setting_changed)
def _forget(*, setting: str, **_kwargs: Any) -> None:
    if setting in {"LANGUAGES", "USE_I18N", "LANGUAGE_CODE"}:
        language_of.cache_clear()
