"""Names of things, each with a type of its own so that they cannot be mistaken for one another."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from typing import NewType

from fencepost.errors import InvalidSpec, InvalidTrigger
from fencepost.model.times import YEAR_FIRST, YEAR_LAST, from_utc_text, to_utc_text

Namespace = NewType("Namespace", str)
ScheduleId = NewType("ScheduleId", str)
JobName = NewType("JobName", str)
RunKey = NewType("RunKey", str)
NodeId = NewType("NodeId", str)
Queue = NewType("Queue", str)
Shard = NewType("Shard", int)
Epoch = NewType("Epoch", int)
Lineage = NewType("Lineage", str)
Fence = NewType("Fence", int)

DEFAULT_NAMESPACE = Namespace("default")
DEFAULT_QUEUE = Queue("default")

NAME_LENGTH_MAX = 200
KEY_LENGTH_MAX = 500
OUTSIDE = "http/"
"""The beginning of the name of a worker outside this program; a node's name begins with its host, which
holds no /."""
BY_BROKER = "broker/"
"""The beginning of the name under which a node claims what it sends by a message broker."""
CLAIMED_WITH = "@"
"""Between the name of a worker outside and its credential; it is in no name."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")


def tick_key(schedule_id: ScheduleId, fire_time: datetime, version: int) -> RunKey:
    """The key of one tick: `schedule#fire time in UTC#version`."""
    return RunKey(f"{schedule_id}#{to_utc_text(fire_time)}#{version}")


def named_tick(run_key: str) -> tuple[ScheduleId, datetime] | None:
    """The schedule and the fire time that the key of a tick names; None where it is no such key."""
    parts = run_key.split("#")
    if len(parts) != len(("schedule", "fire time", "version")):
        return None
    try:
        fire_time = from_utc_text(parts[1])
    except InvalidTrigger:
        return None
    return (ScheduleId(parts[0]), fire_time) if YEAR_FIRST <= fire_time.year <= YEAR_LAST else None


def job_key(job: JobName, idempotency_key: str) -> RunKey:
    """The key of a run enqueued by hand: `job#key`, which can never be that of a tick."""
    if not isinstance(idempotency_key, str):
        raise InvalidSpec(f"key {idempotency_key!r}: expected a text")
    fits = 1 <= len(idempotency_key) <= KEY_LENGTH_MAX and idempotency_key.isprintable()
    if not fits or "#" in idempotency_key:
        raise InvalidSpec(
            f"key {idempotency_key!r}: expected 1 to {KEY_LENGTH_MAX} printable characters other than #"
        )
    return RunKey(f"{job}#{idempotency_key}")


def outside_worker(name: str, credential: str) -> NodeId:
    """The name in the ledger of a worker that came over HTTP under this name, with this credential. Another
    worker of the credential is another worker, and so is the same name under another credential."""
    return NodeId(f"{OUTSIDE}{name}{CLAIMED_WITH}{credential}")


def claimed_with(worker: NodeId) -> str | None:
    """The credential of a worker that came over HTTP; None where an earlier release did not keep it."""
    return worker.rpartition(CLAIMED_WITH)[2] if CLAIMED_WITH in worker else None


def is_outside(worker: NodeId) -> bool:
    """Whether this is a worker that came over HTTP: it is on no list of nodes, and only its heartbeats tell
    that it lives."""
    return worker.startswith(OUTSIDE)


def deliverer(node: NodeId) -> NodeId:
    """The name under which a node claims the runs that it sends by a message broker."""
    return NodeId(f"{BY_BROKER}{node}")


def is_deliverer(worker: NodeId) -> bool:
    """Whether a run of this worker was sent by a message broker: a processor carries it out, and reports."""
    return worker.startswith(BY_BROKER)


def shard_of(namespace: Namespace, schedule_id: ScheduleId, shards: int) -> Shard:
    """The shard of a schedule: stable over processes, machines and releases."""
    assert shards > 0
    digest = hashlib.blake2b(f"{namespace}/{schedule_id}".encode(), digest_size=8).digest()
    return Shard(int.from_bytes(digest, "big") % shards)


def checked_name(kind: str, name: str) -> str:
    """The name itself, or a refusal that says what a name may be."""
    if len(name) <= NAME_LENGTH_MAX and _NAME.fullmatch(name):
        return name
    raise InvalidSpec(
        f"{kind} {name!r}: expected 1 to {NAME_LENGTH_MAX} letters, digits or _ . : / -, "
        "beginning with a letter, digit or _"
    )
