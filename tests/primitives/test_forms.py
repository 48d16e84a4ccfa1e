"""Forms: what a client is shown, and how its answer is read."""

import datetime
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from django import forms
from django.db.models import IntegerChoices, TextChoices
from pydantic import BaseModel, Field, SecretStr
from typing_extensions import TypedDict

from django_mcp import choice, choices
from django_mcp.exceptions import InvalidAnswer, InvalidPrimitive
from django_mcp.primitives.forms import read_form
from django_mcp.primitives.questions import Elicitation, InputRequiredResult
from django_mcp.protocol.versions import Revision
from django_mcp.questions import read_any_form

NOW, JUNE = Revision.V2025_11_25, Revision.V2025_06_18


class Size(TextChoices):
    SMALL = "s", "Small"
    LARGE = "l", "Large"


class Plain(Enum):
    ONE = "one"
    TWO = "two"


class Number(IntegerChoices):
    ONE = 1, "One"


class Order(BaseModel):
    """An order."""

    name: str = Field(min_length=1, max_length=9, pattern="^[A-Z]", title="Your name")
    age: Annotated[int, Field(ge=0)] = 30
    score: float | None = None
    day: datetime.date | None = None
    size: Size = Size.SMALL
    plain: Plain | None = None
    kind: Literal["a", "b"] = "a"
    only: Literal["x"] = "x"
    sizes: list[Size] = []
    kinds: list[Literal["a", "b"]] = []
    sure: bool = True
    email: str = Field(default="", json_schema_extra={"format": "email"})
    at: datetime.time | None = None


@dataclass
class Pair:
    left: int
    right: str = "r"


class Optional(BaseModel):
    kind: Literal["a"] | None = "a"
    text: str | None = "x"
    either: str | None = Field(default=..., validate_default=True)


class Loose(TypedDict):
    left: int


def test_a_model_becomes_a_flat_form():
    """ELI-01, ELI-03, ELI-04, S258 (SEP-1330), S259 (SEP-1034)."""
    wire = read_form(Order).to_wire(NOW)
    titled = [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]
    assert wire == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 9, "title": "Your name"},
            "age": {"type": "integer", "minimum": 0, "default": 30},
            "score": {"type": "number"},
            "day": {"type": "string", "format": "date"},
            "size": {"type": "string", "oneOf": titled, "title": "Size", "default": "s"},
            "plain": {"type": "string", "enum": ["one", "two"], "title": "Plain"},
            "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "only": {"type": "string", "enum": ["x"], "default": "x"},
            "sizes": {"type": "array", "items": {"anyOf": titled}, "default": []},
            "kinds": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "default": []},
            "sure": {"type": "boolean", "default": True},
            "email": {"type": "string", "format": "email", "default": ""},
            "at": {"type": "string"},
        },
        "required": ["name"],
    }


def test_the_answer_to_a_model_is_one():
    order = read_form(Order).read({"name": "Ann", "age": "31", "day": "2026-07-28", "sizes": ["l"], "score": 1})
    assert (order.name, order.age, order.day, order.sizes) == ("Ann", 31, datetime.date(2026, 7, 28), [Size.LARGE])
    assert read_form(Pair).read({"left": 1}) == Pair(1)
    assert read_form(Loose).read({"left": "1"}) == {"left": 1}
    assert read_form(Order) is read_form(Order)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ({}, "name"),
        ({"name": "ann"}, "name"),
        ({"name": "Ann", "age": -1}, "age"),
        ({"name": "Ann", "size": "x"}, "size"),
    ],
    ids=range(4),
)
def test_an_answer_that_does_not_fit_names_the_field(content, hint):
    """ELI-16."""
    with pytest.raises(InvalidAnswer, match=hint):
        read_form(Order).read(content)


def test_a_default_that_is_none_is_left_out():
    assert read_form(Optional).to_wire(NOW) == {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["a"], "default": "a"},
            "text": {"type": "string", "default": "x"},
            "either": {"type": "string"},
        },
        "required": ["either"],
    }


def test_a_schema_of_one_s_own_is_published_as_it_is():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "size": choice({"s": "Small"}, default="s"),
            "kind": choice(["a", "b"], title="Kind"),
            "sizes": choices({"s": "Small"}, maxItems=1),
            "kinds": choices(["a", "b"]),
            "code": {"type": "string", "pattern": "^x"},
        },
    }
    form = read_form(schema)
    assert form.to_wire(NOW) == schema
    assert form.read({"size": "s", "kinds": ["a"]}) == {"size": "s", "kinds": ["a"]}
    with pytest.raises(InvalidAnswer, match="size"):
        form.read({"size": "x"})


