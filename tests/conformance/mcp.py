"""The fixture contract of the conformance suites: what they call by name, with the results they expect.

The order matters: one scenario calls the first tool without arguments, another reads the first resource.
"""

import asyncio
import json
import time
from typing import Annotated, Any

from django_mcp import (
    AudioContent,
    Context,
    EmbeddedResource,
    Header,
    ImageContent,
    PromptMessage,
    ResourceContents,
    TextContent,
    ToolError,
    prompt,
    resource,
    resource_template,
    tool,
)

from .media import PNG, WAV

SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@tool
async def test_simple_text() -> str:
    """Answers one text."""
    return "This is a simple text response for testing."


@tool
def test_image_content() -> ImageContent:
    """Answers one picture."""
    return ImageContent(data=PNG, mime_type="image/png")


@tool
def test_audio_content() -> AudioContent:
    """Answers one sound."""
    return AudioContent(data=WAV, mime_type="audio/wav")


@tool
def test_embedded_resource() -> EmbeddedResource:
    """Answers one embedded resource."""
    return EmbeddedResource(
        resource=ResourceContents(
            uri="test://embedded-resource",
            mime_type="text/plain",
            text="This is an embedded resource content.",
        )
    )


@tool
def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """Answers a text, a picture and an embedded resource."""
    return [
        TextContent(text="Multiple content types test:"),
        ImageContent(data=PNG, mime_type="image/png"),
        EmbeddedResource(
            resource=ResourceContents(
                uri="test://mixed-content-resource",
                mime_type="application/json",
                text='{"test":"data","value":123}',
            )
        ),
    ]


@tool
async def test_tool_with_logging(context: Context) -> str:
    """Logs three messages."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.alog("info", text)
        await asyncio.sleep(0.05)
    return "logged"


@tool
def test_tool_with_progress(context: Context) -> str:
    """Reports three values."""
    for value in (0, 50, 100):
        context.report_progress(value, 100)
        time.sleep(0.05)
    return "reported"


@tool
def test_logging_tool(context: Context) -> str:
    """Logs one message."""
    context.log("info", "logged")
    return "logged"


@tool
async def test_reconnection(context: Context) -> str:
    """Sends its client away before it is done."""
    await context.aclose_sse_stream()
    await asyncio.sleep(0.2)
    return "Reconnection test completed"


@tool
def test_error_handling() -> str:
    """Fails."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool(input_schema=SCHEMA_2020_12)
def json_schema_2020_12_tool(arguments: dict[str, Any]) -> str:
    """Takes a schema that uses most of the 2020-12 dialect."""
    return json.dumps(arguments, sort_keys=True)


@tool
def test_x_mcp_header(region: Annotated[str, Header("Region")] = "") -> str:
    """Answers the region, which the client repeats in a header."""
    return f"region={region}"


@tool
async def test_missing_capability(context: Context) -> str:
    """Works only for a client that can sample."""
    context.require_capability({"sampling": {}})
    return "The client can sample."


@resource("test://static-text", name="Static text", mime_type="text/plain")
async def static_text() -> str:
    """A text that never changes."""
    return "This is the content of the static text resource."


@resource("test://static-binary", name="Static picture", mime_type="image/png")
def static_binary() -> bytes:
    """A picture that never changes."""
    return PNG


@resource("test://watched-resource", name="Watched text", mime_type="text/plain")
def watched_resource() -> str:
    """A text to subscribe to."""
    return "Watched resource content"


@tool
def test_streaming_elicitation() -> str:
    """Answers at once, without a request of its own on the way."""
    return "Nothing was asked"


@tool
def test_trigger_tool_change(context: Context) -> str:
    """Says that the list of tools has changed."""
    context.notify_tools_changed()
    return "Tool list change announced"


@tool
def test_trigger_prompt_change(context: Context) -> str:
    """Says that the list of prompts has changed."""
    context.notify_prompts_changed()
    return "Prompt list change announced"


@tool
def test_trigger_resource_update(context: Context, uri: str = "test://watched-resource") -> str:
    """Says that a resource was updated."""
    context.notify_resource_updated(uri)
    return "Update announced"


@resource_template(
    "test://template/{id}/data",
    name="Data by id",
    mime_type="application/json",
    complete={"id": ["1", "12", "123", "7"]},
)
def template_data(id: str) -> str:
    """The data of one id."""
    data = {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}
    return json.dumps(data, separators=(",", ":"))


@prompt
def test_simple_prompt() -> str:
    """One fixed message."""
    return "This is a simple prompt for testing."


@prompt(complete={"arg1": ["paris", "park", "party", "london"]})
async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """One message made of two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


# The contract names the argument in camel case.
@prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[PromptMessage]:
    """A message that embeds a resource, and what to do with it."""
    embedded = EmbeddedResource(
        resource=ResourceContents(
            uri=resourceUri,
            mime_type="text/plain",
            text="Embedded resource content for testing.",
        )
    )
    return [_from_user(embedded), _from_user(_text("Please process the embedded resource above."))]


@prompt
def test_prompt_with_image() -> list[PromptMessage]:
    """A picture, and what to do with it."""
    picture = ImageContent(data=PNG, mime_type="image/png")
    return [_from_user(picture), _from_user(_text("Please analyze the image above."))]


def _text(text: str) -> TextContent:
    return TextContent(text=text)


def _from_user(content: TextContent | ImageContent | EmbeddedResource) -> PromptMessage:
    return PromptMessage(role="user", content=content)


# Last, since the order of the tools matters.
from . import asking as asking  # noqa: E402
from . import breaking as breaking  # noqa: E402
