"""The values that may cross a process boundary."""

from __future__ import annotations

import json
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def canonical(value: JsonObject) -> str:
    """One text for one value, so that equal specs compare equal wherever they were written."""
    return _ENCODER.encode(value)
