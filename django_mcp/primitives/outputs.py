"""What a tool returned, as content for the model and as a value for programs."""

from __future__ import annotations

import dataclasses
import inspect
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Union, get_args

from pydantic import TypeAdapter

from django_mcp.exceptions import InvalidOutput, InvalidPrimitive
from django_mcp.primitives.data import contents_block
from django_mcp.primitives.declared import DeclaredFields
from django_mcp.primitives.generation import UNUSABLE, generate_schema
from django_mcp.primitives.jsonable import JSONDefault, resolve_texts, to_jsonable
from django_mcp.primitives.questions import InputRequiredResult
from django_mcp.primitives.schema import CompiledSchema
from django_mcp.primitives.signature import is_annotation, members, mentions
from django_mcp.primitives.walk import walk
from django_mcp.protocol.content import Content, ResourceContents, TextContent, ToolResult
from django_mcp.protocol.errors import ABSENT
from django_mcp.protocol.jsonrpc import encode
from django_mcp.protocol.versions import Revision

CONTENT = get_args(Content)
BYTES = (bytes, bytearray, memoryview)
# What cannot be content, found without looking at each value.
PLAIN = {str, int, float, bool, type(None), dict, list, tuple}

# What is content by itself for the site, such as a file, given the value and the context of the call.
ToContent = Callable[[Any, Any], Content | None]
# Annotations that promise nothing about a structured value.
UNSTRUCTURED = (Any, object, str, type(None), inspect.Parameter.empty)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WrappedResult(ToolResult):
    """The result of a tool whose output schema has another root than an object.

    Revisions that know objects alone get schema and value wrapped, and the value even where it
    happens to be an object (TOOL-14).
    """

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        # super() without arguments fails in a class that dataclass(slots=True) has made anew.
        wire = ToolResult.to_wire(self, revision)
        if isinstance(self.structured, dict) and "structuredContent" in wire:
            value = self.structured if revision.has_any_structured else {"result": self.structured}
            wire["structuredContent"] = value
        return wire


def no_content(value: Any, context: Any) -> Content | None:
    """For whom nothing is content by itself."""
    return None


@dataclasses.dataclass(frozen=True, slots=True)
class Promise:
    """An output schema and what it takes to keep it. Tools that return the same type share one."""

    schema: dict[str, Any]
    compiled: CompiledSchema
    fields: DeclaredFields | None

    @classmethod
    def of(cls, schema: Mapping[str, Any], origin: str) -> Promise:
        compiled = CompiledSchema(schema, option="output_schema", origin=origin)
        return cls(dict(schema), compiled, DeclaredFields.of(schema))


class Output:
    """How the return value of one tool is described, converted and checked."""

    __slots__ = ("_compiled", "_fields", "_gives_content", "_is_wrapped", "_mime_type", "_name", "schema")

    def __init__(
        self,
        promise: Promise | None,
        *,
        origin: str,
        gives_content: bool = False,
        mime_type: str | None = None,
    ) -> None:
        self.schema = None if promise is None else promise.schema
        self._compiled = None if promise is None else promise.compiled
        self._fields = None if promise is None else promise.fields
        self._gives_content = gives_content
        self._mime_type = mime_type
        self._name = origin.rpartition(".")[2]
        self._is_wrapped = self.schema is not None and self.schema.get("type") != "object"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Output) and self.schema == other.schema and self._mime_type == other._mime_type

    __hash__ = None  # type: ignore[assignment]  # what is equal by a dict has no hash

    def wire_schema(self, revision: Revision) -> dict[str, Any] | None:
        """The schema as this revision may see it (TOOL-10, TOOL-14)."""
        if self.schema is None or not revision.has_output_schema:
            return None
        schema: dict[str, Any] = resolve_texts(self.schema)
        return _wrapped(schema) if self._is_wrapped and not revision.has_any_structured else schema

    def to_result(
        self, value: Any, default: JSONDefault, to_content: ToContent = no_content, context: Any = None
    ) -> ToolResult:
        """The result to send, or ``InvalidOutput`` for what cannot or must not be sent."""
        if isinstance(value, ToolResult):
            return self._completed(value, default, to_content, context)
        if isinstance(value, Iterator) and not isinstance(value, io.IOBase):  # a file is more than its lines
            value = list(value)
        blocks = self._read_blocks(value, to_content, context)
        if blocks is not None:
            return self._completed(ToolResult(content=blocks), default, to_content, context)
        if self.schema is None and value is None:
            return ToolResult()
        plain = self._to_plain(value, default)
        if self.schema is None and isinstance(plain, str):
            return ToolResult(content=(TextContent(plain),))
        return self._checked(ToolResult(structured=plain))

    def _to_plain(self, value: Any, default: JSONDefault) -> Any:
        declared = value if self._fields is None else self._fields.read(value, default)
        return to_jsonable(declared, default)

    def _read_blocks(self, value: Any, to_content: ToContent, context: Any) -> tuple[Any, ...] | None:
        if isinstance(value, list | tuple):
            if self._gives_content and not value:
                return ()
            if PLAIN.issuperset(map(type, value)):
                return None
            blocks = [self._to_block(item, to_content, context) for item in value]
            return tuple(map(_read_block, blocks)) if any(isinstance(block, CONTENT) for block in blocks) else None
        if type(value) in PLAIN:
            return None
        block = self._to_block(value, to_content, context)
        return (block,) if isinstance(block, CONTENT) else None

    def _to_block(self, value: Any, to_content: ToContent, context: Any) -> Any:
        """The value as content, where it is some; else the value itself."""
        if isinstance(value, CONTENT):
            return value
        if self._mime_type is not None and isinstance(value, BYTES):
            contents = ResourceContents(uri="", mime_type=self._mime_type, blob=bytes(value))
            return contents_block(contents, self._name)
        block = to_content(value, context)
        return value if block is None else block

    def _completed(self, result: ToolResult, default: JSONDefault, to_content: ToContent, context: Any) -> ToolResult:
        """A result the author wrote, brought to what the wire can carry."""
        blocks: Any = result.content
        if not isinstance(blocks, list | tuple):
            blocks = (blocks,)
        structured = result.structured
        result = dataclasses.replace(
            result,
            content=tuple(_read_block(self._to_block(block, to_content, context)) for block in blocks),
            structured=structured if structured is ABSENT else self._to_plain(structured, default),
            meta=None if result.meta is None else to_jsonable(result.meta, default),
        )
        return self._checked(result)

    def _checked(self, result: ToolResult) -> ToolResult:
        if self._compiled is not None and not result.is_error:
            self._check(result.structured, self._compiled)
        content = result.content
        if result.structured is ABSENT:
            return result
        if not content:
            content = (TextContent(_as_text(result.structured)),)
        kind = WrappedResult if self._is_wrapped else ToolResult
        return kind(
            content=content,
            structured=result.structured,
            is_error=result.is_error,
            meta=result.meta,
        )

    def _check(self, value: Any, compiled: CompiledSchema) -> None:
        """Structured results fit the schema; those that report an error need not (TOOL-11, BL-063)."""
        if value is ABSENT:
            raise InvalidOutput(
                "The tool declares an output schema and returned content alone. Return the value itself, "
                "or ToolResult(content=..., structured=value)."
            )
        if faults := compiled.faults(value, with_values=False):
            raise InvalidOutput(f"The result does not fit the output schema: {'; '.join(faults)}.")


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode()