def test_the_older_revision_gets_what_it_knows():
    """ELI-04: enumNames, and defaults of booleans alone."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "size": choice({"s": "Small"}, default="s"),
            "kind": choice(["a"]),
            "sure": {"type": "boolean", "default": True},
        },
    }
    assert read_form(schema).to_wire(JUNE) == {
        "type": "object",
        "properties": {
            "size": {"type": "string", "enum": ["s"], "enumNames": ["Small"]},
            "kind": {"type": "string", "enum": ["a"]},
            "sure": {"type": "boolean", "default": True},
        },
    }
    with pytest.raises(InvalidPrimitive, match="several of its choices"):
        read_form({"type": "object", "properties": {"sizes": choices(["s"])}}).to_wire(JUNE)


class Nested(BaseModel):
    order: Order


class Numbers(BaseModel):
    numbers: list[int]


class Counted(BaseModel):
    number: Number


class Thing:
    pass


class Opaque(BaseModel):
    model_config = {"arbitrary_types_allowed": True}
    thing: Thing


class Free(BaseModel):
    name: str = ""


@pytest.mark.parametrize(
    "source",
    [
        Nested,
        Numbers,
        Counted,
        Opaque,
        {"type": "string"},
        {"type": "object"},
        {"type": "object", "properties": {"x": {"type": "object"}}},
        {"type": "object", "properties": {"x": 7}},
        {"type": "object", "properties": {"x": {"type": "string", "if": {}}}},
        7,
        str,
    ],
    ids=range(11),
)
def test_what_no_client_can_show_is_refused(source):
    """ELI-03."""
    with pytest.raises(InvalidPrimitive):
        read_form(source)


class Guest(forms.Form):
    name = forms.CharField(min_length=1, max_length=9, help_text="As on the card")
    email = forms.EmailField(required=False)
    site = forms.URLField(required=False, assume_scheme="https")
    age = forms.IntegerField(min_value=0, initial=30)
    score = forms.FloatField(max_value=9.5, required=False)
    price = forms.DecimalField(required=False)
    sure = forms.BooleanField(required=False, label="Sure?")
    size = forms.ChoiceField(choices=[("", "---"), *Size.choices])
    sizes = forms.MultipleChoiceField(choices=Size.choices, required=False)
    day = forms.DateField(required=False)
    at = forms.DateTimeField(required=False, initial=datetime.datetime.now)


class Upload(forms.Form):
    file = forms.FileField()


def test_a_django_form_asks_for_its_fields():
    schema: dict[str, Any] = read_any_form(Guest).to_wire(NOW)
    titled = [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]
    assert schema["required"] == ["name", "age", "size"]
    assert schema["properties"] == {
        "name": {"type": "string", "minLength": 1, "maxLength": 9, "title": "Name", "description": "As on the card"},
        "email": {"type": "string", "format": "email", "maxLength": 320, "title": "Email"},
        "site": {"type": "string", "format": "uri", "title": "Site"},
        "age": {"type": "integer", "minimum": 0, "title": "Age", "default": 30},
        "score": {"type": "number", "maximum": 9.5, "title": "Score"},
        "price": {"type": "number", "title": "Price"},
        "sure": {"type": "boolean", "title": "Sure?"},
        "size": {"type": "string", "oneOf": titled, "title": "Size"},
        "sizes": {"type": "array", "items": {"anyOf": titled}, "title": "Sizes"},
        "day": {"type": "string", "format": "date", "title": "Day"},
        "at": {"type": "string", "format": "date-time", "title": "At"},
    }
    form = read_any_form(Guest)
    cleaned = form.read({"name": "Ann", "age": 7, "size": "l", "sizes": ["s"], "day": "2026-07-28"})
    assert (cleaned["age"], cleaned["sizes"], cleaned["day"]) == (7, ["s"], datetime.date(2026, 7, 28))
    with pytest.raises(InvalidAnswer, match=r"age: .*size: "):
        form.read({"name": "Ann", "age": "many"})
    assert read_any_form(Pair).read({"left": 1}) == Pair(1)


def test_a_field_that_no_client_has_is_refused():
    with pytest.raises(InvalidPrimitive, match="FileField"):
        read_any_form(Upload)


def test_a_form_without_required_fields_says_nothing_of_them():
    class FreeForm(forms.Form):
        name = forms.CharField(required=False)

    assert "required" not in read_any_form(FreeForm).to_wire(NOW)
    assert "required" not in read_form(Free).to_wire(NOW)


def test_a_result_by_hand_asks_for_something():
    """MRTR-03."""
    with pytest.raises(InvalidPrimitive, match="questions, a state or both"):
        InputRequiredResult()
    with pytest.raises(InvalidPrimitive, match="method 'ping'"):
        InputRequiredResult({"a": {"method": "ping"}})
    with pytest.raises(InvalidPrimitive, match="The question a is 'roots/list'"):
        InputRequiredResult({"a": "roots/list"})  # type: ignore[dict-item]  # as authors may
    with pytest.raises(InvalidPrimitive, match="The question a has the params None"):
        InputRequiredResult({"a": {"method": "roots/list", "params": None}})


def test_what_is_read_by_hand_cannot_count_once():
    """MRTR-08."""
    with pytest.raises(InvalidPrimitive, match=r"The question a has once=True.*context.elicit\(\)"):
        InputRequiredResult({"a": Elicitation("Really?", Free, once=True)})


class Login(BaseModel):
    password: SecretStr | None = None


class LoginForm(forms.Form):
    password = forms.CharField(widget=forms.PasswordInput)


@pytest.mark.parametrize(
    "form",
    [
        Login,
        LoginForm,
        {"type": "object", "properties": {"password": {"type": "string", "format": "password"}}},
        {"type": "object", "properties": {"password": {"type": "string", "writeOnly": True}}},
    ],
)
def test_secrets_are_not_asked_by_form(form):
    """ELI-10: a page of the site is the place for them."""
    with pytest.raises(InvalidPrimitive, match=r"The form's field password is a secret.*context\.elicit_url\(\)"):
        read_any_form(form)
