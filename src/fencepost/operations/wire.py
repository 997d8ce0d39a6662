"""An operation on its way over HTTP: there by `to_call`, back by `from_call`.

Texts of the path and the query are read by the type of their field. A body is taken as it is: "5" is no
number. A field that is none of the struct's is refused, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct, ValidationError

from fencepost.model.dataclasses import dataclass
from fencepost.operations.operation import VERSION_FIELD, Operation, Request

Q = TypeVar("Q", bound=Struct)
LEFT_OUT: tuple[Any, ...] = (None, [], ())


@dataclass(frozen=True)
class Call:
    """A request, without the server that it goes to."""

    method: str
    path: str
    query: str = ""
    if_match: str | None = None
    body: bytes | None = None


@dataclass(frozen=True)
class Parts:
    """What came in a request: texts by name, and the body, decoded."""

    path: Mapping[str, str]
    query: Sequence[tuple[str, str]] = ()
    if_match: str | None = None
    body: Mapping[str, Any] = field(default_factory=dict)


class Refused(ValidationError):
    """A value that is not what its field takes; `name` is the field's."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def to_call(operation: Operation[Any, Q, Any], request: Q) -> Call:
    """The request that asks for it."""
    values: dict[str, Any] = msgspec.to_builtins(request)
    path = operation.path
    for name in operation.in_path:
        path = path.replace(f"{{{name}}}", quote(str(values.pop(name)), safe=""))
    if_match = _if_match(values.pop(VERSION_FIELD)) if VERSION_FIELD in values else None
    given = {name: value for name, value in values.items() if value not in LEFT_OUT}
    if operation.has_body:
        return Call(operation.method, path, "", if_match, msgspec.json.encode(given))
    texts = {name: _texts(value) for name, value in given.items()}
    return Call(operation.method, path, urlencode(texts, doseq=True), if_match)


def from_call(operation: Operation[Any, Q, Any], parts: Parts) -> Q:
    """What was asked; `Refused` or `ValidationError` where it does not fit."""
    types = {one.name: one.type for one in msgspec.structs.fields(operation.request)}
    values: dict[str, Any] = {**parts.body}
    for name in (*operation.in_path, VERSION_FIELD):
        if name in values:
            raise Refused(name, f"`{name}` is not part of the body")
    for name, text in parts.path.items():
        values[name] = _read(name, text, types[name])
    if VERSION_FIELD in types:
        values[VERSION_FIELD] = version_of(parts.if_match)
    values.update(_query(parts.query, types, operation))
    if issubclass(operation.request, Request):
        _refuse_nul(values)
    return msgspec.convert(values, operation.request)


def _refuse_nul(values: Mapping[str, Any]) -> None:
    """Some stores have no place for that character in a text."""
    for name, value in values.items():
        texts = value if isinstance(value, list) else [value]
        if any("\0" in text for text in texts if isinstance(text, str)):
            raise Refused(name, "expected a text without NUL characters")


def etag(version: int) -> str:
    """The entity tag of a version."""
    return f'"v{version}"'


def version_of(if_match: str | None) -> int | None:
    """The version that an `If-Match` names; None for `*`, and where there is no header."""
    if if_match is None or if_match.strip() == "*":
        return None
    text = if_match.strip().removeprefix('"v').removesuffix('"')
    if not (text.isascii() and text.isdigit() and len(text) < 10 and if_match.strip() == etag(int(text))):
        raise Refused("If-Match", f"expected an ETag that this API gave, such as {etag(3)}, or *")
    return int(text)


def _if_match(version: int | None) -> str:
    """The header of whoever expects that version; or whichever there is."""
    return "*" if version is None else etag(version)


def _query(
    pairs: Sequence[tuple[str, str]], types: Mapping[str, Any], operation: Operation[Any, Any, Any]
) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for name, text in pairs:
        if operation.has_body or name in operation.in_path or name not in types or name == VERSION_FIELD:
            raise Refused(name, f"there is no parameter `{name}`")
        found.setdefault(name, []).append(text)
    return {name: _read_all(name, texts, types[name]) for name, texts in found.items()}


def _read_all(name: str, texts: list[str], kind: Any) -> Any:
    """A list where the field takes one; otherwise one text, and not two."""
    if isinstance(msgspec.inspect.type_info(kind), msgspec.inspect.ListType):
        return _read(name, texts, kind)
    if len(texts) > 1:
        raise Refused(name, f"`{name}` is given {len(texts)} times")
    return _read(name, texts[0], kind)


def _read(name: str, value: Any, kind: Any) -> Any:
    try:
        return msgspec.to_builtins(msgspec.convert(value, kind, strict=False))
    except ValidationError as error:
        raise Refused(name, str(error)) from None


def _texts(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value
