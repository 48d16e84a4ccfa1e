"""A mistake is refused when it is registered: what was given, what is allowed, what to do.

The last test asks whether each refusal in the code has its exact message here.
"""

import ast
from pathlib import Path
from typing import Any

import pytest

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.base import Icon
from django_mcp.primitives.headers import Header
from django_mcp.primitives.per_call import PerCallMethod
from django_mcp.primitives.prompts import PromptDefinition
from django_mcp.primitives.tools import ToolAnnotations, ToolDefinition
from django_mcp.registry import Registry
from tests.primitives.wrong import (
    Owner,
    agen,
    alook,
    by_position,
    deep,
    drawn,
    headed,
    headed_secret,
    headed_twice,
    look,
    many,
    no_self,
    pair,
    stars,
    twice,
    unreadable,
    unresolved,
    unusable,
    with_self,
)  # fmt: skip

PRIMITIVES = Path(__file__).resolve().parents[2] / "django_mcp" / "primitives"
NAMES = "arguments base functions headers meta per_call outputs schema signature tools whole"
FILES = NAMES.split()

DRAFT_3 = "http://json-schema.org/draft-03/schema#"
tool: Any = ToolDefinition.from_function
annotations: Any = ToolAnnotations
register: Any = Registry().register
class_method: Any = classmethod


