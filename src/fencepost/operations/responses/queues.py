"""Queues."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from fencepost.model.freeze import Freeze
from fencepost.model.status import QueueView
from fencepost.operations.paging import Next
from fencepost.operations.words import Moment, moment


class QueueResponse(Struct, kw_only=True):
    """One queue."""

    queue: Annotated[str, Meta(examples=["mail"])]
    ready: Annotated[int, Meta(description="Due, and nothing is in the way.")]
    waiting: Annotated[int, Meta(description="Due, and in line for the limits of its job.")]
    running: int
    oldest_s: Annotated[float | None, Meta(description="For how long the oldest of them has been due.")]
    workers: Annotated[int, Meta(description="Live ones that take from it.")]
    paused: bool
    paused_since: Moment | None
    paused_by: str | None
    reason: Annotated[str | None, Meta(description="Why it is paused.")]
    weight: Annotated[
        int | None,
        Meta(description="Its share of a worker, by the settings of whoever answers; null: none is set."),
    ]


class QueuePage(Struct, kw_only=True):
    """Queues that have something in them, have a worker, or are paused, by name."""

    items: list[QueueResponse]
    next: Next


class QueueChangeResponse(Struct, kw_only=True):
    """How a queue is now, and whether that is news."""

    queue: str
    paused: bool
    changed: bool


def queue_response(view: QueueView, workers: int, paused: Freeze | None, weight: int | None) -> QueueResponse:
    """A queue, with how many live workers take from it, and what pauses it."""
    return QueueResponse(
        queue=view.queue,
        ready=view.ready,
        waiting=view.waiting,
        running=view.running,
        oldest_s=view.oldest_s,
        workers=workers,
        paused=paused is not None,
        paused_since=None if paused is None else moment(paused.since),
        paused_by=None if paused is None else paused.author.name,
        reason=None if paused is None else paused.author.reason,
        weight=weight,
    )
