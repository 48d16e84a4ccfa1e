"""Prompts: what an author may return, Django templates as prompts, and what a wrong argument is answered."""

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.test import override_settings

from django_mcp import (
    Context,
    ImageContent,
    InvalidArguments,
    InvalidPrimitive,
    PromptMessage,
    PromptResult,
    TextContent,
    ToolError,
)
from django_mcp.checks.offers import check_prompt_templates
from django_mcp.primitives.prompts import PromptDefinition

FILES = {
    "triage.md": "{% load i18n %}# {{ queue }} {{ tone }}\n{% for ticket in tickets %}- {{ ticket }}\n{% endfor %}\n",
    "user.md": "{{ found.username }}{{ context }}",
    "translated.md": "{% load i18n %}{% translate 'Yes' %}",
    "query.md": "{% for user in users %}{{ user.username }} {% endfor %}",
    "broken.md": "{% if %}",
}


def engine(backend="django.template.backends.django.DjangoTemplates", **options):
    loaders = [("django.template.loaders.locmem.Loader", FILES)]
    return {"BACKEND": backend, "OPTIONS": options or {"loaders": loaders}}


@pytest.fixture(autouse=True)
def templates():
    with override_settings(TEMPLATES=[engine()]):
        yield


def get(client, name, era="modern", **arguments):
    return client.call(era, "prompts/get", {"name": name, "arguments": arguments})


def text_of(answer):
    [message] = answer.result["messages"]
    assert (message["role"], message["content"]["type"]) == ("user", "text")
    return message["content"]["text"]


def test_a_template_shows_the_arguments_and_what_the_function_returns(server, client, era):
    @server.prompt(template_name="triage.md")
    def triage(queue: str, tone: str = "calm"):
        """Sort a queue."""
        return {"tickets": ["<b> & 'c'", 2]}

    assert text_of(get(client, "triage", era, queue="{{ x }} & <y>")) == "# {{ x }} & <y> calm\n- <b> & 'c'\n- 2"
    assert text_of(get(client, "triage", era, queue="q", tone="loud")) == "# q loud\n- <b> & 'c'\n- 2"


def test_a_function_that_returns_nothing_leaves_the_template_its_arguments(server, client):
    @server.prompt(template_name="triage.md")
    async def triage(queue: str, context: Context) -> None: ...

    assert text_of(get(client, "triage", queue="q")) == "# q "


def test_a_template_may_ask_the_database(server, client):
    User.objects.create(username="ann")

    @server.prompt(template_name="query.md")
    async def users():
        return {"users": User.objects.all()}

    assert text_of(get(client, "users")) == "ann "


def test_a_template_speaks_the_language_of_the_caller(server, client):
    server.prompt(name="translated", template_name="translated.md")(lambda: None)
    answer = client.modern("prompts/get", {"name": "translated"}, headers={"Accept-Language": "de"})
    assert text_of(answer) == "Ja"


def test_other_engines_render_as_they_do(server, client):
    with override_settings(TEMPLATES=[engine("tests.catalogue.shouting.Shouting", word="hey")]):
        server.prompt(name="shout", template_name="any")(lambda: {"x": 1})
        assert text_of(get(client, "shout")) == "HEY {'x': 1}"


@pytest.mark.parametrize("returned", ["text", [1]])
def test_a_template_takes_dicts(server, client, caplog, returned):
    server.prompt(name="triage", template_name="triage.md")(lambda: returned)
    assert get(client, "triage").error == {"code": -32603, "message": "Internal error"}
    assert f"The prompt triage has a template and returned a value of type {type(returned).__name__}." in caplog.text


@pytest.mark.parametrize("name", ["", " ", 5, ["a.md"]])
def test_a_template_name_is_a_text(name):
    with pytest.raises(InvalidPrimitive) as caught:
        PromptDefinition.from_function(text_of, template_name=name)
    assert str(caught.value) == (
        f"tests.catalogue.test_prompts.text_of was given template_name={name!r}. It is the name of a Django "
        'template: write template_name="helpdesk/prompts/triage.md".'
    )


