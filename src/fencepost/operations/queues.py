"""The verbs of queues."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fencepost.model.access import Role
from fencepost.model.identifiers import Queue, checked_name
from fencepost.operations.operation import Asked, Change, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, sliced
from fencepost.operations.shapes.queues import QueueAnswer, QueuePage, queue_shape
from fencepost.operations.words import Name
from fencepost.services.control import Control


class ListQueues(Asked, frozen=True, kw_only=True):
    """Which part of the list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class ChangeQueue(Change, frozen=True, kw_only=True):
    """One queue, by its name."""

    queue: Annotated[Name, Meta(description="The queue's name.", examples=["mail"])]


@operation("queues.list", "GET /queues", Role.VIEWER)
async def list_queues(control: Control, asked: ListQueues) -> QueuePage:
    """List queues: what is due, what waits for the limits of its job, what runs, how old the oldest is."""
    found = await control.queues.all()
    page, after = sliced(found, lambda one: (str(one.view.queue),), tuple[str], asked.limit, asked.after)
    weights = control.settings.weights
    return QueuePage(items=[queue_shape(one, weights.get(one.view.queue)) for one in page], next=after)


@operation("queues.pause", "POST /queues/{queue}/pause", Role.OPERATOR)
async def pause_queue(control: Control, asked: ChangeQueue) -> QueueAnswer:
    """Start nothing of a queue: no tick, no retry, no run by hand. What runs is let finish."""
    changed = await control.queues.pause(_named(asked))
    return QueueAnswer(queue=asked.queue, paused=True, changed=changed)


@operation("queues.resume", "POST /queues/{queue}/resume", Role.OPERATOR)
async def resume_queue(control: Control, asked: ChangeQueue) -> QueueAnswer:
    """Let a paused queue go on."""
    changed = await control.queues.resume(_named(asked))
    return QueueAnswer(queue=asked.queue, paused=False, changed=changed)


def _named(asked: ChangeQueue) -> Queue:
    return Queue(checked_name("queue", asked.queue))
