"""Which scenarios must pass, and at which revisions each of them exists.

Each pair is run by itself: the suites' own collections either leave revisions out or judge too much.
"""

from dataclasses import dataclass

JUNE, NOVEMBER, MODERN = "2025-06-18", "2025-11-25", "2026-07-28"


@dataclass(frozen=True, slots=True)
class Run:
    """One scenario in one release of the suite. 0.1 announces 2025-11-25 whatever it is told."""

    suite: str
    scenario: str
    revision: str

    def arguments(self, url: str, folder: str) -> list[str]:
        given = ["server", "--url", url, "--scenario", self.scenario, "-o", folder]
        return given if self.suite == "0.1" else [*given, "--spec-version", self.revision]


_LEGACY = (
    "server-initialize",
    "ping",
    "logging-set-level",
    "tools-call-with-logging",
    "tools-call-sampling",
    "tools-call-elicitation",
    "resources-subscribe",
    "resources-unsubscribe",
)
_IN_NOVEMBER = ("elicitation-sep1034-defaults", "elicitation-sep1330-enums", "server-sse-polling")
_EVERYWHERE = (
    "completion-complete",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "resources-list",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
)
_SINCE_NOVEMBER = ("dns-rebinding-protection", "json-schema-2020-12", "server-sse-multiple-streams")
_ASKING = (
    "basic-elicitation",
    "basic-sampling",
    "basic-list-roots",
    "request-state",
    "multiple-input-requests",
    "multi-round",
    "missing-input-response",
    "non-tool-request",
    "result-type",
    "unsupported-methods",
    "tampered-state",
    "capability-check",
    "ignore-extra-params",
    "validate-input",
)
_MODERN = (
    "server-stateless",
    "sep-2164-resource-not-found",
    "caching",
    "http-header-validation",
    "http-custom-header-server-validation",
    *(f"input-required-result-{each}" for each in _ASKING),
)

REVISIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_LEGACY, (JUNE, NOVEMBER)),
    "server-session-lifecycle": ("2025-03-26", JUNE, NOVEMBER),
    **dict.fromkeys(_IN_NOVEMBER, (NOVEMBER,)),
    **dict.fromkeys(_EVERYWHERE, (JUNE, NOVEMBER, MODERN)),
    **dict.fromkeys(_SINCE_NOVEMBER, (NOVEMBER, MODERN)),
    **dict.fromkeys(_MODERN, (MODERN,)),
}

RUNS: tuple[Run, ...] = (
    *(Run("0.1", name, NOVEMBER) for name in (*_LEGACY, *_IN_NOVEMBER, *_EVERYWHERE, *_SINCE_NOVEMBER)),
    *(Run("0.2", name, each) for name, revisions in REVISIONS.items() for each in revisions),
)
