"""A bridge from Python's logging to the clients of the calls that log."""

from __future__ import annotations

import logging
import threading

from django_mcp.running.runs import current_run

# From the highest; what is below the last is "debug" too.
LEVELS = (
    (logging.CRITICAL, "critical"),
    (logging.ERROR, "error"),
    (logging.WARNING, "warning"),
    (logging.INFO, "info"),
)


class MCPLogHandler(logging.Handler):
    """Sends what is logged during a call to the client of that call, if it wants messages of that level (LOG-06).

    Give it to the loggers whose messages clients may read; nothing else reaches them, and what is logged
    outside a call reaches nobody. Without a formatter the message goes out alone, so no traceback does (LOG-07).
    """

    def __init__(self, level: int | str = logging.NOTSET) -> None:
        super().__init__(level)
        self._thread = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        run = current_run.get()
        if run is None or run.context is None or run.is_over or run.is_cancelled:
            return
        # What is logged while a message is sent would be sent for ever.
        if getattr(self._thread, "is_sending", False):
            return
        self._thread.is_sending = True
        try:
            text = record.getMessage() if self.formatter is None else self.format(record)
            run.context.log(_level_of(record), text, logger=record.name)
        except Exception:  # noqa: BLE001 - logging fails in one place, which the site can see
            self.handleError(record)
        finally:
            self._thread.is_sending = False


def _level_of(record: logging.LogRecord) -> str:
    return next((name for least, name in LEVELS if record.levelno >= least), "debug")
