"""The tools and the prompt of the fixture contract that ask the client, each serving both eras."""

import json
from typing import Any

from django_mcp import (
    Context,
    Elicitation,
    ElicitResult,
    InputRequiredResult,
    RootsListing,
    Sampling,
    choice,
    choices,
    prompt,
    tool,
)


def _form(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    form: dict[str, Any] = {"type": "object", "properties": properties}
    return {**form, "required": list(required)} if required else form


TEXT = {"type": "string"}
NAME = _form("name", name=TEXT)
OK = _form("ok", ok={"type": "boolean"})
CONTACT = _form("username", "email", username=TEXT, email=TEXT)
DEFAULTS = _form(
    name={"type": "string", "default": "John Doe"},
    age={"type": "integer", "default": 30},
    score={"type": "number", "default": 95.5},
    status=choice(["active", "inactive", "pending"], default="active"),
    verified={"type": "boolean", "default": True},
)
TITLES = {f"value{number}": f"Value {number}" for number in (1, 2, 3)}
OPTIONS = ["option1", "option2", "option3"]
ENUMS = _form(
    untitledSingle=choice(OPTIONS),
    titledSingle=choice(TITLES),
    legacyEnum=choice(["opt1", "opt2", "opt3"], enumNames=["Option 1", "Option 2", "Option 3"]),
    untitledMulti=choices(OPTIONS),
    titledMulti=choices(TITLES),
)


def _told(start: str, answer: ElicitResult) -> str:
    return f"{start}: action={answer.action}, content={json.dumps(answer.content)}"


@tool
def test_sampling(prompt: str, context: Context) -> str:
    """Asks the client's model."""
    return f"LLM response: {context.sample(prompt, 100).text}"


@tool
async def test_elicitation(message: str, context: Context) -> str:
    """Asks a person for a name and an address."""
    return _told("User response", await context.aelicit(message, CONTACT))


@tool
def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Asks with a form that is filled in already."""
    return _told("Elicitation completed", context.elicit("Check your details", DEFAULTS))


@tool
def test_elicitation_sep1330_enums(context: Context) -> str:
    """Asks for choices of every kind."""
    return _told("Elicitation completed", context.elicit("Choose", ENUMS))


@tool
def test_input_required_result_elicitation(context: Context) -> str:
    """Asks one question."""
    answer = context.elicit("What is your name?", NAME, key="user_name")
    return f"Hello, {answer.content['name']}!" if answer.accepted else "Hello, stranger!"


@tool
def test_input_required_result_sampling(context: Context) -> str:
    """Asks the client's model one question."""
    return context.sample("What is the capital of France?", 100, key="capital_question").text


@tool
def test_input_required_result_list_roots(context: Context) -> str:
    """Asks for the roots."""
    return ", ".join(root.uri for root in context.list_roots(key="client_roots"))


@tool
def test_input_required_result_request_state(context: Context) -> str | InputRequiredResult:
    """Builds its request by hand, with a state."""
    if context.request_state is None:
        return InputRequiredResult({"confirm": Elicitation("Go on?", OK)}, state={"step": 1})
    return "state-ok" if context.input_responses.get("confirm") else "no answer"


@tool
async def test_input_required_result_multiple_inputs(context: Context) -> str:
    """Asks three questions at once."""
    name, greeting, roots = await context.agather(
        Elicitation("What is your name?", NAME, key="user_name"),
        Sampling("Generate a greeting", 50, key="greeting"),
        RootsListing(key="client_roots"),
    )
    return f"{greeting.text} {name.content['name']} at {len(roots)} roots"


@tool
def test_input_required_result_multi_round(context: Context) -> str:
    """Asks one question after the other."""
    name = context.elicit("Step 1: What is your name?", NAME, key="step1")
    colour = context.elicit("Step 2: What is your favorite color?", _form("color", color=TEXT), key="step2")
    return f"{name.content['name']} likes {colour.content['color']}."


@tool
def test_input_required_result_tampered_state(context: Context) -> str:
    """Asks with a state that nobody can change."""
    return _told("Done", context.elicit("Go on?", OK, key="confirm"))


@tool
def test_input_required_result_capabilities(context: Context) -> str:
    """Asks for what the client can do."""
    questions = [Sampling("Say something", 50, key="sampled"), Elicitation("Go on?", OK, key="elicited")]
    context.gather(*(question for question in questions if context.can_ask(question.requires)))
    return "asked"


@prompt
def test_input_required_result_prompt(context: Context) -> str:
    """Asks what it should be about."""
    form = _form("context", context=TEXT)
    answer = context.elicit("What context should the prompt use?", form, key="user_context")
    return f"Use this: {answer.content['context']}"
