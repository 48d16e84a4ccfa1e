"""W005 and W012."""

import importlib.metadata

import pytest
from channels_redis.core import RedisChannelLayer
from django.core import mail
from django.core.checks import WARNING
from django.test import override_settings

from django_mcp.checks import layers
from django_mcp.checks.layers import check_layer_reach, check_redis_timeout
from tests.checks.messages import only


def layer(backend, **config):
    return override_settings(CHANNEL_LAYERS={"default": {"BACKEND": backend, "CONFIG": config}})


@pytest.fixture
def not_a_test_run(monkeypatch):
    monkeypatch.delattr(mail, "outbox")


def test_the_in_memory_layer_outside_debug_is_told_the_cure(not_a_test_run):
    with layer(layers.IN_MEMORY):
        warning = only(check_layer_reach())
    assert (warning.id, warning.level) == ("django_mcp.W005", WARNING)
    assert "does not reach other processes" in warning.msg
    assert 'pip install "django-mcp-sdk[redis]"' in warning.hint
    line = warning.hint.partition("CHANNEL_LAYERS = ")[2].removesuffix(".")
    with override_settings(CHANNEL_LAYERS=eval(line)):  # noqa: S307 - it is what people paste
        assert check_layer_reach() == check_redis_timeout() == []


def test_no_layer_or_another_one_is_silent(not_a_test_run):
    with override_settings(CHANNEL_LAYERS={}):
        assert check_layer_reach() == []
    with layer(layers.BLOCKING):
        assert check_layer_reach() == []


def test_the_in_memory_layer_is_fine_in_development_and_in_tests(monkeypatch):
    with layer(layers.IN_MEMORY):
        assert check_layer_reach() == []
        monkeypatch.delattr(mail, "outbox")
        with override_settings(DEBUG=True):
            assert check_layer_reach() == []


ADDRESS = "redis://127.0.0.1:6379"


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"hosts": []},
        {"hosts": [ADDRESS]},
        {"hosts": [("127.0.0.1", 6379)]},
        {"hosts": [{"address": ADDRESS}]},
        {"hosts": [{"address": ADDRESS, "socket_timeout": 5}]},
        {"hosts": [{"address": ADDRESS, "socket_timeout": "30"}]},
        {"hosts": [f"{ADDRESS}?socket_timeout=x"]},
        {"hosts": [{"address": ADDRESS, "socket_timeout": 30}, ADDRESS]},
    ],
)
def test_redis_that_times_out_while_it_waits_is_told_the_cure(config):
    with layer(layers.BLOCKING, **config):
        warning = only(check_redis_timeout())
    assert (warning.id, warning.level) == ("django_mcp.W012", WARNING)
    assert "TimeoutError after 5 seconds" in warning.msg
    assert '"hosts": [{"address": "redis://127.0.0.1:6379", "socket_timeout": 30}]' in warning.hint


@pytest.mark.parametrize(
    "config",
    [
        {"hosts": [{"address": ADDRESS, "socket_timeout": 30}]},
        {"hosts": [{"address": ADDRESS, "socket_timeout": None}]},
        {"hosts": [f"{ADDRESS}/0?socket_timeout=30"]},
    ],
)
def test_redis_that_waits_long_enough_is_silent(config):
    with layer(layers.BLOCKING, **config):
        assert check_redis_timeout() == []


def test_the_pubsub_layer_is_not_concerned():
    with layer("channels_redis.pubsub.RedisPubSubChannelLayer", hosts=[ADDRESS]):
        assert check_redis_timeout() == []


def test_no_address_of_the_site_is_repeated():
    with layer(layers.BLOCKING, hosts=["redis://:secret@redis.internal:6379"]):
        warning = only(check_redis_timeout())
    assert "secret" not in warning.msg + warning.hint


@pytest.mark.parametrize("found", ["7.4.0", "unknown", None])
def test_older_or_missing_redis_clients_are_silent(monkeypatch, found):
    def version(name):
        if found is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(layers, "version", version)
    with layer(layers.BLOCKING):
        assert check_redis_timeout() == []


def test_channels_redis_still_waits_as_long_as_we_think():
    assert RedisChannelLayer.brpop_timeout == layers.BLOCKS_FOR
