"""Values of the user's types, from JSON and to JSON.

msgspec reads and writes what it knows: dataclasses, its own Structs, attrs, enums, dates, containers and
`Annotated` constraints of all of these. Pydantic's models are read and written by themselves, wherever they
stand in the others; pydantic is never imported here, because a program that uses its models has done so. What
a payload says never names a type: types come from annotations alone.
"""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from collections.abc import Callable
from datetime import date, datetime, time
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec

from fencepost.model.secret import SECRET_OR_NULL, Secret

SecretOf = Callable[[object], Secret]

_KINDS: dict[Any, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    tuple: "array",
    set: "array",
    frozenset: "array",
    dict: "object",
    datetime: "string",
    date: "string",
    time: "string",
    UUID: "string",
    Secret: "secret",
}
_FOREIGN = ("pydantic", "pydantic_core", "annotated_types")


class Unreadable(ValueError):
    """A value that does not fit its annotation, or an annotation that no JSON fits."""


def from_json(value: Any, wanted: Any, secret_of: SecretOf) -> Any:
    """The value in the wanted type; raises `Unreadable`, in one line that shows nothing of the value."""

    def decode(kind: type, given: Any) -> Any:
        return _decoded(kind, given, secret_of)

    try:
        if _is_annotated_for_pydantic(wanted):
            return _by_pydantic(wanted, value)
        return msgspec.convert(value, wanted, dec_hook=decode)
    except msgspec.ValidationError as error:
        raise Unreadable(str(error)) from None
    except TypeError as error:
        if _mentions_a_model(wanted):
            return _by_pydantic(wanted, value)
        raise Unreadable(f"its annotation cannot be read from JSON: {error}") from None


def to_json(value: Any) -> Any:
    """The value in plain JSON types; raises `TypeError` or `ValueError` where there is no such form."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_encoded)


def kind_of(hint: Any) -> str:
    """The JSON type of all values that fit an annotation, for those who do not have the types; or "any"."""
    if typing.get_origin(hint) is typing.Annotated:
        return kind_of(typing.get_args(hint)[0])
    plain = typing.get_origin(hint) or hint
    if plain in _KINDS:
        return _KINDS[plain]
    if set(typing.get_args(hint)) == {Secret, type(None)}:
        return SECRET_OR_NULL
    if not isinstance(plain, type):
        return "any"
    if issubclass(plain, StrEnum):
        return "string"
    if dataclasses.is_dataclass(plain) or typing.is_typeddict(plain):
        return "object"
    if issubclass(plain, msgspec.Struct):
        return "any" if plain.__struct_config__.array_like else "object"
    fields = getattr(plain, "model_fields", {})
    return "object" if _is_model(plain) and "root" not in fields else "any"


def _decoded(kind: type, given: Any, secret_of: SecretOf) -> Any:
    if kind is Secret:
        return secret_of(given)
    if _is_model(kind):
        return _by_pydantic(kind, given)
    if isinstance(given, kind):
        return given
    raise Unreadable(f"a {kind.__name__} cannot be made from JSON")


def _encoded(value: Any) -> Any:
    if _is_model(type(value)):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, Secret):
        raise TypeError("a secret is passed on by its reference, never by its value")
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


def _by_pydantic(wanted: Any, given: Any) -> Any:
    """By pydantic's own rules for JSON, in which dates and the like are texts."""
    pydantic = sys.modules["pydantic"]
    try:
        return pydantic.TypeAdapter(wanted).validate_json(msgspec.json.encode(given))
    except pydantic.ValidationError as error:
        raise Unreadable(_told(error)) from None


def _told(error: Any) -> str:
    """What pydantic complains about, in one line and without the values."""
    complaints = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{_place(one['loc'])}{one['msg']}" for one in complaints[:5])


def _place(location: tuple[str | int, ...]) -> str:
    return f"{'.'.join(map(str, location))}: " if location else ""


def _is_model(kind: Any) -> bool:
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def _mentions_a_model(hint: Any) -> bool:
    """Whether one of pydantic's models stands anywhere in an annotation."""
    return _is_model(hint) or any(map(_mentions_a_model, _parts(hint)))


def _is_annotated_for_pydantic(hint: Any) -> bool:
    """Whether an annotation holds a constraint that only pydantic knows."""
    if "pydantic" not in sys.modules:
        return False
    marks = getattr(hint, "__metadata__", ())
    foreign = any(type(one).__module__.partition(".")[0] in _FOREIGN for one in marks)
    return foreign or any(map(_is_annotated_for_pydantic, _parts(hint)))


def _parts(hint: Any) -> tuple[Any, ...]:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is not None:
        return tuple(one for one in typing.get_args(hint) if not isinstance(one, str | int))
    return ()