@pytest.mark.parametrize(
    ("name", "kind", "fault"),
    [
        ("nowhere.md", "TemplateDoesNotExist", "nowhere.md"),
        ("broken.md", "TemplateSyntaxError", "Unexpected end of expression in if tag"),
    ],
)
def test_a_template_that_is_not_there_is_found_by_the_checks(server, name, kind, fault):
    server.prompt(name="good", template_name="triage.md")(lambda: None)
    server.prompt(name="plain")(lambda: "")
    server.prompt(name="bad", template_name=name)(lambda: None)
    [error] = [one for one in check_prompt_templates() if one.obj is server]
    assert (error.id, error.obj) == ("django_mcp.E005", server)
    assert error.msg.startswith("The prompt 'bad' (tests.catalogue.test_prompts.")
    assert f"has the template {name!r}, which cannot be loaded: {kind}: " in error.msg
    assert error.msg.endswith(f"{fault}.")
    assert error.hint == "Put the file into the templates folder of an installed app, or correct template_name."


@pytest.mark.parametrize(
    "error", [InvalidArguments("number: there is no ticket 7"), ValidationError("number: there is no ticket 7")]
)
def test_a_prompt_may_refuse_its_arguments(server, client, era, error):
    """PRM-04, PRM-06."""

    @server.prompt
    def ticket(number: int) -> str:
        raise error

    assert get(client, "ticket", era, number="7").error == {"code": -32602, "message": "number: there is no ticket 7"}


def test_other_errors_are_not_the_clients_fault(server, client, era):
    """PRM-04."""

    @server.prompt
    def ticket(kind: str) -> str:
        raise {"tool": ToolError("Try later."), "other": RuntimeError("secret")}[kind]

    assert get(client, "ticket", era, kind="tool").error == {"code": -32603, "message": "Try later."}
    assert get(client, "ticket", era, kind="other").error == {"code": -32603, "message": "Internal error"}


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"name": "ticket"}, "number is required but was not given"),
        ({"name": "ticket", "arguments": {}}, "number is required but was not given"),
        ({"name": "ticket", "arguments": {"number": "x"}}, "number: must be a valid integer, not 'x'"),
        ({"name": "ticket", "arguments": {"number": 5}}, "number: must be a string, not 5"),
        ({"name": "ticket", "arguments": {"number": "5", "more": ""}}, "more is unknown; allowed are number"),
        ({"name": "ticket", "arguments": []}, "arguments must be an object"),
        ({"name": "nope"}, "Unknown prompt: nope"),
        ({"name": 5}, "name is required and must be a string"),
        ({}, "name is required and must be a string"),
    ],
    ids=range(9),
)
def test_a_wrong_request_is_told_what_is_wrong(server, client, era, params, named):
    """S89, S90, PRM-04, PRM-09, BL-079, X12."""

    @server.prompt
    def ticket(number: int) -> None: ...

    assert client.call(era, "prompts/get", params).error == {"code": -32602, "message": named}


@pytest.mark.parametrize(
    ("returned", "messages"),
    [
        ("a", [("user", "a")]),
        ({"role": "assistant", "content": "a"}, [("assistant", "a")]),
        (PromptMessage("assistant", TextContent("a")), [("assistant", "a")]),
        (["a", {"content": "b"}], [("user", "a"), ("user", "b")]),
        ({"description": "D", "messages": ["a"]}, [("user", "a")]),
        (PromptResult(messages=(PromptMessage("user", TextContent("a")),), meta={"a/b": 1}), [("user", "a")]),
    ],
    ids=range(6),
)
def test_messages_may_be_written_in_many_ways(server, client, era, returned, messages):
    """S92, S93, M11, PRM-03."""
    server.prompt(name="any")(lambda: returned)
    result = get(client, "any", era).result
    assert [(one["role"], one["content"]["text"]) for one in result["messages"]] == messages


def test_a_picture_is_a_message(server, client, era):
    """S93, PRM-05."""
    server.prompt(name="any")(lambda: [ImageContent(b"png", "image/png")])
    [message] = get(client, "any", era).result["messages"]
    assert message == {"role": "user", "content": {"type": "image", "data": "cG5n", "mimeType": "image/png"}}


def test_a_prompt_is_listed_with_its_arguments(server, client, era):
    """S86, S87, PRM-02."""

    @server.prompt(title="Ticket", meta={"a/b": 1})
    def ticket(number: int, tone: str = "calm", *, context: Context) -> str:
        """Show a ticket."""
        return f"{number} {tone} {context.user}"

    @server.prompt
    def plain() -> None: ...

    assert client.call(era, "prompts/list").result["prompts"] == [
        {
            "name": "ticket",
            "title": "Ticket",
            "description": "Show a ticket.",
            "arguments": [{"name": "number", "required": True}, {"name": "tone", "required": False}],
            "_meta": {"a/b": 1},
        },
        {"name": "plain"},
    ]
    assert text_of(get(client, "ticket", era, number="07")) == "7 calm AnonymousUser"
