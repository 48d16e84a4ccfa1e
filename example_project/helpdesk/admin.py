"""The help desk for people."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from .choices import Status
from .models import Agent, Attachment, Comment, Customer, Queue, Ticket


@admin.register(Queue)
class QueueAdmin(admin.ModelAdmin):
    list_display = ("name", "slug", "response_hours", "active", "unassigned", "overdue")
    search_fields = ("name", "slug")
    prepopulated_fields = {"slug": ("name",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Queue]:
        return Queue.objects.with_load()

    @admin.display(description=_("active tickets"), ordering="active")
    def active(self, queue: Queue) -> int:
        return queue.active

    @admin.display(description=_("without an agent"), ordering="unassigned")
    def unassigned(self, queue: Queue) -> int:
        return queue.unassigned

    @admin.display(description=_("overdue"), ordering="overdue")
    def overdue(self, queue: Queue) -> int:
        return queue.overdue


@admin.register(Customer)
class CustomerAdmin(admin.ModelAdmin):
    list_display = ("name", "email", "company", "city", "language")
    list_filter = ("language",)
    search_fields = ("name", "email", "company")
    autocomplete_fields = ("user",)
    date_hierarchy = "created_at"


@admin.register(Agent)
class AgentAdmin(admin.ModelAdmin):
    list_display = ("__str__", "username", "queue_names", "is_available")
    list_filter = ("is_available", "queues")
    list_select_related = ("user",)
    search_fields = ("user__username", "user__first_name", "user__last_name")
    autocomplete_fields = ("user",)
    filter_horizontal = ("queues",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        agents: QuerySet[Agent] = super().get_queryset(request)
        return agents.prefetch_related("queues")

    @admin.display(description=_("user"), ordering="user__username")
    def username(self, agent: Agent) -> str:
        return agent.user.get_username()

    @admin.display(description=_("queues"))
    def queue_names(self, agent: Agent) -> str:
        return ", ".join(queue.name for queue in agent.queues.all())


class CommentInline(admin.TabularInline):
    model = Comment
    extra = 0
    autocomplete_fields = ("agent",)
    fields = ("created_at", "agent", "is_internal", "body")


class AttachmentInline(admin.TabularInline):
    model = Attachment
    extra = 0
    fields = ("name", "media_type", "size", "uploaded_at")
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # files come with the customer's mail


@admin.register(Ticket)
class TicketAdmin(admin.ModelAdmin):
    list_display = ("summary", "queue", "customer_name", "assignee", "status", "priority", "is_overdue")
    list_filter = ("status", "priority", "queue", ("assignee", admin.RelatedOnlyFieldListFilter))
    list_per_page = 50
    list_select_related = ("queue", "customer", "assignee__user")
    search_fields = ("subject", "description", "customer__name", "customer__email")
    autocomplete_fields = ("customer", "assignee")
    readonly_fields = ("updated_at", "resolved_at")
    date_hierarchy = "opened_at"
    inlines = (CommentInline, AttachmentInline)
    actions = ("resolve",)

    @admin.display(description=_("ticket"), ordering="pk")
    def summary(self, ticket: Ticket) -> str:
        return str(ticket)

    @admin.display(description=_("customer"), ordering="customer__name")
    def customer_name(self, ticket: Ticket) -> str:
        return ticket.customer.name

    @admin.display(description=_("overdue"), boolean=True)
    def is_overdue(self, ticket: Ticket) -> bool:
        return not Status(ticket.status).is_done and ticket.due_at < timezone.now()

    @admin.action(description=_("Mark the selected tickets as resolved"), permissions=["change"])
    def resolve(self, request: HttpRequest, tickets: QuerySet[Ticket]) -> None:
        active = tickets.filter(status__in=Status.active())
        for ticket in active:
            ticket.move_to(Status.RESOLVED)
        count = len(active)
        self.message_user(request, ngettext("%d ticket was resolved.", "%d tickets were resolved.", count) % count)
