"""The rows that let any worker serve any request: sessions, tokens, the event log, and what is switched off."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_mcp.managers import AccessTokenManager, SessionQuerySet, new_token_value
from django_mcp.registry import Kind

NAME_LENGTH = 100

KINDS = (
    (Kind.TOOL.value, _("tool")),
    (Kind.PROMPT.value, _("prompt")),
    (Kind.RESOURCE.value, _("resource")),
    (Kind.TEMPLATE.value, _("resource template")),
)


class Session(models.Model):
    """A legacy session (INIT-11). It belongs to one server and one principal for all its life."""

    digest = models.CharField(_("digest"), max_length=64, unique=True)
    server = models.CharField(_("server"), max_length=100)
    principal = models.CharField(_("principal"), max_length=255)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="mcp_sessions",
        verbose_name=_("user"),
    )
    revision = models.CharField(_("revision"), max_length=10)
    client_info = models.JSONField(_("client"), default=dict)
    client_capabilities = models.JSONField(_("capabilities of the client"), default=dict)
    log_level = models.CharField(_("log level"), max_length=16, blank=True)
    initialized = models.BooleanField(_("initialized"), default=False)
    created = models.DateTimeField(_("created"))
    last_seen = models.DateTimeField(_("last seen"))
    expires = models.DateTimeField(_("expires"))

    objects = SessionQuerySet.as_manager()

    class Meta:
        verbose_name = _("session")
        verbose_name_plural = _("sessions")
        indexes = (models.Index(fields=["server", "principal", "last_seen"], name="django_mcp_session_owner"),)

    def __str__(self) -> str:
        return f"{self.server}: {self.principal}, {self.created:%Y-%m-%d %H:%M}"


class AccessToken(models.Model):
    """A bearer token of one user. ``prefix`` tells people which one it is."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="mcp_access_tokens",
        verbose_name=_("user"),
    )
    name = models.CharField(_("name"), max_length=NAME_LENGTH, blank=True, help_text=_("What the token is for."))
    prefix = models.CharField(_("begins with"), max_length=16, editable=False)
    digest = models.CharField(_("digest"), max_length=64, unique=True, editable=False)
    created = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    expires = models.DateTimeField(
        _("expires"), null=True, blank=True, help_text=_("Empty: it is good until it is revoked.")
    )
    last_used = models.DateTimeField(_("last used"), null=True, blank=True, editable=False)
    revoked = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)

    objects: ClassVar[AccessTokenManager] = AccessTokenManager()

    class Meta:
        verbose_name = _("access token")
        verbose_name_plural = _("access tokens")

    def __str__(self) -> str:
        return f"{self.prefix}… {self.name}".strip()

    def set_new_value(self) -> str:
        """Give the token a value of its own and return it, to be shown once: nobody can read it again."""
        value, self.prefix, self.digest = new_token_value()
        return value

    def is_usable(self, now: datetime) -> bool:
        """Whether it is neither revoked nor expired. The user may be inactive all the same."""
        return self.revoked is None and (self.expires is None or self.expires > now)

    def revoke(self) -> None:
        """End the token for good. Writes this column only, so nothing a request wrote is lost."""
        if self.revoked is None:
            self.revoked = timezone.now()
            self.save(update_fields=["revoked"])


class RegisteredPrimitive(models.Model):
    """A tool, prompt, resource or resource template that some process has registered, and its switch.

    ``key`` is its name or URI. ``vanished`` says since when nobody registers it any more; the row and
    its switch stay, in case it comes back.
    """

    # MariaDB cannot index a URI of any length, and takes "Echo" and "echo" for the same.
    digest = models.CharField(_("digest"), max_length=64, unique=True, editable=False)
    server = models.CharField(_("server"), max_length=NAME_LENGTH, editable=False)
    kind = models.CharField(_("kind"), max_length=20, choices=KINDS, editable=False)
    key = models.TextField(_("name or URI"), editable=False)
    app = models.CharField(_("app"), max_length=255, blank=True, editable=False)
    enabled = models.BooleanField(
        _("enabled"), default=True, help_text=_("Switched off, it does not exist for anybody, superusers included.")
    )
    groups = models.ManyToManyField(
        "auth.Group",
        through="PrimitiveGroup",
        blank=True,
        related_name="mcp_primitives",
        verbose_name=_("groups"),
    )
    vanished = models.DateTimeField(_("vanished"), null=True, blank=True, editable=False)

    objects: ClassVar[models.Manager[RegisteredPrimitive]] = models.Manager()

    class Meta:
        verbose_name = _("tool, prompt or resource")
        verbose_name_plural = _("tools, prompts and resources")

    def __str__(self) -> str:
        return self.key


class PrimitiveGroup(models.Model):
    """A group that may use a primitive. Deleting the group would open the primitive to everybody, so it is refused."""

    primitive = models.ForeignKey(RegisteredPrimitive, models.CASCADE, verbose_name=_("tool, prompt or resource"))
    group = models.ForeignKey("auth.Group", models.PROTECT, related_name="+", verbose_name=_("group"))

    class Meta:
        verbose_name = _("restriction to a group")
        verbose_name_plural = _("restrictions to groups")
        constraints = (models.UniqueConstraint(fields=["primitive", "group"], name="django_mcp_primitive_group"),)

    def __str__(self) -> str:
        return f"{self.primitive}: {self.group}"


