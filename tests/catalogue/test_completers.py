"""Completions: from annotations, choices and rows, with what was chosen before, and not too many."""

from typing import Literal

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, models
from django.test.utils import CaptureQueriesContext

from django_mcp import CompletionResult, Context, InvalidArguments, InvalidPrimitive, QuerySetCompleter
from django_mcp.primitives.prompts import PromptDefinition
from django_mcp.server.rates import BURST, MOST, RateLimit
from django_mcp.server.server import Server
from django_mcp.servers import SERVICES
from example_project.helpdesk.choices import Status
from example_project.helpdesk.models import Customer, Queue, Ticket
from tests.catalogue.queries import selects


class Size(models.IntegerChoices):
    SMALL = 1
    LARGE = 20


@pytest.fixture(autouse=True)
def queues(db):
    names = {"sales": "Sales", "wholesale": "Big customers", "repair": "Workshop", "returns": "Sale returns"}
    return [Queue.objects.create(slug=slug, name=name) for slug, name in names.items()]


def offer(server, source, *, argument="x"):
    """A prompt with one argument that ``source`` completes."""

    @server.prompt(complete={argument: source})
    def ask(x: str, y: str = "") -> None: ...


def complete(client, value, *, era="modern", argument="x", chosen=None, name="ask"):
    params = {"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": argument, "value": value}}
    if chosen is not None:
        params["context"] = {"arguments": chosen}
    return client.call(era, "completion/complete", params)


def values(client, value, **options):
    return complete(client, value, **options).result["completion"]["values"]


@pytest.mark.parametrize(
    ("annotation", "typed", "found"),
    [
        (Literal["warm", "dry"], "W", ["warm"]),
        (Status, "RE", ["resolved"]),
        (Size | None, "2", ["20"]),
        (bool, "t", ["true"]),
    ],
    ids=["literal", "text choices", "integer choices", "bool"],
)
def test_annotations_with_choices_complete_themselves(server, client, annotation, typed, found):
    """CMP-04, CMP-05: what begins with the text, then what contains it; any case."""

    def ask(x): ...

    ask.__annotations__["x"] = annotation
    server.prompt(ask)
    assert values(client, typed) == found


