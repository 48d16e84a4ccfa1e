"""The channel layer, which rings the other processes when something changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import parse_qs, urlsplit

from channels import DEFAULT_CHANNEL_LAYER
from django.conf import settings
from django.core.checks import CheckMessage, Warning

from django_mcp.environment import is_test_run

IN_MEMORY = "channels.layers.InMemoryChannelLayer"
# Its pub/sub sibling gives each read a timeout of its own.
BLOCKING = "channels_redis.core.RedisChannelLayer"
BLOCKS_FOR = 5  # seconds: RedisChannelLayer.brpop_timeout, and the default timeout since redis-py 8

HOSTS_LINE = '"hosts": [{"address": "redis://127.0.0.1:6379", "socket_timeout": 30}]'


def check_layer_reach(**_kwargs: Any) -> list[CheckMessage]:
    """W005. In development there is one process, and in tests too."""
    if settings.DEBUG or is_test_run() or _layer().get("BACKEND") != IN_MEMORY:
        return []
    return [
        Warning(
            "CHANNEL_LAYERS['default'] is the in-memory layer, which does not reach other processes. "
            "Events reach them when they next look into the database.",
            hint=(
                'Leave CHANNEL_LAYERS out, or run pip install "django-mcp-sdk[redis]" and write CHANNEL_LAYERS = '
                f'{{"default": {{"BACKEND": "{BLOCKING}", "CONFIG": {{{HOSTS_LINE}}}}}}}.'
            ),
            id="django_mcp.W005",
        )
    ]


def check_redis_timeout(**_kwargs: Any) -> list[CheckMessage]:
    """W012: channels-redis waits five seconds for a message, and redis-py 8 as long for an answer."""
    if _layer().get("BACKEND") != BLOCKING or _redis_major() < 8 or all(map(_waits_long_enough, _hosts())):
        return []
    return [
        Warning(
            "CHANNEL_LAYERS['default'] leaves redis-py its timeout of 5 seconds, so that channels-redis raises "
            "TimeoutError after 5 seconds without a message.",
            hint=f"Write {HOSTS_LINE} in its CONFIG, with the addresses of yours.",
            id="django_mcp.W012",
        )
    ]


def _layer() -> Mapping[str, Any]:
    layers = getattr(settings, "CHANNEL_LAYERS", None)
    layer = layers.get(DEFAULT_CHANNEL_LAYER) if isinstance(layers, Mapping) else None
    return layer if isinstance(layer, Mapping) else {}


def _hosts() -> Sequence[Any]:
    config = _layer().get("CONFIG")
    hosts = config.get("hosts") if isinstance(config, Mapping) else None
    return hosts if isinstance(hosts, list | tuple) and hosts else [None]  # None: localhost


def _waits_long_enough(host: Any) -> bool:
    given: Mapping[str, Any] = host if isinstance(host, Mapping) else {"address": host}
    if "socket_timeout" in given:
        timeout = given["socket_timeout"]
        return timeout is None or (isinstance(timeout, int | float) and timeout > BLOCKS_FOR)
    try:
        return float(parse_qs(urlsplit(str(given.get("address"))).query)["socket_timeout"][0]) > BLOCKS_FOR
    except (KeyError, ValueError):
        return False


def _redis_major() -> int:
    try:
        return int(version("redis").partition(".")[0])
    except (PackageNotFoundError, ValueError):
        return 0
