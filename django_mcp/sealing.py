"""Texts that travel with the client and come back: encrypted with keys made from ``SECRET_KEY`` (MRTR-19)."""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.utils.crypto import salted_hmac

SALT = "django_mcp.state"
VERSION = "v1."
NONCE_BYTES = 12


class KeySealer:
    """AES-256-GCM. Seals with ``SECRET_KEY``, opens with that and ``SECRET_KEY_FALLBACKS``."""

    def seal(self, text: bytes, bound: bytes) -> str:
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = nonce + _ciphers()[0].encrypt(nonce, text, VERSION.encode() + bound)
        return VERSION + urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def open(self, sealed: str, bound: bytes) -> bytes:
        body = sealed.removeprefix(VERSION)
        # Base64 that ends in other bits than it was written with would be another name for the same state.
        raw = urlsafe_b64decode(body + "=" * (-len(body) % 4))
        if not sealed.startswith(VERSION) or urlsafe_b64encode(raw).rstrip(b"=").decode() != body:
            raise ValueError("not a state of ours")
        nonce, encrypted = raw[:NONCE_BYTES], raw[NONCE_BYTES:]
        for cipher in _ciphers():
            try:
                return cipher.decrypt(nonce, encrypted, VERSION.encode() + bound)
            except (InvalidTag, ValueError):
                continue
        raise ValueError("not a state of ours")


@cache
def _ciphers() -> tuple[AESGCM, ...]:
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return tuple(AESGCM(salted_hmac(SALT, "state", secret=key, algorithm="sha256").digest()) for key in keys)


@receiver(setting_changed, dispatch_uid="django_mcp.sealing")
def _forget_keys(*, setting: str, **_kwargs: object) -> None:
    if setting in {"SECRET_KEY", "SECRET_KEY_FALLBACKS"}:
        _ciphers.cache_clear()
