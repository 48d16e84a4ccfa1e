"""The REST API of tickets, with the same rules as the admin and the tools."""

from __future__ import annotations

from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from rest_framework import mixins, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.pagination import PageNumberPagination
from rest_framework.permissions import DjangoModelPermissions
from rest_framework.request import Request
from rest_framework.response import Response

from .choices import Status
from .models import Comment, Customer, Queue, Ticket
from .querysets import HANDLE, TicketQuerySet


class TicketSerializer(serializers.ModelSerializer):
    reference = serializers.CharField(read_only=True)
    queue = serializers.SlugRelatedField(slug_field="slug", queryset=Queue.objects.all())
    customer = serializers.SlugRelatedField(slug_field="email", queryset=Customer.objects.all(), required=False)
    assignee = serializers.StringRelatedField()

    class Meta:
        model = Ticket
        fields = (
            "id",
            "reference",
            "queue",
            "customer",
            "assignee",
            "subject",
            "description",
            "status",
            "priority",
            "opened_at",
            "due_at",
            "resolved_at",
        )
        # A status changes through ``move``, which knows what may follow.
        read_only_fields = ("status", "opened_at", "due_at", "resolved_at")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Customers write for themselves; agents say for whom."""
        user = self.context["request"].user
        if self.instance is None and not user.has_perm(HANDLE):
            attrs["customer"] = Customer.objects.filter(user=user).first()
        if self.instance is None and attrs.get("customer") is None:
            raise serializers.ValidationError({"customer": "Name the email address of a customer."})
        return attrs


class CommentSerializer(serializers.ModelSerializer):
    author = serializers.CharField(read_only=True)

    class Meta:
        model = Comment
        fields = ("id", "author", "body", "is_internal", "created_at")
        read_only_fields = fields


class MoveSerializer(serializers.Serializer):
    status = serializers.ChoiceField(choices=Status.choices)


class HelpdeskPermissions(DjangoModelPermissions):
    """Django's permissions, for reading too."""

    perms_map: ClassVar[dict[str, list[str]]] = {
        **DjangoModelPermissions.perms_map,
        "GET": ["%(app_label)s.view_%(model_name)s"],
    }


class MayHandle(HelpdeskPermissions):
    def has_permission(self, request: Request, view: Any) -> bool:
        return bool(request.user.has_perm(HANDLE))


class TicketPages(PageNumberPagination):
    page_size = 50


class TicketViewSet(
    mixins.CreateModelMixin,
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    mixins.UpdateModelMixin,
    viewsets.GenericViewSet,
):
    queryset = Ticket.objects.with_people()
    serializer_class = TicketSerializer
    permission_classes = (HelpdeskPermissions,)
    pagination_class = TicketPages

    def get_queryset(self) -> TicketQuerySet:
        tickets: TicketQuerySet = super().get_queryset()
        return tickets.visible_to(self.request.user)

    @action(detail=True)
    def comments(self, request: Request, pk: str) -> Response:
        """What was said, without internal notes for customers."""
        comments = self.get_object().comments.visible_to(request.user)
        comments = comments.select_related("agent__user", "ticket__customer")
        return Response(CommentSerializer(comments, many=True).data)

    @action(detail=True, methods=["post"], permission_classes=[MayHandle])
    def move(self, request: Request, pk: str) -> Response:
        """Change the status."""
        wanted = MoveSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        ticket = self.get_object()
        try:
            ticket.move_to(Status(wanted.validated_data["status"]))
        except ValidationError as error:
            raise serializers.ValidationError({"status": error.messages}) from error
        return Response(TicketSerializer(ticket).data)
