"""Customers write tickets to queues, agents answer them with comments."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .choices import Language, Priority, Status
from .querysets import AgentQuerySet, CommentQuerySet, CustomerQuerySet, QueueQuerySet, TicketQuerySet

MAX_ATTACHMENT = 256 * 1024


class Queue(models.Model):
    """A kind of work. ``response_hours`` is the promise for a ticket of normal priority."""

    slug = models.SlugField(_("short name"), unique=True)
    name = models.CharField(_("name"), max_length=60)
    description = models.TextField(_("description"), blank=True)
    response_hours = models.PositiveSmallIntegerField(
        _("hours until a response"), default=24, validators=[MinValueValidator(1)]
    )

    # Those that ``with_load()`` counts.
    active: int
    unassigned: int
    overdue: int

    objects = QueueQuerySet.as_manager()

    class Meta:
        verbose_name = _("queue")
        verbose_name_plural = _("queues")
        ordering = ("name",)
        constraints = (
            models.CheckConstraint(condition=Q(response_hours__gte=1), name="helpdesk_queue_has_response_time"),
        )

    def __str__(self) -> str:
        return self.name


class Customer(models.Model):
    """Somebody who bought something. Those with a user may log in and see their own tickets."""

    name = models.CharField(_("name"), max_length=100)
    email = models.EmailField(_("email address"), unique=True)
    company = models.CharField(_("company"), max_length=100, blank=True)
    city = models.CharField(_("city"), max_length=60, blank=True)
    language = models.CharField(_("language"), max_length=10, choices=Language.choices, default=Language.ENGLISH)
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="customer",
        verbose_name=_("user"),
    )
    created_at = models.DateTimeField(_("customer since"), default=timezone.now)

    objects = CustomerQuerySet.as_manager()

    class Meta:
        verbose_name = _("customer")
        verbose_name_plural = _("customers")
        ordering = ("name",)
        indexes = (models.Index(fields=["name"], name="helpdesk_customer_name"),)

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


class Agent(models.Model):
    """A user who answers customers."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="agent", verbose_name=_("user"))
    queues = models.ManyToManyField(Queue, related_name="agents", blank=True, verbose_name=_("queues"))
    is_available = models.BooleanField(_("available for new tickets"), default=True)

    objects = AgentQuerySet.as_manager()

    class Meta:
        verbose_name = _("agent")
        verbose_name_plural = _("agents")
        ordering = ("user__username",)

    def __str__(self) -> str:
        return self.user.get_full_name() or self.user.get_username()


