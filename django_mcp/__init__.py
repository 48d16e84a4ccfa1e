"""Serve Model Context Protocol tools, prompts and resources from a Django site.

from django_mcp import tool

@tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b
"""

from django_mcp.completers import QuerySetCompleter
from django_mcp.events.publishing import (
    anotify_prompts_changed,
    anotify_resource_updated,
    anotify_resources_changed,
    anotify_tools_changed,
    notify_prompts_changed,
    notify_resource_updated,
    notify_resources_changed,
    notify_tools_changed,
)
from django_mcp.events.watching import anotify_objects_updated, notify_objects_updated
from django_mcp.exceptions import (
    AlreadyRegistered,
    ClientError,
    InvalidAnswer,
    InvalidArguments,
    InvalidPrimitive,
    NotRegistered,
    RegistrationError,
    ResourceNotFound,
    ToolError,
)
from django_mcp.primitives.base import Icon
from django_mcp.primitives.completion import CompletionResult
from django_mcp.primitives.forms import choice, choices
from django_mcp.primitives.headers import Header
from django_mcp.primitives.lists import ResourceRows
from django_mcp.primitives.messages import PromptResult
from django_mcp.primitives.questions import (
    Elicitation,
    ElicitResult,
    InputRequiredResult,
    Root,
    RootsListing,
    URLElicitation,
)
from django_mcp.primitives.sampling import SampleResult, Sampling
from django_mcp.primitives.tools import ToolAnnotations
from django_mcp.protocol.content import (
    Annotations,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    PromptMessage,
    ResourceContents,
    ResourceLink,
    TextContent,
    ToolResult,
)
from django_mcp.protocol.errors import ProtocolError
from django_mcp.protocol.results import CacheHint
from django_mcp.server.classes import Prompt, Resource, ResourceTemplate, Tool, Toolset
from django_mcp.server.context import Context
from django_mcp.servers import MCPServer, all_servers, default_server, get_server

__all__ = [
    "AlreadyRegistered",
    "Annotations",
    "AudioContent",
    "CacheHint",
    "ClientError",
    "CompletionResult",
    "Context",
    "ElicitResult",
    "Elicitation",
    "EmbeddedResource",
    "Header",
    "Icon",
    "ImageContent",
    "InputRequiredResult",
    "InvalidAnswer",
    "InvalidArguments",
    "InvalidPrimitive",
    "MCPServer",
    "NotRegistered",
    "Prompt",
    "PromptMessage",
    "PromptResult",
    "ProtocolError",
    "QuerySetCompleter",
    "RegistrationError",
    "Resource",
    "ResourceContents",
    "ResourceLink",
    "ResourceNotFound",
    "ResourceRows",
    "ResourceTemplate",
    "Root",
    "RootsListing",
    "SampleResult",
    "Sampling",
    "TextContent",
    "Tool",
    "ToolAnnotations",
    "ToolError",
    "ToolResult",
    "Toolset",
    "URLElicitation",
    "all_servers",
    "anotify_objects_updated",
    "anotify_prompts_changed",
    "anotify_resource_updated",
    "anotify_resources_changed",
    "anotify_tools_changed",
    "choice",
    "choices",
    "default_server",
    "get_server",
    "notify_objects_updated",
    "notify_prompts_changed",
    "notify_resource_updated",
    "notify_resources_changed",
    "notify_tools_changed",
    "prompt",
    "register",
    "resource",
    "resource_template",
    "tool",
]

tool = default_server.tool
prompt = default_server.prompt
resource = default_server.resource
resource_template = default_server.resource_template
register = default_server.register
