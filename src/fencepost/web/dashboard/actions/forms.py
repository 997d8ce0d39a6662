"""A form becomes what an operation asks for.

Fields are texts. Each is read by the type that the struct has for it: several of one name make a list, a
text for an object is JSON, `catch_up.mode` is a field of a field, and `payload.width.integer` one of an
object, with its kind of JSON. An empty text counts as not given. A name
that the struct does not have is refused, so that no form says more than its operation hears. What `clear`
names is null. A field comes in one of these ways: whole, in parts, or cleared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct, inspect

from fencepost.errors import UsageError

FIELDS_MAX = 2_000
MANY = (inspect.ListType, inspect.VarTupleType, inspect.SetType)
OBJECTS = (inspect.DictType, inspect.StructType, inspect.AnyType)
TRUE = frozenset({"on", "yes", "true", "1"})
A = TypeVar("A", bound=Struct)


def read_form(body: bytes) -> dict[str, list[str]]:
    """The fields of a form, each with all its values."""
    try:
        pairs = parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX
        )
    except ValueError:
        raise UsageError(f"the form: expected at most {FIELDS_MAX} fields of UTF-8") from None
    found: dict[str, list[str]] = {}
    for name, text in pairs:
        found.setdefault(name, []).append(text)
    return found


def to_request(fields: Mapping[str, list[str]], kind: type[A], cleared: Sequence[str] = ()) -> A:
    """The struct that the fields fill, with null where one is to be cleared; a refusal that names the field
    where one does not fit."""
    given = {name: found for name, texts in fields.items() if (found := _given(texts))}
    _check_ways(given, cleared, kind)
    values: dict[str, Any] = dict.fromkeys(cleared)
    for name, texts in given.items():
        _put(values, kind, name.split("."), texts, name)
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        said, _, where = str(error).partition(" - at `$.")
        raise UsageError(f"{where.rstrip('`')}: {said}" if where else said) from None


def _given(texts: Sequence[str]) -> list[str]:
    return [text.replace("\r\n", "\n") for text in texts if text.strip()]


def _check_ways(given: Mapping[str, list[str]], cleared: Sequence[str], kind: type[Struct]) -> None:
    """Nothing is given whole and in parts, nor given and cleared."""
    unknown = set(cleared) - {one.encode_name for one in msgspec.structs.fields(kind)}
    if unknown:
        raise UsageError(f"clear: {min(unknown)}: there is no such field")
    for name in given:
        path = name.split(".")
        wholes = [".".join(path[:length]) for length in range(1, len(path))]
        for whole in wholes:
            if whole in given:
                raise UsageError(f"{name}: {whole} is given as a whole too; give one of them")
        for one in (*wholes, name):
            if one in cleared:
                raise UsageError(f"{name}: {one} is cleared too; give it or clear it")


def _put(values: dict[str, Any], kind: Any, path: list[str], texts: list[str], name: str) -> None:
    types = {one.encode_name: one.type for one in msgspec.structs.fields(kind)}
    head, *rest = path
    if head not in types:
        raise UsageError(f"{name}: there is no such field")
    found = options(types[head])
    if rest:
        inner = next((one for one in found if isinstance(one, inspect.StructType)), None)
        if inner is not None:
            _put(values.setdefault(head, {}), inner.cls, rest, texts, name)
        elif len(rest) <= 2 and any(isinstance(one, inspect.DictType) for one in found):
            kind_of = rest[1] if len(rest) > 1 else "string"
            values.setdefault(head, {})[rest[0]] = _of_kind(texts[-1], kind_of, name)
        else:
            raise UsageError(f"{name}: there is no such field")
        return
    values[head] = _value(found, texts, name)


def _of_kind(text: str, kind: str, name: str) -> Any:
    """A value of an object whose kind the field's own name says: `payload.width.integer`."""
    if kind == "string":
        return text
    if kind == "any":
        return _json(text, name) if _is_json(text) else text
    return _json(text.strip().lower() if kind == "boolean" else text, name)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _value(found: Sequence[inspect.Type], texts: list[str], name: str) -> Any:
    if any(isinstance(one, MANY) for one in found):
        return texts
    if len(texts) > 1:
        raise UsageError(f"{name}: is given {len(texts)} times")
    (text,) = texts
    if any(isinstance(one, inspect.BoolType) for one in found):
        return text.strip().lower() in TRUE
    if any(isinstance(one, OBJECTS) for one in found) and not any(
        isinstance(one, inspect.StrType) for one in found
    ):
        return _json(text, name)
    return text if any(isinstance(one, inspect.StrType) for one in found) else text.strip()


def _json(text: str, name: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise UsageError(f'{name}: expected JSON, such as {{"region": "eu"}}') from None


def options(kind: Any) -> tuple[inspect.Type, ...]:
    """What a field may be, one by one, without the words around it."""
    return tuple(_each(inspect.type_info(kind)))


def _each(info: inspect.Type) -> Iterator[inspect.Type]:
    if isinstance(info, inspect.Metadata):
        yield from _each(info.type)
    elif isinstance(info, inspect.UnionType):
        for one in info.types:
            yield from _each(one)
    else:
        yield info


def takes_many(kind: Any) -> bool:
    """Whether a field takes several values of one name."""
    return any(isinstance(one, MANY) for one in options(kind))