class Ticket(models.Model):
    """One problem of one customer."""

    queue = models.ForeignKey(Queue, models.PROTECT, related_name="tickets", verbose_name=_("queue"))
    customer = models.ForeignKey(Customer, models.CASCADE, related_name="tickets", verbose_name=_("customer"))
    assignee = models.ForeignKey(
        Agent, models.SET_NULL, null=True, blank=True, related_name="tickets", verbose_name=_("assigned to")
    )
    subject = models.CharField(_("subject"), max_length=150)
    description = models.TextField(_("description"))
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.NEW)
    priority = models.PositiveSmallIntegerField(_("priority"), choices=Priority.choices, default=Priority.NORMAL)
    opened_at = models.DateTimeField(_("opened"), default=timezone.now)
    due_at = models.DateTimeField(_("due"), blank=True, help_text=_("Empty: as the queue promises."))
    updated_at = models.DateTimeField(_("updated"), default=timezone.now, editable=False)
    resolved_at = models.DateTimeField(_("resolved"), null=True, blank=True, editable=False)

    objects = TicketQuerySet.as_manager()

    class Meta:
        verbose_name = _("ticket")
        verbose_name_plural = _("tickets")
        ordering = ("-opened_at",)
        permissions = (
            ("handle_ticket", _("Can handle the tickets of all customers")),
            ("view_report", _("Can view reports about the help desk")),
        )
        indexes = (
            models.Index(fields=["queue", "status", "-priority"], name="helpdesk_ticket_queue"),
            models.Index(fields=["assignee", "status"], name="helpdesk_ticket_assignee"),
            models.Index(fields=["customer", "-opened_at"], name="helpdesk_ticket_customer"),
            models.Index(fields=["status", "due_at"], name="helpdesk_ticket_due"),
            models.Index(fields=["opened_at"], name="helpdesk_ticket_opened"),
        )
        constraints = (
            models.CheckConstraint(condition=Q(status__in=Status.values), name="helpdesk_ticket_status_known"),
            models.CheckConstraint(condition=Q(priority__in=Priority.values), name="helpdesk_ticket_priority_known"),
            models.CheckConstraint(condition=Q(due_at__gte=F("opened_at")), name="helpdesk_ticket_due_after_opened"),
            models.CheckConstraint(
                condition=Q(status__in=Status.done(), resolved_at__isnull=False)
                | Q(status__in=Status.active(), resolved_at__isnull=True),
                name="helpdesk_ticket_resolved_when_done",
            ),
        )

    def __str__(self) -> str:
        return f"{self.reference} {self.subject}"

    def save(self, *, update_fields: Any = None, **options: Any) -> None:
        """Keeps the times in step with everything else, whoever saves."""
        self.updated_at = timezone.now()
        self.due_at = self.due_at or self.promised_at()  # type: ignore[truthy-bool]  # None until it is set
        if not Status(self.status).is_done:
            self.resolved_at = None
        elif self.resolved_at is None:
            self.resolved_at = self.updated_at
        if update_fields is not None:
            update_fields = {*update_fields, "updated_at", "resolved_at"}
        super().save(update_fields=update_fields, **options)

    @property
    def reference(self) -> str:
        """What people call it."""
        return f"HD-{self.pk}"

    def promised_at(self) -> Any:
        """When the customer should have an answer, at this priority in this queue."""
        return self.opened_at + timedelta(hours=self.queue.response_hours * Priority(self.priority).patience)

    def move_to(self, status: Status) -> None:
        """Change the status and save; raises ``ValidationError`` where that is no possible next step."""
        now = Status(self.status)
        if status not in now.following:
            raise ValidationError(
                gettext("%(ticket)s is %(now)s. From there it can become: %(following)s.")
                % {"ticket": self.reference, "now": now.value, "following": ", ".join(now.following)},
                code="transition",
            )
        self.status = status
        self.save(update_fields=["status"])


class Comment(models.Model):
    """What was said about a ticket: by an agent, or by the customer where there is none."""

    ticket = models.ForeignKey(Ticket, models.CASCADE, related_name="comments", verbose_name=_("ticket"))
    agent = models.ForeignKey(
        Agent, models.PROTECT, null=True, blank=True, related_name="comments", verbose_name=_("agent")
    )
    body = models.TextField(_("text"))
    is_internal = models.BooleanField(_("internal note"), default=False)
    created_at = models.DateTimeField(_("written"), default=timezone.now)

    objects = CommentQuerySet.as_manager()

    class Meta:
        verbose_name = _("comment")
        verbose_name_plural = _("comments")
        ordering = ("created_at", "pk")
        indexes = (models.Index(fields=["ticket", "created_at"], name="helpdesk_comment_ticket"),)
        constraints = (
            models.CheckConstraint(
                condition=Q(is_internal=False) | Q(agent__isnull=False), name="helpdesk_comment_internal_by_agent"
            ),
        )

    def __str__(self) -> str:
        return f"{self.author}: {self.body[:60]}"

    @property
    def author(self) -> str:
        return str(self.agent) if self.agent is not None else self.ticket.customer.name


class Attachment(models.Model):
    """A small file. It is kept in the database, so it comes and goes with the transaction of its ticket."""

    ticket = models.ForeignKey(Ticket, models.CASCADE, related_name="attachments", verbose_name=_("ticket"))
    name = models.CharField(_("file name"), max_length=100)
    media_type = models.CharField(_("media type"), max_length=100, default="text/plain")
    content = models.BinaryField(_("content"))
    size = models.PositiveIntegerField(_("size in bytes"), editable=False)
    uploaded_at = models.DateTimeField(_("uploaded"), default=timezone.now)

    class Meta:
        verbose_name = _("attachment")
        verbose_name_plural = _("attachments")
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=["ticket", "name"], name="helpdesk_attachment_name_once"),
            models.CheckConstraint(condition=Q(size__lte=MAX_ATTACHMENT), name="helpdesk_attachment_is_small"),
        )

    def __str__(self) -> str:
        return self.name

    def save(self, **options: Any) -> None:
        self.size = len(self.content)
        super().save(**options)
