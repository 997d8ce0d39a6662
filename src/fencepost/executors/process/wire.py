"""What a worker and its children say to each other: one JSON object a line, over a socket of their own.

The worker says `do` (an errand: which function, which claim, how much memory) and `stop`. A child says
`begun`, `beat`, `log`, and at the end `done` or `failed`. Nothing here can name code that the worker's
registry does not hold, and nothing is ever unpickled.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from fencepost.model.chain import predecessors_from_json, predecessors_to_json
from fencepost.model.json import JsonObject
from fencepost.model.run import Claim

FRAME_BYTES_MAX = 4 * 1024 * 1024
TEXT_LENGTH_MAX = 64 * 1024
"""Of any one text from a child; escaped, the longest still fits into a frame."""

_MOMENTS = tuple(
    one.name for one in fields(Claim) if str(one.type).split(" ")[0] in ("datetime", "StoreTime")
)


@dataclass(frozen=True)
class Order:
    """What a child is to do, but for the run: the function's home, and what it may use."""

    module: str
    name: str
    memory_bytes: int | None = None


def frame(**said: Any) -> bytes:
    """One line."""
    return json.dumps(said, default=str).encode() + b"\n"


def parsed(line: bytes) -> dict[str, Any]:
    """The object of a line; ValueError where it is none."""
    said = json.loads(line)
    if not isinstance(said, dict):
        raise ValueError("not an object")
    return said


def claim_to_json(claim: Claim) -> JsonObject:
    """A claim in plain JSON."""
    plain = {one.name: getattr(claim, one.name) for one in fields(claim)}
    plain["after"] = predecessors_to_json(claim.after)
    return plain | {name: plain[name] and plain[name].isoformat() for name in _MOMENTS}


def claim_from_json(plain: dict[str, Any]) -> Claim:
    """The claim again."""
    moments = {name: plain[name] and datetime.fromisoformat(plain[name]) for name in _MOMENTS}
    return Claim(**(plain | moments | {"after": predecessors_from_json(plain["after"])}))
