"""``completion/complete``."""

from __future__ import annotations

from typing import Any

from django_mcp.primitives.completion import CompletionResult
from django_mcp.primitives.prompts import PromptDefinition
from django_mcp.primitives.resources import ResourceDefinition, ResourceTemplateDefinition
from django_mcp.protocol.errors import INTERNAL_ERROR, ProtocolError, invalid_params
from django_mcp.server.call import Call
from django_mcp.server.catalogue import find_permitted, open_context
from django_mcp.server.context import Context
from django_mcp.server.failures import reported
from django_mcp.server.params import read_object

NOTHING = CompletionResult(values=(), total=0)


async def completion_complete(call: Call) -> dict[str, Any]:
    """Suggest values for one argument of a prompt or one variable of a resource template (CMP-02..06)."""
    name, value = _read_argument(call)
    _check_rate(call)
    context = await open_context(call)
    target = await _find_target(call, context)
    if isinstance(target, ResourceDefinition):
        return NOTHING.to_wire()
    if name not in target.argument_names:
        raise invalid_params(f"argument.name {name!r} is no argument of {target.name}")
    completer = target.complete.get(name)
    if completer is None:
        return NOTHING.to_wire()
    services = call.server.services
    with reported(services.errors, f"Completer of {target.name}.{name}"):
        invocation = completer.prepare(value, _read_context(call), context, services.jsonable)
        result: CompletionResult = await services.runner.run(invocation, call.locale, context)
    return result.to_wire()


def _check_rate(call: Call) -> None:
    """Clients ask at every key (CMP-05, CMP-07)."""
    rate = call.server.completion_rate()
    if rate is not None and not call.server.completions.allows(call.caller.principal, rate):
        raise ProtocolError(INTERNAL_ERROR, f"Too many completions: at most {rate} a second. Wait a moment.")


def _read_argument(call: Call) -> tuple[str, str]:
    argument = read_object(call, "argument")
    name, value = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(value, str):
        raise invalid_params("argument needs a name and a value, both strings")
    return name, value


def _read_context(call: Call) -> dict[str, str]:
    """The values chosen before (CMP-03), which older revisions do not send."""
    chosen = call.params.get("context")
    if chosen is None:
        return {}
    arguments = chosen.get("arguments", {}) if isinstance(chosen, dict) else None
    if not isinstance(arguments, dict):
        raise invalid_params("context.arguments must be an object")
    return {key: value for key, value in arguments.items() if isinstance(value, str)}


async def _find_target(
    call: Call, context: Context
) -> PromptDefinition | ResourceDefinition | ResourceTemplateDefinition:
    reference = read_object(call, "ref")
    kind = reference.get("type")
    if kind == "ref/prompt":
        return await _find_prompt(call, reference.get("name"), context)
    if kind == "ref/resource":
        return await _find_resource(call, reference.get("uri"), context)
    raise invalid_params("ref.type must be ref/prompt or ref/resource")


async def _find_prompt(call: Call, name: Any, context: Context) -> PromptDefinition:
    prompt = call.server.registry.find_prompt(name) if isinstance(name, str) else None
    prompt = await find_permitted(call, prompt, context)
    if prompt is None:
        raise invalid_params(f"Unknown prompt: {name}")
    return prompt


async def _find_resource(call: Call, uri: Any, context: Context) -> ResourceDefinition | ResourceTemplateDefinition:
    """The reference names a template by its text, or a resource that the template would serve."""
    registry = call.server.registry
    target: ResourceDefinition | ResourceTemplateDefinition | None = None
    if isinstance(uri, str):
        target = registry.templates.get(uri)
        if target is None and (match := registry.find_resource(uri)):
            target = match[0]
    if target is None or await find_permitted(call, target, context) is None:
        raise invalid_params(f"Unknown resource: {uri}")
    return target
