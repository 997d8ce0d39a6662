"""How requests and answers are written for the JSON gateway: bytes in base64, numbers as texts, zeros left
out."""

from __future__ import annotations

import base64
import json
from typing import Any

from fencepost.model.identifiers import NodeId

Operation = dict[str, Any]


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def decode(text: str) -> str:
    return base64.b64decode(text).decode(errors="replace")


def holder_value(holder: NodeId) -> str:
    """The value of a key, the same text for the same holder at all times: keys are compared by it."""
    return json.dumps({"holder": holder}, separators=(",", ":"))


def holder_named(value: str) -> NodeId:
    """The holder in a value; a value that was put there by hand is its own name."""
    try:
        return NodeId(str(json.loads(value)["holder"]))
    except (ValueError, TypeError, KeyError):
        return NodeId(value)


def prefix_end(prefix: str) -> str:
    """The first key after all that begin with the prefix, which ends in a slash."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def number(answer: dict[str, Any], field: str) -> int:
    return int(answer.get(field, 0))


def created_at(key: str, revision: int) -> Operation:
    """Compare: the key was put by the transaction of this number; zero says that there is none."""
    return {"key": encode(key), "target": "CREATE", "result": "EQUAL", "create_revision": str(revision)}


def valued(key: str, value: str) -> Operation:
    """Compare: the key is there and has this value."""
    return {"key": encode(key), "target": "VALUE", "result": "EQUAL", "value": encode(value)}


def hanging_on(key: str, lease: int) -> Operation:
    """Compare: the key is there and hangs on this lease."""
    return {"key": encode(key), "target": "LEASE", "result": "EQUAL", "lease": str(lease)}


def put(key: str, value: str, lease: int = 0) -> Operation:
    return {"request_put": {"key": encode(key), "value": encode(value), "lease": str(lease)}}


def read(key: str) -> Operation:
    return {"request_range": {"key": encode(key)}}


def delete(key: str) -> Operation:
    """Delete, and say what was there."""
    return {"request_delete_range": {"key": encode(key), "prev_kv": True}}
