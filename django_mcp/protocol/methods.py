"""The names that the protocol has taken, over all revisions and in both directions."""

from __future__ import annotations

from typing import Final

# Including those of the experimental tasks of 2025-11-25 and of the extension that followed them.
METHODS: Final = frozenset(
    {
        "completion/complete",
        "elicitation/create",
        "initialize",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "roots/list",
        "sampling/createMessage",
        "server/discover",
        "subscriptions/listen",
        "tasks/cancel",
        "tasks/get",
        "tasks/list",
        "tasks/result",
        "tasks/update",
        "tools/call",
        "tools/list",
    }
)

ROOTS_CHANGED: Final = "notifications/roots/list_changed"

NOTIFICATION_PREFIX: Final = "notifications/"

NOTIFICATIONS: Final = frozenset(
    {
        "notifications/cancelled",
        "notifications/elicitation/complete",
        "notifications/initialized",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        ROOTS_CHANGED,
        "notifications/subscriptions/acknowledged",
        "notifications/tasks",
        "notifications/tasks/status",
        "notifications/tools/list_changed",
    }
)

# What a receiver may act upon and need not: the site may have a handler for it (S137).
OPEN_NOTIFICATIONS: Final = frozenset({ROOTS_CHANGED})
