"""What lies between two JSON objects, one line a value, with secrets masked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.core.masking import masked

NOTHING = "nothing"
CALENDARS = "calendars."
REVISION = ".revision"
PAYLOAD = "payload."


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """`trigger.interval: "1h" -> "2h"`. A secret that changed is said to have, and not to what."""
    old, new = dict(_flat(dict(before))), dict(_flat(dict(after)))
    shown_old, shown_new = dict(_flat(masked(dict(before)))), dict(_flat(masked(dict(after))))
    return [
        f"{path}: {shown_old.get(path, NOTHING)} -> {shown_new.get(path, NOTHING)}"
        for path in {**old, **new}
        if old.get(path) != new.get(path) and not _is_day_list(path)
    ]


def _is_day_list(path: str) -> bool:
    """A calendar's days fill pages; that they changed is told by its revision."""
    _, found, inside = path.rpartition(CALENDARS)
    return bool(found) and not inside.endswith(REVISION)


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Values by their paths. What is null is not said, but in a payload, where it is somebody's own."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else name)
    elif value is not None or path.startswith(PAYLOAD):
        yield path, json.dumps(value)