SOURCES = {
    "field": lambda: Queue.slug,
    "values of a manager": lambda: Queue.objects.values_list("slug", flat=True),
    "model": lambda: QuerySetCompleter(Queue, "slug"),
    "manager": lambda: QuerySetCompleter(Queue.objects, "slug"),
    "queryset": lambda: QuerySetCompleter(Queue.objects.order_by("-name"), "slug"),
    "function": lambda: QuerySetCompleter(lambda: Queue.objects.all(), "slug"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_rows_are_a_source(server, client, era, source):
    """CMP-02, CMP-04, CMP-05."""
    offer(server, SOURCES[source]())
    completion = complete(client, "SALE", era=era).result["completion"]
    assert completion == {"values": ["sales", "wholesale"], "total": 2, "hasMore": False}
    assert values(client, "") == ["repair", "returns", "sales", "wholesale"]
    assert values(client, "nothing") == []


def test_a_field_with_choices_needs_no_rows(server, client):
    offer(server, Ticket.status)
    with CaptureQueriesContext(connection) as captured:
        assert values(client, "re") == ["resolved"]
    assert selects(captured) == []


def test_rows_are_searched_by_other_fields_too(server, client):
    offer(server, QuerySetCompleter(Queue, "slug", search_fields=["slug", "name"]))
    assert values(client, "sale") == ["returns", "sales", "wholesale"]
    assert values(client, "custom") == ["wholesale"]


def test_related_rows_are_searched_and_each_value_comes_once(server, client, queues):
    ann = Customer.objects.create(name="Ann Arbor", email="ann@example.com")
    for subject in ("Bell", "Bell", "Saddle"):
        Ticket.objects.create(queue=queues[0], customer=ann, subject=subject, description="")
    offer(server, QuerySetCompleter(Ticket, "subject", search_fields=("subject", "customer__name")))
    assert values(client, "arbor") == ["Bell", "Saddle"]
    offer_pk = QuerySetCompleter(Ticket, "pk", search_fields=["subject"])
    server.prompt(name="by pk", complete={"x": offer_pk})(lambda x: x)
    assert len(values(client, "bell", name="by pk")) == 2


def test_a_hundred_are_sent_and_all_are_counted(server, client):
    """CMP-04, S125: the database cuts."""
    Queue.objects.bulk_create(Queue(slug=f"q{number:03}", name="many") for number in range(250))
    offer(server, QuerySetCompleter(Queue, "slug"))
    with CaptureQueriesContext(connection) as captured:
        completion = complete(client, "q").result["completion"]
    assert (len(completion["values"]), completion["total"], completion["hasMore"]) == (100, 250, True)
    assert [("LIMIT 1001" in one, "COUNT(" in one) for one in selects(captured)] == [(True, False)]


@pytest.mark.parametrize("typed", ["", "q"])
def test_more_than_a_thousand_are_not_counted(server, client, typed):
    """CMP-04, S125: whatever the table holds, so many rows are read at most."""
    Queue.objects.bulk_create(Queue(slug=f"q{number:04}", name="many") for number in range(1001))
    offer(server, QuerySetCompleter(Queue, "slug"))
    completion = complete(client, typed).result["completion"]
    assert (completion["values"][0], len(completion["values"])) == ("q0000", 100)
    assert completion["hasMore"]
    assert "total" not in completion


def test_without_a_text_the_first_values_are_read_in_the_order_of_an_index(server, client):
    """No value is better than another, so no row is looked at that is not shown."""
    offer(server, QuerySetCompleter(Queue, "slug"))
    with CaptureQueriesContext(connection) as captured:
        complete(client, "")
    [query] = selects(captured)
    assert "GROUP BY" not in query
    assert "CASE" not in query


def test_rows_may_depend_on_the_caller_and_on_what_was_chosen(server, client, caller, staff):
    """CMP-03, CMP-07, S124."""
    group = Group.objects.create(name="editors")
    staff.groups.add(group)
    User.objects.create(username="stan")

    def colleagues(arguments, context: Context):
        found = User.objects.filter(groups__name=arguments.get("y", ""))
        return found if context.user.is_staff else found.none()

    offer(server, QuerySetCompleter(colleagues, "username"))
    assert values(client, "sta", chosen={"y": "editors"}) == []
    caller.user = staff
    assert values(client, "sta", chosen={"y": "editors"}) == ["staffer"]
    assert values(client, "sta") == []


@pytest.mark.parametrize("value", ["a" * 201, "\0", "\ud800"], ids=["long", "NUL", "surrogate"])
def test_what_nobody_types_is_not_asked_of_the_database(server, client, value):
    """CMP-07."""
    offer(server, QuerySetCompleter(Queue, "slug"))
    with CaptureQueriesContext(connection) as captured:
        assert complete(client, value).result["completion"] == {"values": [], "total": 0, "hasMore": False}
    assert selects(captured) == []


@pytest.mark.parametrize("value", ["%", "_", "\\", "'"])
def test_what_was_typed_is_text_and_no_pattern(server, client, value):
    """CMP-07."""
    offer(server, QuerySetCompleter(Queue, "slug"))
    assert values(client, value) == []


def test_values_that_are_missing_are_no_suggestions(server, client):
    User.objects.create(username="ann")
    offer(server, QuerySetCompleter(Ticket, "assignee__user__username"))
    assert values(client, "") == []


def test_rows_that_are_none_are_told_in_the_log(server, client, caplog):
    offer(server, QuerySetCompleter(lambda: ["sales"], "slug"))
    assert complete(client, "").error == {"code": -32603, "message": "Internal error"}
    assert "The rows of a QuerySetCompleter are ['sales'], which is no QuerySet" in caplog.text


def test_a_completer_may_refuse_what_was_typed(server, client, era):
    """CMP-06."""

    def refuse(value):
        raise InvalidArguments("x: numbers only")

    offer(server, refuse)
    assert complete(client, "a", era=era).error == {"code": -32602, "message": "x: numbers only"}


def test_a_completer_that_fails_tells_nothing(server, client, era):
    """CMP-06."""
    offer(server, lambda value: 1 / 0)
    assert complete(client, "a", era=era).error == {"code": -32603, "message": "Internal error"}


@pytest.mark.parametrize(
    ("returned", "completion"),
    [
        (None, {"values": [], "total": 0, "hasMore": False}),
        ([1, "b"], {"values": ["1", "b"], "total": 2, "hasMore": False}),
        (CompletionResult(values=["a"], total=7, has_more=True), {"values": ["a"], "total": 7, "hasMore": True}),
        (CompletionResult(values=["a"], has_more=True), {"values": ["a"], "hasMore": True}),
    ],
    ids=["nothing", "list", "result", "more"],
)
def test_a_function_is_a_completer(server, client, era, returned, completion):
    """S120, S124."""
    offer(server, lambda value: returned)
    assert complete(client, "a", era=era).result["completion"] == completion


def test_an_argument_that_is_none_is_refused(server, client, era):
    """S121..S123, CMP-06."""
    offer(server, ["a"])
    assert complete(client, "", era=era, argument="z").error["code"] == -32602
    assert complete(client, None, era=era).error["code"] == -32602
    assert complete(client, "", era=era, name="nope").error["code"] == -32602
    assert values(client, "", argument="y") == []


NAME = "tests.catalogue.test_completers"


def described(source):
    with pytest.raises(InvalidPrimitive) as caught:
        PromptDefinition.from_function(described_prompt, complete={"x": source()})
    return str(caught.value)


def described_prompt(x: str) -> None:
    """Never called."""


def by_name(name): ...


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            lambda: Queue,
            "A completer was given as rows of Queue without one field to suggest. Write QuerySetCompleter(Queue, "
            '"field"), or .values_list("field").',
        ),
        (
            lambda: Queue.objects.values_list("slug", "name"),
            "A completer was given as rows of Queue without one field to suggest. Write QuerySetCompleter(Queue, "
            '"field"), or .values_list("field").',
        ),
        (
            lambda: QuerySetCompleter(Queue, "slug", search_fields="name"),
            "A QuerySetCompleter was given search_fields='name'. They are a list of names: write "
            'search_fields=["subject", "customer__name"].',
        ),
        (
            lambda: QuerySetCompleter(5, "slug"),
            "A QuerySetCompleter was given 5 as its rows. They are a model, a manager, a QuerySet or a function of "
            'the context that returns one: write QuerySetCompleter(Queue, "slug").',
        ),
        (
            lambda: QuerySetCompleter(by_name, "slug"),
            f"{NAME}.by_name gives the rows of a QuerySetCompleter and takes name. It is called with the context and "
            "the values chosen before, if it takes them: write def function(context, arguments).",
        ),
    ],
    ids=["model", "two fields", "a name", "a number", "a function"],
)
def test_a_source_that_does_not_do_is_told_what_does(source, message):
    assert described(source) == message


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (lambda: QuerySetCompleter(Queue, "slog"), "Cannot resolve keyword 'slog' into field."),
        (lambda: QuerySetCompleter(Queue, "slug", search_fields=["nome"]), "Cannot resolve keyword 'nome'"),
        (lambda: QuerySetCompleter(Queue.objects.all()[:5], "slug"), "Cannot filter a query once a slice"),
    ],
    ids=["field", "search field", "slice"],
)
def test_fields_that_are_not_there_are_named(source, named):
    message = described(source)
    assert message.startswith("A QuerySetCompleter of Queue was given the field")
    assert named in message
    assert message.endswith(
        "Name fields of the model, or of rows it points to, and give a QuerySet that is not sliced."
    )


