"""The states a ticket goes through, and how urgent it can be. They answer questions about themselves."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Language(models.TextChoices):
    ENGLISH = "en", _("English")
    GERMAN = "de", _("German")


class Status(models.TextChoices):
    NEW = "new", _("new")
    OPEN = "open", _("in progress")
    WAITING = "waiting", _("waiting for the customer")
    RESOLVED = "resolved", _("resolved")
    CLOSED = "closed", _("closed")

    @property
    def is_done(self) -> bool:
        """Whether nobody has to do anything any more."""
        return self in (Status.RESOLVED, Status.CLOSED)

    @property
    def following(self) -> tuple[Status, ...]:
        """What it may become next."""
        return _FOLLOWING[self]

    @classmethod
    def active(cls) -> list[str]:
        return [status.value for status in cls if not status.is_done]

    @classmethod
    def done(cls) -> list[str]:
        return [status.value for status in cls if status.is_done]


_FOLLOWING = {
    Status.NEW: (Status.OPEN, Status.WAITING, Status.RESOLVED, Status.CLOSED),
    Status.OPEN: (Status.WAITING, Status.RESOLVED, Status.CLOSED),
    Status.WAITING: (Status.OPEN, Status.RESOLVED, Status.CLOSED),
    Status.RESOLVED: (Status.OPEN, Status.CLOSED),
    Status.CLOSED: (Status.OPEN,),
}


class Priority(models.IntegerChoices):
    LOW = 1, _("low")
    NORMAL = 2, _("normal")
    HIGH = 3, _("high")
    URGENT = 4, _("urgent")

    @property
    def patience(self) -> float:
        """How long a customer waits, in parts of the time that the queue promises."""
        return {Priority.LOW: 2.0, Priority.NORMAL: 1.0, Priority.HIGH: 0.5, Priority.URGENT: 0.25}[self]
