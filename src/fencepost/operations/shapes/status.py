"""The state of the house."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from fencepost.core.completeness import completeness
from fencepost.model.run import RunState
from fencepost.model.status import QueueDepth
from fencepost.operations.shapes.fleet import (
    AlarmShape,
    NodeShape,
    ShardShape,
    WorkerShape,
    alarm_shape,
    node_fields,
    shard_shape,
    worker_fields,
)
from fencepost.operations.shapes.freezes import FreezeShape, freeze_shape
from fencepost.operations.shapes.gates import GateShape, gate_shape
from fencepost.services.control import COMPLETENESS_WINDOW_S, COUNTED_MAX, Status


class QueueDepthShape(Struct, kw_only=True):
    """Due and running work of all queues, and the ages of the oldest."""

    ready: int
    running: int
    oldest_ready_s: float | None
    waiting: Annotated[int, Meta(description="Due, and in line for the limits of its job.")]
    oldest_waiting_s: float | None


class CompletenessShape(Struct, kw_only=True):
    """How the ticks of the last day stand."""

    window_s: float
    states: dict[str, int]
    due: int
    ended: int
    accounted: Annotated[float, Meta(description="The share of the due ones that have ended.")]
    expected: Annotated[int, Meta(description="The due ones without those that were withdrawn.")]
    succeeded: int
    complete: Annotated[float, Meta(description="The share of the expected ones that have succeeded.")]


class AttentionShape(Struct, kw_only=True):
    """Runs that wait for a person, counted up to `counted_max`."""

    dead: int
    held: int
    counted_max: int


class UnservedShape(Struct, kw_only=True):
    """An active schedule whose job no running process has."""

    schedule_id: str
    job: str


class LeaseStoreShape(Struct, kw_only=True):
    """Where leases live."""

    url: Annotated[str | None, Meta(description="Without a password; null: in the store.")]
    trouble: Annotated[str | None, Meta(description="Why something of the leases is unknown.")]


class StatusAnswer(Struct, kw_only=True):
    """The fleet, which all namespaces share, and how this one stands."""

    shards: list[ShardShape]
    nodes: Annotated[list[NodeShape], Meta(description="Live nodes that plan.")]
    workers: list[WorkerShape]
    queue: QueueDepthShape
    completeness: CompletenessShape
    freezes: list[FreezeShape]
    gates: list[GateShape]
    attention: AttentionShape
    unserved: Annotated[
        list[UnservedShape], Meta(description="Schedules whose job no running process has, the first 100.")
    ]
    alarms: list[AlarmShape]
    leases: LeaseStoreShape


def status_answer(status: Status, leases: str | None) -> StatusAnswer:
    """The state of the house; `leases` is where they live, if not in the store, without a password."""
    fleet = status.fleet
    return StatusAnswer(
        shards=[shard_shape(one) for one in fleet.shards],
        nodes=[NodeShape(**node_fields(one)) for one in fleet.nodes if one.node.plans],
        workers=[WorkerShape(**worker_fields(one)) for one in fleet.nodes if one.node.works],
        queue=_depth(status.queue),
        completeness=completeness_shape(status.tally),
        freezes=[freeze_shape(one) for one in status.freezes],
        gates=[gate_shape(one) for one in status.gates],
        attention=AttentionShape(dead=status.dead, held=status.held, counted_max=COUNTED_MAX),
        unserved=[UnservedShape(schedule_id=one.schedule_id, job=one.job) for one in status.unserved],
        alarms=[alarm_shape(one) for one in fleet.alarms],
        leases=LeaseStoreShape(url=leases, trouble=fleet.trouble),
    )


def completeness_shape(tally: Mapping[RunState, int]) -> CompletenessShape:
    """How many of the due ticks have ended."""
    found = completeness(tally)
    return CompletenessShape(
        window_s=COMPLETENESS_WINDOW_S,
        states={str(state): tally.get(state, 0) for state in RunState if state is not RunState.PLANNED},
        due=found.due,
        ended=found.ended,
        accounted=found.accounted,
        expected=found.expected,
        succeeded=found.succeeded,
        complete=found.complete,
    )


def _depth(queue: QueueDepth) -> QueueDepthShape:
    return QueueDepthShape(
        ready=queue.ready,
        running=queue.running,
        oldest_ready_s=queue.oldest_ready_s,
        waiting=queue.waiting,
        oldest_waiting_s=queue.oldest_waiting_s,
    )