def test_who_asks_too_often_is_told_to_wait(server, client):
    """SEC-12, CMP-05, CMP-07."""
    server._overrides["COMPLETION_RATE"] = 1
    offer(server, ["a"])
    answers = [complete(client, "").json for _ in range(int(BURST) + 1)]
    assert all("result" in answer for answer in answers[:-1])
    assert answers[-1]["error"] == {
        "code": -32603,
        "message": "Too many completions: at most 1 a second. Wait a moment.",
    }


def test_an_allowance_refills_with_time_and_is_everybodys_own():
    now = [100.0]
    limit = RateLimit(lambda: now[0])
    burst = int(2 * BURST)
    assert [limit.allows("ann", 2) for _ in range(burst + 1)] == [True] * burst + [False]
    assert limit.allows("bob", 2)
    now[0] += 1
    assert [limit.allows("ann", 2) for _ in range(3)] == [True, True, False]
    now[0] += 1000
    assert [limit.allows("ann", 2) for _ in range(burst + 1)] == [True] * burst + [False]


def test_an_allowance_forgets_who_asked_long_ago():
    limit = RateLimit(lambda: 0.0)
    for key in range(MOST + 5):
        limit.allows(key, 1)
    assert len(limit._used) == MOST
    assert 4 not in limit._used


def test_a_server_without_settings_has_no_allowance():
    assert Server("bare", services=SERVICES).completion_rate() is None
