"""The state of the house."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from fencepost.core.completeness import COMPLETENESS_WINDOW_S, completeness
from fencepost.model.run import RunState
from fencepost.model.status import QueueDepth
from fencepost.operations.responses.fleet import (
    AlarmResponse,
    NodeResponse,
    ShardResponse,
    WorkerResponse,
)
from fencepost.operations.responses.freezes import FreezeResponse
from fencepost.operations.responses.gates import GateResponse


class QueueDepthResponse(Struct, kw_only=True):
    """Due and running work of all queues, and the ages of the oldest."""

    ready: int
    running: int
    oldest_ready_s: float | None
    waiting: Annotated[int, Meta(description="Due, and in line for the limits of its job.")]
    oldest_waiting_s: float | None


class CompletenessResponse(Struct, kw_only=True):
    """How the ticks of the last day stand."""

    window_s: float
    states: dict[str, int]
    due: int
    ended: int
    accounted: Annotated[float, Meta(description="The share of the due ones that have ended.")]
    expected: Annotated[int, Meta(description="The due ones without those that were withdrawn.")]
    succeeded: int
    complete: Annotated[float, Meta(description="The share of the expected ones that have succeeded.")]


class AttentionResponse(Struct, kw_only=True):
    """Runs that wait for a person, counted up to `counted_max`."""

    dead: int
    held: int
    counted_max: int


class UnservedResponse(Struct, kw_only=True):
    """An active schedule whose job no running process has."""

    schedule_id: str
    job: str


class LeaseStoreResponse(Struct, kw_only=True):
    """Where leases live."""

    url: Annotated[str | None, Meta(description="Without a password; null: in the store.")]
    trouble: Annotated[str | None, Meta(description="Why something of the leases is unknown.")]


class StatusResponse(Struct, kw_only=True):
    """The fleet, which all namespaces share, and how this one stands."""

    shards: list[ShardResponse]
    nodes: Annotated[list[NodeResponse], Meta(description="Live nodes that plan.")]
    workers: list[WorkerResponse]
    queue: QueueDepthResponse
    completeness: CompletenessResponse
    freezes: list[FreezeResponse]
    gates: list[GateResponse]
    attention: AttentionResponse
    unserved: Annotated[
        list[UnservedResponse], Meta(description="Schedules whose job no running process has, the first 100.")
    ]
    alarms: list[AlarmResponse]
    leases: LeaseStoreResponse


def completeness_response(tally: Mapping[RunState, int]) -> CompletenessResponse:
    """How many of the due ticks have ended."""
    found = completeness(tally)
    return CompletenessResponse(
        window_s=COMPLETENESS_WINDOW_S,
        states={str(state): tally.get(state, 0) for state in RunState if state is not RunState.PLANNED},
        due=found.due,
        ended=found.ended,
        accounted=found.accounted,
        expected=found.expected,
        succeeded=found.succeeded,
        complete=found.complete,
    )


def depth_response(queue: QueueDepth) -> QueueDepthResponse:
    return QueueDepthResponse(
        ready=queue.ready,
        running=queue.running,
        oldest_ready_s=queue.oldest_ready_s,
        waiting=queue.waiting,
        oldest_waiting_s=queue.oldest_waiting_s,
    )