class Event(models.Model):
    """An entry of the event log. ``seq`` is empty until somebody numbers it, which is after its commit."""

    seq = models.BigIntegerField(null=True, unique=True, editable=False)
    prev = models.BigIntegerField(null=True, editable=False)
    kind = models.CharField(max_length=32)
    server = models.CharField(max_length=NAME_LENGTH, blank=True)
    uri = models.TextField(blank=True)
    audience = models.CharField(max_length=255, blank=True)
    data = models.JSONField(default=dict)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")

    def __str__(self) -> str:
        return f"{self.kind} {self.uri or self.audience}".strip()


class EventHead(models.Model):
    """The one row that says which number was given last. Whoever numbers events holds it meanwhile."""

    seq = models.BigIntegerField(default=0)

    class Meta:
        verbose_name = _("head of the event log")
        verbose_name_plural = _("heads of the event log")

    def __str__(self) -> str:
        return str(self.seq)


class Subscription(models.Model):
    """A resource that a legacy session wants to hear of (RES-11), from the number ``since`` on."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="subscriptions")
    uri = models.TextField()
    digest = models.CharField(max_length=64, editable=False)
    since = models.BigIntegerField(editable=False)

    class Meta:
        verbose_name = _("subscription")
        verbose_name_plural = _("subscriptions")
        constraints = (models.UniqueConstraint(fields=["session", "digest"], name="django_mcp_subscription_once"),)

    def __str__(self) -> str:
        return self.uri


class StreamSpan(models.Model):
    """One connection of a legacy GET stream: it carried what lies between its two numbers.

    ``worker`` is the key of a ``Worker``, whose row may be gone, or not be there yet.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="stream_spans")
    stream = models.CharField(max_length=32)
    connection = models.CharField(max_length=32, unique=True)
    start = models.BigIntegerField()
    end = models.BigIntegerField(null=True)
    worker = models.CharField(max_length=32, blank=True)

    class Meta:
        verbose_name = _("stream")
        verbose_name_plural = _("streams")

    def __str__(self) -> str:
        return f"{self.stream}: {self.start}-{self.end or ''}"


class Worker(models.Model):
    """A process that has streamed to legacy clients. ``beat`` goes on while it does."""

    key = models.CharField(max_length=32, primary_key=True)
    beat = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = _("worker")
        verbose_name_plural = _("workers")

    def __str__(self) -> str:
        return self.key


class CallStream(models.Model):
    """The stream of one legacy call, for a client that comes back to it (LH-24).

    ``request`` is the id of the call as JSON, ``resumer`` the connection that has come last.
    """

    key = models.CharField(max_length=32, primary_key=True)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="call_streams")
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="call_streams")
    request = models.TextField()
    resumer = models.CharField(max_length=32, blank=True)
    ended = models.DateTimeField(null=True, db_index=True)

    class Meta:
        verbose_name = _("stream of a call")
        verbose_name_plural = _("streams of calls")

    def __str__(self) -> str:
        return self.key


class StreamChunk(models.Model):
    """Messages of a call's stream, one a line, whose numbers end at ``last``."""

    stream = models.ForeignKey(CallStream, on_delete=models.CASCADE, related_name="chunks")
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    final = models.BooleanField()
    body = models.BinaryField()

    class Meta:
        verbose_name = _("piece of a stream")
        verbose_name_plural = _("pieces of streams")
        constraints = (models.UniqueConstraint(fields=["stream", "first"], name="django_mcp_stream_chunk_once"),)

    def __str__(self) -> str:
        return f"{self.stream_id}: {self.first}-{self.last}"


class Catalogue(models.Model):
    """A list of tools, prompts or resources that was announced, by its digest. The newest is the one in force."""

    server = models.CharField(max_length=NAME_LENGTH)
    kind = models.CharField(max_length=32)
    digest = models.CharField(max_length=64)
    announced = models.DateTimeField()

    class Meta:
        verbose_name = _("catalogue")
        verbose_name_plural = _("catalogues")
        constraints = (models.UniqueConstraint(fields=["server", "kind", "digest"], name="django_mcp_catalogue_once"),)

    def __str__(self) -> str:
        return f"{self.server}: {self.kind}"


class SpentState(models.Model):
    """A conversation with a modern client that has had its effect and may have it no second time (MRTR-08)."""

    nonce = models.CharField(max_length=64, unique=True)
    expires = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = _("spent state")
        verbose_name_plural = _("spent states")

    def __str__(self) -> str:
        return self.nonce


class PendingRequest(models.Model):
    """A question that has been put, until somebody has got the answer, on whatever worker.

    To the client of a legacy session, which replies to it by its ``ref`` (S2C-04); or on a page of the site, where
    the user whom ``principal`` names, and nobody else, answers what ``question`` holds as JSON (ELI-12). ``place``
    says which question of which call that is.
    """

    session = models.ForeignKey(
        Session, on_delete=models.CASCADE, null=True, blank=True, related_name="pending_requests"
    )
    ref = models.CharField(max_length=64, unique=True)
    expires = models.DateTimeField(db_index=True)
    answered = models.BooleanField(default=False)
    answer = models.TextField(blank=True)
    principal = models.CharField(max_length=255, blank=True)
    place = models.CharField(max_length=64, blank=True, db_index=True)
    question = models.TextField(blank=True)

    class Meta:
        verbose_name = _("pending request")
        verbose_name_plural = _("pending requests")

    def __str__(self) -> str:
        return self.ref
