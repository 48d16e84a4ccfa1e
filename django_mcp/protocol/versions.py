"""Protocol revisions: an enumerated set whose members know what they may carry."""

from __future__ import annotations

from enum import Enum, StrEnum


class Era(Enum):
    """How a revision opens a conversation: a handshake (legacy) or an envelope per request."""

    LEGACY = "legacy"
    MODERN = "modern"


class Revision(StrEnum):
    """A revision of the specification, oldest first; its properties are the feature matrix."""

    V2024_11_05 = "2024-11-05"
    V2025_03_26 = "2025-03-26"
    V2025_06_18 = "2025-06-18"
    V2025_11_25 = "2025-11-25"
    V2026_07_28 = "2026-07-28"

    era: Era
    is_modern: bool
    has_batches: bool
    has_annotations: bool
    has_audio: bool
    has_progress_message: bool
    has_completions_capability: bool
    has_titles: bool
    has_item_meta: bool
    has_resource_links: bool
    has_last_modified: bool
    has_output_schema: bool
    has_completion_context: bool
    has_icons: bool
    has_server_details: bool
    has_form_modes: bool
    has_event_ids: bool
    has_priming: bool
    has_any_structured: bool
    has_param_headers: bool
    has_capability_error: bool
    has_server_info: bool

    def __init__(self, date: str) -> None:
        rank = len(type(self).__members__)  # Those above are there already.

        since_2025_03_26 = rank >= 1
        self.has_annotations = since_2025_03_26
        self.has_audio = since_2025_03_26
        self.has_progress_message = since_2025_03_26
        self.has_completions_capability = since_2025_03_26
        # Introduced by one revision and withdrawn by the next.
        self.has_batches = rank == 1
        # The modern era has no ids that a client could come back with.
        self.has_event_ids = 1 <= rank <= 3
        self.has_priming = rank == 3

        since_2025_06_18 = rank >= 2
        self.has_titles = since_2025_06_18
        self.has_item_meta = since_2025_06_18
        self.has_resource_links = since_2025_06_18
        self.has_last_modified = since_2025_06_18
        self.has_output_schema = since_2025_06_18
        self.has_completion_context = since_2025_06_18

        since_2025_11_25 = rank >= 3
        self.has_icons = since_2025_11_25
        self.has_server_details = since_2025_11_25
        self.has_form_modes = since_2025_11_25

        since_2026_07_28 = rank >= 4
        self.is_modern = since_2026_07_28
        self.era = Era.MODERN if since_2026_07_28 else Era.LEGACY
        self.has_any_structured = since_2026_07_28
        self.has_param_headers = since_2026_07_28
        self.has_capability_error = since_2026_07_28
        self.has_server_info = since_2026_07_28

    # Nobody looks for substrings in the name of a revision, so str.find is free to be replaced.
    @classmethod
    def find(cls, text: str) -> Revision | None:  # type: ignore[override]
        """The revision of this exact name, if it is one we know."""
        return _BY_NAME.get(text)


_BY_NAME: dict[str, Revision] = {revision.value: revision for revision in Revision}

ALL: tuple[Revision, ...] = tuple(Revision)
LEGACY: tuple[Revision, ...] = tuple(r for r in Revision if not r.is_modern)
MODERN: tuple[Revision, ...] = tuple(r for r in Revision if r.is_modern)
LATEST_LEGACY = LEGACY[-1]
LATEST = MODERN[-1]

# What a request without header, envelope and session is read as (VER-09).
DEFAULT_LEGACY = Revision.V2025_03_26


def negotiate(requested: str) -> Revision:
    """The revision ``initialize`` answers: the requested one, or the newest that has a handshake."""
    revision = Revision.find(requested)
    return LATEST_LEGACY if revision is None or revision.is_modern else revision