MISTAKES: list[tuple[Any, str]] = [
    (
        lambda: tool(staticmethod(look)),
        "@tool was put above @staticmethod. It takes functions and bound methods: register the method "
        "from outside the class, as in tool(TheClass.the_method).",
    ),
    (
        lambda: tool(object),
        "@tool was given object, which is no function. It takes functions, bound methods and objects "
        "with __call__: write @tool above a def, or @register above a class such as SearchTickets(Tool).",
    ),
    (
        lambda: tool(agen),
        "agen is an async generator. An async function returns its answer at once: collect the items in "
        "a list and return it.",
    ),
    (
        lambda: tool(look, name="New Tool"),
        "tests.primitives.wrong.look is named 'New Tool' as a tool. A name has 1 to 128 letters "
        '(A-Z, a-z), digits, underscores, hyphens and dots: write @tool(name="create_order").',
    ),
    (
        lambda: tool(look, title=None, icons=["x"]),
        "tests.primitives.wrong.look was given 'x' as an icon. Icons are Icon objects: write "
        'icons=[Icon("https://example.com/icon.png")].',
    ),
    (
        lambda: Icon("icon.png"),
        "An icon has the src 'icon.png'. It must be an https, http or data URL, or a path of this site: "
        'write Icon("https://example.com/icon.png") or Icon(static("icon.png")).',
    ),
    (
        lambda: Icon("data:,", sizes="48x48"),
        "An icon has the sizes '48x48'. They are texts such as 48x48, or any: write Icon(..., sizes=(\"48x48\",)).",
    ),
    (
        lambda: Icon("data:,", theme="blue"),
        "An icon has the theme 'blue'. Allowed are light and dark: write Icon(..., theme=\"dark\") or leave it out.",
    ),
    (
        lambda: annotations(read_only_hint="yes"),
        "ToolAnnotations was given read_only_hint='yes'. Allowed are True and False: write "
        "read_only_hint=True or leave it out.",
    ),
    (
        lambda: tool(look, annotations={"readOnlyHint": True}),
        "tests.primitives.wrong.look was given annotations={'readOnlyHint': True}. They are a "
        "ToolAnnotations object: write annotations=ToolAnnotations(read_only_hint=True).",
    ),
    (
        lambda: tool(look, permission="change_order"),
        "tests.primitives.wrong.look was given permission='change_order'. It is a Django "
        'permission or a function of the context: write permission="shop.change_order" or '
        "permission=lambda context: context.user.is_staff.",
    ),
    (
        lambda: tool(look, visible=5),
        "tests.primitives.wrong.look was given visible=5. It is a function of the context that says "
        "whether the caller may know of it: write visible=lambda context: context.user.is_staff.",
    ),
    (
        lambda: tool(look, tags="billing"),
        "tests.primitives.wrong.look was given tags='billing'. They are a list of texts: write tags=[\"billing\"].",
    ),
    (
        lambda: tool(look, atomic=1),
        "tests.primitives.wrong.look was given atomic=1. Allowed are True and False: write "
        "atomic=True or leave it out.",
    ),
    (
        lambda: tool(look, timeout=0),
        "tests.primitives.wrong.look was given timeout=0. It is a number of seconds above 0: write timeout=30.",
    ),
    (
        lambda: tool(look, confirm=7),
        "tests.primitives.wrong.look was given confirm=7. It is True or the question to put: write "
        'confirm="Delete the order for good?".',
    ),
    (
        lambda: tool(look, wait_inline=True),
        "tests.primitives.wrong.look was given wait_inline=True. Only an async function can wait where it stands: "
        "write async def, or leave it out.",
    ),
    (
        lambda: tool(alook, wait_inline=True, atomic=True),
        "tests.primitives.wrong.alook was given wait_inline=True and atomic=True. No transaction waits for a person: "
        "drop one of the two.",
    ),
    (
        lambda: tool(look, confirm=True, annotations=ToolAnnotations(read_only_hint=True)),
        "tests.primitives.wrong.look was given confirm=True and read_only_hint=True. What changes nothing needs no "
        "confirmation: drop one of the two.",
    ),
    (
        lambda: tool(look, max_size=0),
        "tests.primitives.wrong.look was given max_size=0. It is a number of bytes above 0: write max_size=100_000.",
    ),
    (
        lambda: tool(look, mime_type="png"),
        "tests.primitives.wrong.look was given mime_type='png'. It is a media type: write "
        'mime_type="application/json".',
    ),
    (
        lambda: tool(look, meta=5),
        "tests.primitives.wrong.look was given meta=5. It is a mapping with text keys: write "
        'meta={"example.com/key": "value"}.',
    ),
    (
        lambda: tool(look, meta={"a b": 1}),
        "tests.primitives.wrong.look was given the meta key 'a b'. A key is a name of letters, "
        "digits, dots, hyphens and underscores, after a domain and a slash if it has one: write "
        '"com.example/key".',
    ),
    (
        lambda: tool(look, meta={"com.mcp/x": 1}),
        "tests.primitives.wrong.look was given the meta key 'com.mcp/x'. Its prefix is reserved "
        'for the protocol: use a domain of your own, as in "com.example/key".',
    ),
    (
        lambda: PromptDefinition.from_function(look, name=""),
        "tests.primitives.wrong.look is named '' as a prompt. A name is a text without control "
        'characters: write name="summary".',
    ),
    (
        lambda: tool(stars),
        "tests.primitives.wrong.stars takes **rest. Clients are told every argument by name and "
        "type: write the parameters out, or give a schema of your own with input_schema={...}.",
    ),
    (
        lambda: tool(many),
        "tests.primitives.wrong.many takes *rest. Arguments arrive by name: write rest: list[str] instead.",
    ),
    (
        lambda: tool(by_position),
        "tests.primitives.wrong.by_position takes word by position only. Arguments arrive by "
        "name: remove the / from the signature.",
    ),
    (
        lambda: tool(with_self),
        "tests.primitives.wrong.with_self takes self, so it is a method without its object. "
        "Functions and bound methods can be registered: put it in a Toolset and write @Toolset.tool "
        "above it, or register it from outside the class, as in tool(TheClass().the_method).",
    ),
    (
        lambda: tool(twice),
        "tests.primitives.wrong.twice takes the context twice, as context and as other. It is "
        "given once: drop one of the two parameters.",
    ),
    (
        lambda: tool(unresolved),
        "tests.primitives.wrong.unresolved annotates money with 'Money', which cannot be "
        "resolved (name 'Money' is not defined). Annotations are read while the site runs: import the "
        "name at the top of the module, outside TYPE_CHECKING.",
    ),
    (
        lambda: tool(unusable),
        "tests.primitives.wrong.unusable annotates word with <class "
        "'tests.primitives.wrong.Owner'>, which no argument can be converted to (Unable to "
        "generate pydantic-core schema for <class 'tests.primitives.wrong.Owner'>). Allowed are texts, numbers, "
        "dates, UUIDs, enums, Literal, lists, dicts, TypedDicts, dataclasses and pydantic models: use one of them and "
        "look the object up in the function. The user and the request are in a parameter annotated Context.",
    ),
    (
        lambda: tool(drawn),
        "tests.primitives.wrong.drawn returns bytes and does not say what they are. Clients need"
        ' a media type: write @tool(mime_type="image/png"), or return ImageContent, AudioContent or '
        "ResourceContents.",
    ),
    (
        lambda: tool(look, output_schema=type),
        "tests.primitives.wrong.look was given output_schema=<class 'type'>, which describes "
        "nothing. It is a JSON Schema or a type that pydantic can describe: write "
        "output_schema=list[TicketOut].",
    ),
    (
        lambda: tool(look, input_schema=5),
        "The input_schema of tests.primitives.wrong.look is 5. A JSON Schema is a dict: write "
        '{"type": "object", "properties": {}}.',
    ),
    (
        lambda: tool(look, input_schema={"type": "string"}),
        "The input_schema of tests.primitives.wrong.look has the root type 'string'. Arguments "
        'are always an object: write "type": "object" at its root.',
    ),
    (
        lambda: tool(look, input_schema={"type": "object", "properties": {"a": {"type": "strng"}}}),
        "The input_schema of tests.primitives.wrong.look has 'strng' at properties.a.type, which"
        " its dialect does not allow: 'strng' is not valid under any of the given schemas. Correct that "
        "part of the schema.",
    ),
    (
        lambda: tool(look, input_schema={"$schema": DRAFT_3, "type": "object"}),
        'The input_schema of tests.primitives.wrong.look declares "$schema": '
        "'http://json-schema.org/draft-03/schema#'. Supported dialects are 2020-12 (the default), "
        "2019-09, draft-07, draft-06 and draft-04: declare one of them or leave $schema out.",
    ),
    (
        lambda: tool(
            look, input_schema={"type": "object", "properties": {"word": {"$ref": "https://example.com/a.json"}}}
        ),
        'The input_schema of tests.primitives.wrong.look has the "$ref" '
        "'https://example.com/a.json'. References stay within the one schema and name a part of it: put "
        'the part under "$defs" and write "$ref": "#/$defs/Name".',
    ),
    (
        lambda: tool(look, input_schema=deep()),
        "The input_schema of tests.primitives.wrong.look is nested more than 64 levels deep, "
        'which is all that is allowed: move parts of it to "$defs" or simplify it.',
    ),
    (
        lambda: tool(look, input_schema={"type": "object", "allOf": [{}] * 10_001}),
        "The input_schema of tests.primitives.wrong.look has 10002 subschemas. Allowed are "
        "10000: split the tool or simplify the schema.",
    ),
    (
        lambda: tool(look, input_schema={"type": "object", "properties": {"wort": {}}}),
        "tests.primitives.wrong.look has a property 'wort' and no parameter of that name. The "
        "properties of input_schema are the parameters of the function: give both the same names, or let"
        " the function take everything as one parameter, arguments: dict.",
    ),
    (
        lambda: tool(pair, input_schema=int),
        "tests.primitives.wrong.pair was given the input_schema <class 'int'> and takes one, "
        "other. A type describes the arguments as a whole: let the function take them as one parameter, "
        "def function(arguments, context).",
    ),
    (
        lambda: tool(look, input_schema=type),
        "tests.primitives.wrong.look was given input_schema=<class 'type'>, which describes no "
        "arguments (Cannot generate a JsonSchema for core_schema.IsInstanceSchema (<class 'type'>)). It "
        "is a JSON Schema, or a pydantic model, dataclass or TypedDict: write input_schema=OrderIn.",
    ),
    (
        lambda: Header("a b"),
        "Header was given 'a b'. A header's name is made of letters, digits and - _ . without spaces: "
        'write region: Annotated[str, Header("Region")].',
    ),
    (
        lambda: tool(
            look, input_schema={"type": "object", "properties": {"word": {"type": "string", "x-mcp-header": "a b"}}}
        ),
        "tests.primitives.wrong.look marks word with x-mcp-header 'a b'. A header's name is made"
        ' of letters, digits and - _ . without spaces: write region: Annotated[str, Header("Region")].',
    ),
    (
        lambda: tool(headed),
        "tests.primitives.wrong.headed marks number, which is of type 'number', with "
        "x-mcp-header. Allowed are string, integer and boolean: write region: Annotated[str, "
        'Header("Region")].',
    ),
    (
        lambda: tool(headed_secret),
        "tests.primitives.wrong.headed_secret marks word, which is a secret, with x-mcp-header. "
        "Proxies read and log headers: leave the mark out.",
    ),
    (
        lambda: tool(headed_twice),
        "tests.primitives.wrong.headed_twice marks one and other with the same x-mcp-header 'a'."
        " Every header belongs to one parameter: give them two names.",
    ),
    (
        lambda: tool(
            look,
            input_schema={
                "type": "object",
                "properties": {"word": {"type": "integer", "x-mcp-header": "A", "maximum": 2**60}},
            },
        ),
        "tests.primitives.wrong.look marks word with x-mcp-header and allows "
        "1152921504606846976. A number in a header stays within 2**53 - 1 on both sides: narrow the "
        "limits or leave the mark out.",
    ),
    (
        lambda: PerCallMethod(Owner, no_self, qualname="Owner.no_self", name="x", doc=None),
        "tests.primitives.wrong.Owner.no_self takes no self. It is called on an object of the call: write self first.",
    ),
    (
        lambda: register(5),
        "5 cannot be registered. Allowed are tools, prompts, resources and resource templates: write "
        "@register above a class, or @tool above a function.",
    ),
    (
        lambda: tool(class_method(look)),
        "@tool was put above @classmethod. It takes functions and bound methods: register the method "
        "from outside the class, as in tool(TheClass.the_method).",
    ),
    (
        lambda: tool(look, title=["Look"]),
        "tests.primitives.wrong.look was given title=['Look']. It is a text, translated or not: write "
        'title=_("Search tickets").',
    ),
    (
        lambda: tool(look, output_schema="object"),
        "The output_schema of tests.primitives.wrong.look is 'object'. A JSON Schema is a dict: write "
        '{"type": "object", "properties": {}}.',
    ),
    (
        lambda: tool(look, permission=dict.get),
        f"tests.primitives.wrong.look was given permission={dict.get!r}. It is a Django permission or a function of "
        'the context: write permission="shop.change_order" or permission=lambda context: context.user.is_staff.',
    ),
    (
        lambda: tool(unreadable),
        "tests.primitives.wrong.unreadable has no signature that Python could read. Clients are "
        "told about arguments by the signature: wrap it in a function written with def.",
    ),
    (
        lambda: tool(look, input_schema={"type": "object", "properties": {"word": {"items": {"x-mcp-header": "A"}}}}),
        "tests.primitives.wrong.look has x-mcp-header 'A' where clients do not look for it. It "
        "belongs on a property that is reached through properties alone, not through items, anyOf, if or"
        ' $ref: write region: Annotated[str, Header("Region")] as a parameter of the function itself.',
    ),
]


