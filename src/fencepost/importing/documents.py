"""JSON that another program wrote: read with care, and refused in one line."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from fencepost.errors import InvalidSpec, UsageError
from fencepost.model.json import JsonObject
from fencepost.model.quoting import quoted

DEPTH_MAX = 20
BYTE_ORDER_MARK = "\ufeff"


def read_document(text: str, what: str) -> Any:
    """The value of a JSON text."""
    try:
        return json.loads(text.removeprefix(BYTE_ORDER_MARK), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{what}: not JSON: {error}") from None


def checked_payload(value: object, what: str) -> JsonObject:
    """A payload: an object with plain values, none of them too deep to be written down."""
    if not isinstance(value, dict):
        raise InvalidSpec(f"{what}: {quoted(value)}: expected an object with named values")
    if not is_plain(value):
        raise InvalidSpec(f"{what}: holds what is no plain JSON, or more than {DEPTH_MAX} levels")
    return value


def is_plain(value: object, depth: int = DEPTH_MAX) -> bool:
    """Whether a value can be written as JSON and as Python, and means the same in both."""
    if depth == 0:
        return False
    match value:
        case float():
            return math.isfinite(value)
        case None | bool() | int() | str():
            return True
        case list():
            return all(is_plain(one, depth - 1) for one in value)
        case dict():
            return all(isinstance(name, str) and is_plain(one, depth - 1) for name, one in value.items())
    return False


def whole(value: object, what: str, low: int, high: int) -> int:
    """A whole number within its limits; True is none."""
    if type(value) is int and low <= value <= high:
        return value
    raise InvalidSpec(f"{what} {quoted(value)}: expected a whole number from {low} to {high}")


def text(value: object, what: str) -> str:
    """A text that says something."""
    if isinstance(value, str) and value.strip():
        return value
    raise InvalidSpec(f"{what} {quoted(value)}: expected a text")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
