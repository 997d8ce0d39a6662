"""Bodies: the payload as JSON, or a template that it fills.

A template is any JSON value. A text in it that is exactly `{name}` becomes the payload's value of that name,
whatever its type; `{name}` within a longer text becomes the value's text. `{order.id}` and `{lines.0}` go
deeper. `{{name}}` stands for `{name}` itself, and other braces for themselves. What is filled in is not read
again, and the whole is written as JSON at the end: a payload cannot change the shape of the body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fencepost.errors import InvalidPayload, InvalidSpec
from fencepost.executors.http.limits import BODY_BYTES_MAX, TEMPLATE_DEPTH_MAX
from fencepost.model.json import JsonObject, JsonValue

_NAME = r"[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*"
_PLACE = re.compile(rf"\{{\{{({_NAME})\}}\}}|\{{({_NAME})\}}")
_JSON = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


class Template:
    """A body with places for the payload's values."""

    def __init__(self, value: JsonValue) -> None:
        self._value = value
        self.names = tuple(dict.fromkeys(_names(value, 0)))
        _encoded(value, InvalidSpec, "body")

    def filled(self, payload: JsonObject) -> bytes:
        """The body for this payload, or `InvalidPayload` where a name is missing from it."""
        return _encoded(_filled(self._value, payload), InvalidPayload, "payload: the body")


class WholePayload:
    """A body that is the payload itself."""

    names: tuple[str, ...] = ()

    def filled(self, payload: JsonObject) -> bytes:
        """The payload as JSON."""
        return _encoded(payload, InvalidPayload, "payload")


class NoBody:
    """A call without a body: the payload is not sent."""

    names: tuple[str, ...] = ()

    def filled(self, payload: JsonObject) -> bytes:
        """Nothing."""
        return b""


def _names(value: JsonValue, depth: int) -> Iterator[str]:
    """Every name that a template takes from the payload."""
    if depth > TEMPLATE_DEPTH_MAX:
        raise InvalidSpec(f"body: more than {TEMPLATE_DEPTH_MAX} levels deep")
    match value:
        case str():
            yield from (found[2] for found in _PLACE.finditer(value) if found[2])
        case list() | dict():
            for inner in value.values() if isinstance(value, dict) else value:
                yield from _names(inner, depth + 1)


def _filled(value: JsonValue, payload: JsonObject) -> JsonValue:
    match value:
        case str():
            return _filled_text(value, payload)
        case list():
            return [_filled(inner, payload) for inner in value]
        case dict():
            return {name: _filled(inner, payload) for name, inner in value.items()}
    return value


def _filled_text(text: str, payload: JsonObject) -> JsonValue:
    whole = _PLACE.fullmatch(text)
    if whole is not None and whole[2]:
        return _value_of(whole[2], payload)

    def put(found: re.Match[str]) -> str:
        return f"{{{found[1]}}}" if found[1] else _text_of(_value_of(found[2], payload))

    return _PLACE.sub(put, text)


def _value_of(path: str, payload: JsonObject) -> JsonValue:
    value: JsonValue = payload
    for step in path.split("."):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise InvalidPayload(f"payload: {path!r} is missing; the body of the call takes it")
    return value


def _text_of(value: JsonValue) -> str:
    return value if isinstance(value, str) else _JSON.encode(value)


def _encoded(value: Any, refusal: type[InvalidSpec | InvalidPayload], what: str) -> bytes:
    """ASCII, in which also halves of surrogate pairs can be written."""
    try:
        encoded = _JSON.encode(value).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise refusal(f"{what}: cannot be written as JSON: {error}") from None
    if len(encoded) > BODY_BYTES_MAX:
        raise refusal(f"{what}: {len(encoded)} bytes; at most {BODY_BYTES_MAX}")
    return encoded