def refused(build):
    with pytest.raises(InvalidPrimitive) as caught:
        build()
    return caught.value


@pytest.mark.parametrize(("build", "message"), MISTAKES, ids=[str(number) for number in range(len(MISTAKES))])
def test_a_mistake_is_refused_with_the_way_out(build, message):
    """S29, S56, S62, S63, TOOL-06, JS-03, JS-06, MH-16, MH-37."""
    assert str(refused(build)) == message


# Reached only by what one version of Python or pydantic does; tests of their own hold these texts.
ELSEWHERE = (
    " returns a typing.TypedDict, which cannot be described before Python 3.12. Allowed is the one of "
    "typing_extensions: write from typing_extensions import TypedDict.",
    "). Annotate its parameters with types that pydantic can describe.",
)


def _sentences():
    """The longest fixed text of every refusal in the code."""
    for name in FILES:
        for node in ast.walk(ast.parse((PRIMITIVES / f"{name}.py").read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "InvalidPrimitive":
                texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
                yield max((text for text in texts if isinstance(text, str)), key=len)


def test_every_refusal_of_the_code_is_here():
    messages = [message for _, message in MISTAKES]
    found = list(_sentences())
    assert len(found) > 40
    assert [text for text in found if not any(text in message for message in (*messages, *ELSEWHERE))] == []
