"""The verbs of queues."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fencepost.model.access import Role
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import Queue, checked_name
from fencepost.model.status import QueueView
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, Request, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, sliced
from fencepost.operations.responses.queues import (
    QueueChangeResponse,
    QueuePage,
    QueueResponse,
    queue_response,
)
from fencepost.operations.words import Name


class ListQueuesRequest(Request, frozen=True, kw_only=True):
    """Which part of the list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class ChangeQueueRequest(ChangeRequest, frozen=True, kw_only=True):
    """One queue, by its name."""

    queue: Annotated[Name, Meta(description="The queue's name.", examples=["mail"])]


@operation("queues.list", "GET /queues", Role.VIEWER)
async def list_queues(control: Control, request: ListQueuesRequest) -> QueuePage:
    """List queues: what is due, what waits for the limits of its job, what runs, how old the oldest is."""
    found = await all_queues(control)
    page, after = sliced(found, lambda one: (one.queue,), tuple[str], request.limit, request.after)
    return QueuePage(items=list(page), next=after)


@operation("queues.pause", "POST /queues/{queue}/pause", Role.OPERATOR)
async def pause_queue(control: Control, request: ChangeQueueRequest) -> QueueChangeResponse:
    """Start nothing of a queue: no tick, no retry, no run by hand. What runs is let finish."""
    scope = _scope(request)
    changed = await control.store.freezes.freeze(control.namespace, scope, control.author)
    return QueueChangeResponse(queue=request.queue, paused=True, changed=changed)


@operation("queues.resume", "POST /queues/{queue}/resume", Role.OPERATOR)
async def resume_queue(control: Control, request: ChangeQueueRequest) -> QueueChangeResponse:
    """Let a paused queue go on."""
    scope = _scope(request)
    changed = await control.store.freezes.thaw(control.namespace, scope, control.author)
    return QueueChangeResponse(queue=request.queue, paused=False, changed=changed)


async def all_queues(control: Control) -> list[QueueResponse]:
    """Every queue that has something in it, has a worker of this namespace, or is paused, by name."""
    store, namespace = control.store, control.namespace
    views = {one.queue: one for one in await store.ledger.queues(namespace)}
    nodes = [one.node for one in await store.nodes.live()]
    working = [one.queues for one in nodes if one.works and one.namespace == namespace]
    freezes = await store.freezes.all(namespace)
    paused = {Queue(one.scope.value): one for one in freezes if one.scope.kind is ScopeKind.QUEUE}
    names = {*views, *paused, *(queue for queues in working for queue in queues)}
    return [
        queue_response(
            views.get(name) or QueueView(name),
            sum(name in queues for queues in working),
            paused.get(name),
            control.settings.weights.get(name),
        )
        for name in sorted(names)
    ]


def _scope(request: ChangeQueueRequest) -> Scope:
    return Scope(ScopeKind.QUEUE, checked_name("queue", request.queue))