def _read_block(item: Any) -> Any:
    if isinstance(item, CONTENT):
        return item
    if isinstance(item, str):
        return TextContent(str(item))
    raise InvalidOutput(
        f"A value of type {type(item).__name__} was returned among content. Content is made of texts and "
        f"{', '.join(kind.__name__ for kind in CONTENT)} objects."
    )


def read_output(returns: Any, schema: Any, mime_type: str | None, origin: str) -> Output:
    """The output the author declared, as a schema or a type, or else what the return annotation says."""
    if schema is not None and not is_annotation(schema):
        return Output(Promise.of(schema, origin), origin=origin, mime_type=mime_type)
    annotation = _without_questions(returns) if schema is None else schema
    if mentions(annotation, BYTES) and mime_type is None:
        raise InvalidPrimitive(
            f"{origin} returns bytes and does not say what they are. Clients need a media type: write "
            '@tool(mime_type="image/png"), or return ImageContent, AudioContent or ResourceContents.'
        )
    if mentions(annotation, (*CONTENT, ToolResult, *BYTES)):
        return Output(None, origin=origin, gives_content=True, mime_type=mime_type)
    if schema is None and all(choice in UNSTRUCTURED for choice in members(annotation)):
        return Output(None, origin=origin, mime_type=mime_type)
    made = _read_promise(annotation, origin)
    if made is None and schema is not None:
        raise InvalidPrimitive(
            f"{origin} was given output_schema={schema!r}, which describes nothing. It is a JSON Schema or a type that "
            "pydantic can describe: write output_schema=list[TicketOut]."
        )
    return Output(made, origin=origin, mime_type=mime_type)


def _without_questions(annotation: Any) -> Any:
    """A function that builds its questions by hand annotates them, but they are no result."""
    kinds = [kind for kind in members(annotation) if kind is not InputRequiredResult]
    if len(kinds) == len(list(members(annotation))):
        return annotation
    return Union[tuple(kinds)] if kinds else Any  # noqa: UP007 - the members are known at run time only


def _read_promise(annotation: Any, origin: str) -> Promise | None:
    """What the annotation says, or ``None`` where it says nothing."""
    # Literal["a", "b"] equals Literal["b", "a"], and each is to be published as it was written.
    key = (annotation, repr(annotation))
    try:
        known = _PROMISES.get(key)
    except TypeError:  # no hash, as Annotated[..., Field(...)]
        made = _read_schema(annotation, origin)
        return None if made is None else Promise.of(made, origin)
    if known is None and (made := _read_schema(annotation, origin)) is not None:
        known = _PROMISES[key] = Promise.of(made, origin)
    return known


# By annotation. There are as many as a site has written, and most tools return one of a few types.
_PROMISES: dict[Any, Promise] = {}


def _read_schema(annotation: Any, origin: str) -> dict[str, Any] | None:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        name = getattr(annotation, "__name__", "")
        schema = generate_schema(adapter, "serialization", name=name)
    except UNUSABLE as error:
        if getattr(error, "code", None) == "typed-dict-version":
            raise InvalidPrimitive(
                f"{origin} returns a typing.TypedDict, which cannot be described before Python 3.12. "
                "Allowed is the one of typing_extensions: write from typing_extensions import TypedDict."
            ) from None
        # A model or a queryset: the hook of the site converts it, no schema describes it.
        return None
    return schema or None


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """``{"result": ...}``, with the definitions moved to where their references now lead."""
    for _, subschema in walk(schema):
        reference = str(subschema.get("$ref", ""))
        if reference == "#" or reference.startswith("#/"):
            subschema["$ref"] = _moved(reference)
    moved: dict[str, Any] = {key: schema.pop(key) for key in ("$schema", "$defs", "definitions") if key in schema}
    return {**moved, "type": "object", "properties": {"result": schema}, "required": ["result"]}


def _moved(reference: str) -> str:
    if reference.startswith(("#/$defs/", "#/definitions/")):
        return reference
    return reference.replace("#", "#/properties/result", 1)
