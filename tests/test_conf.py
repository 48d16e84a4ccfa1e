"""Settings: what each key takes, what wrong values are told, and that overriding works."""

import sys
from dataclasses import FrozenInstanceError, fields
from datetime import timedelta
from unittest.mock import patch

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.test import SimpleTestCase, override_settings

from django_mcp.auth import AllowAny
from django_mcp.conf import MCPSettings, known_keys, mcp_settings, with_overrides


class SettingsTests(SimpleTestCase):
    @override_settings(DJANGO_MCP={}, DATA_UPLOAD_MAX_MEMORY_SIZE=None)
    def test_every_key_has_a_default(self):
        values = {entry.name: getattr(mcp_settings(), entry.name) for entry in fields(MCPSettings)}
        assert values.pop("max_streams") >= 10
        assert values == {
            "allowed_origins": (),
            "anonymous_sessions": 10_000,
            "authentication": ("django_mcp.auth.BearerToken",),
            "cache_seconds": 1.0,
            "completion_rate": 50,
            "consumer_middleware": (),
            "context_processors": (),
            "detached_calls": 200,
            "doorbell": "auto",
            "event_age": 3600.0,
            "event_rows": 100_000,
            "replay_age": 300.0,
            "exception_reporter": None,
            "lane_timeout": 30.0,
            "log_arguments": False,
            "max_body": 4 * 1024 * 1024,
            "max_depth": 64,
            "max_result": None,
            "max_rounds": 20,
            "max_streams_per_user": 50,
            "middleware": (),
            "page_size": None,
            "poll_interval": None,
            "public_url": None,
            "send_timeout": 20.0,
            "session_age": 604_800.0,
            "session_cache": 0.0,
            "session_idle": 1800.0,
            "session_min_age": 60.0,
            "sessions_per_user": 100,
            "shutdown_grace": 5.0,
            "state_max_bytes": 65_536,
            "state_ttl": 600.0,
            "store_workers": 2,
            "stream_age": 86_400.0,
            "stream_buffer": 1_048_576,
            "streams": True,
            "sync_workers": 8,
            "tool_rate": None,
            "tool_timeout": None,
        }

    def test_a_site_without_the_setting_gets_the_defaults(self):
        with override_settings():
            delattr(settings, "DJANGO_MCP")
            mcp_settings.cache_clear()
            assert mcp_settings().authentication == ("django_mcp.auth.BearerToken",)
        mcp_settings.cache_clear()

    def test_override_settings_reaches_every_reader_both_ways(self):
        before = mcp_settings().sync_workers
        with override_settings(DJANGO_MCP={"SYNC_WORKERS": before + 1}):
            assert mcp_settings().sync_workers == before + 1
            assert mcp_settings() is mcp_settings()
        assert mcp_settings().sync_workers == before

    def test_other_settings_keep_the_values_read(self):
        before = mcp_settings()
        with override_settings(LANGUAGE_CODE="de"):
            assert mcp_settings() is before

    def test_settings_cannot_be_changed_in_place(self):
        with self.assertRaises(FrozenInstanceError):
            mcp_settings().sync_workers = 1  # type: ignore[misc]

    @override_settings(DJANGO_MCP={"PAGE_SIZES": 5, 7: None})
    def test_unknown_keys_are_told_with_the_known_ones(self):
        with self.assertRaisesMessage(ImproperlyConfigured, "unknown keys: 7, PAGE_SIZES.") as raised:
            mcp_settings()
        for key in known_keys():
            assert key in str(raised.exception)

    @override_settings(DJANGO_MCP=["PAGE_SIZE"])
    def test_the_setting_must_be_a_dict(self):
        with self.assertRaisesMessage(ImproperlyConfigured, "DJANGO_MCP is ['PAGE_SIZE'], but must"):
            mcp_settings()

    def test_wrong_values_are_told_what_is_allowed(self):
        seconds = "must be a number of seconds or a timedelta"
        for key, value, allowed in [
            ("SYNC_WORKERS", 0, "must be a whole number of at least 1."),
            ("SYNC_WORKERS", "8", "must be a whole number"),
            ("SYNC_WORKERS", True, "must be a whole number"),
            ("PAGE_SIZE", 0, "must be None or a whole number of at least 1."),
            ("SESSION_IDLE", 0, f"{seconds}, more than zero and at most 100 years."),
            ("SESSION_IDLE", "1800", seconds),
            ("SESSION_IDLE", True, seconds),
            ("SESSION_IDLE", float("nan"), seconds),
            ("SESSION_IDLE", 10**400, seconds),
            ("SESSION_AGE", timedelta.max, seconds),
            ("SESSION_IDLE", None, seconds),
            ("CACHE_SECONDS", -1, f"{seconds}, at least zero and at most 100 years."),
            ("TOOL_TIMEOUT", timedelta(0), f"must be None or {seconds.removeprefix('must be ')}"),
            ("STREAMS", 1, "must be True or False."),
            ("DOORBELL", "bell", "must be one of 'auto', 'off'."),
            ("ALLOWED_ORIGINS", "https://a.example", "must be a list of origins"),
            ("ALLOWED_ORIGINS", ["a.example"], "must be a list of origins"),
            ("ALLOWED_ORIGINS", ["https://a.example/"], "app.example.com', without a slash at the end."),
            ("ALLOWED_ORIGINS", ["https://"], "must be a list of origins"),
            ("ALLOWED_ORIGINS", [None], "must be a list of origins"),
            ("PUBLIC_URL", "example.com", "must be None or an absolute http(s) URL"),
            ("PUBLIC_URL", "ftp://example.com", "must be None or an absolute http(s) URL"),
            ("PUBLIC_URL", "https://u@example.com", "must be None or an absolute http(s) URL"),
            ("PUBLIC_URL", "https://example.com/?a", "must be None or an absolute http(s) URL"),
            ("PUBLIC_URL", "https://example.com:port", "must be None or an absolute http(s) URL"),
            ("PUBLIC_URL", 5, "must be None or an absolute http(s) URL"),
            ("CONSUMER_MIDDLEWARE", "shop.asgi.tenant", "must be a list of dotted paths"),
            ("CONTEXT_PROCESSORS", ["processor"], "must be a list of dotted paths"),
            ("MIDDLEWARE", "shop.mcp.around", "must be a list of dotted paths of functions"),
            ("EXCEPTION_REPORTER", "report", "must be None or the dotted path of a function"),
            ("LOG_ARGUMENTS", "no", "must be True or False."),
            ("AUTHENTICATION", [], "'django_mcp.auth.AllowAny'"),
            ("AUTHENTICATION", None, "'django_mcp.auth.AllowAny'"),
            ("AUTHENTICATION", ["AllowAny"], "'django_mcp.auth.AllowAny'"),
        ]:
            with self.subTest(key=key, value=value):
                with self.assertRaises(ImproperlyConfigured) as raised:
                    with_overrides(MCPSettings(), {key: value})
                text = str(raised.exception)
                assert text.startswith(f"DJANGO_MCP[{key!r}] is {value!r}, but must be ")
                assert allowed in text

    def test_errors_name_where_the_value_came_from(self):
        for given in ({"PAGE_SIZE": 0}, {"PAGES": 1}, None):
            with self.subTest(given=given), self.assertRaisesRegex(ImproperlyConfigured, "^settings of 'shop'"):
                with_overrides(MCPSettings(), given, "settings of 'shop'")  # type: ignore[arg-type]

    def test_right_values_are_taken(self):
        for key, value, read in [
            ("SESSION_IDLE", timedelta(minutes=2), 120.0),
            ("SESSION_IDLE", 90, 90.0),
            ("SESSION_CACHE", 0, 0.0),
            ("TOOL_TIMEOUT", 2.5, 2.5),
            ("TOOL_TIMEOUT", None, None),
            ("PAGE_SIZE", 20, 20),
            ("DOORBELL", "off", "off"),
            ("STREAMS", False, False),
            ("PUBLIC_URL", "https://example.com:8443/help", "https://example.com:8443/help"),
            ("ALLOWED_ORIGINS", ["https://a.example:81"], ("https://a.example:81",)),
            ("CONTEXT_PROCESSORS", ("shop.mcp.tenant",), ("shop.mcp.tenant",)),
            ("EXCEPTION_REPORTER", "shop.report", "shop.report"),
            ("AUTHENTICATION", "shop.Auth", ("shop.Auth",)),
            ("AUTHENTICATION", ("shop.Auth", AllowAny), ("shop.Auth", AllowAny)),
        ]:
            with self.subTest(key=key, value=value):
                assert getattr(with_overrides(MCPSettings(), {key: value}), key.lower()) == read

    def test_overrides_leave_the_rest_and_the_original_alone(self):
        base = with_overrides(MCPSettings(), {"PAGE_SIZE": 3, "MAX_ROUNDS": 4})
        changed = with_overrides(base, {"PAGE_SIZE": 9})
        assert (base.page_size, changed.page_size, changed.max_rounds) == (3, 9, 4)


class MaxBodyTests(SimpleTestCase):
    def test_the_body_limit_is_never_above_djangos(self):
        for django, ours, limit in [(1000, 4000, 1000), (4000, 1000, 1000), (None, 4000, 4000)]:
            with (
                self.subTest(django=django, ours=ours),
                override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=django, DJANGO_MCP={"MAX_BODY": ours}),
            ):
                assert mcp_settings().max_body == limit

    @override_settings(DJANGO_MCP={})
    def test_a_change_of_djangos_limit_is_seen(self):
        for limit in (1000, 2000):
            with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=limit):
                assert mcp_settings().max_body == limit


class MaxStreamsTests(SimpleTestCase):
    def test_streams_leave_a_process_some_files(self):
        import resource

        for soft, streams in [
            (1024, 614),
            (256, 10),
            (1_048_576, 5000),
            (resource.RLIM_INFINITY, 5000),
        ]:
            with self.subTest(soft=soft), patch("resource.getrlimit", return_value=(soft, soft)):
                assert MCPSettings().max_streams == streams

    def test_a_system_without_file_limits_gets_the_maximum(self):
        with patch.dict(sys.modules, {"resource": None}):
            assert MCPSettings().max_streams == 5000
