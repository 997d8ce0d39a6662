"""The verbs of notification targets: who is told when something is wrong."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from fencepost.clock import time_ordered_id
from fencepost.core.notifying import delivery, trial
from fencepost.errors import UnknownTarget, UsageError
from fencepost.model.access import Role
from fencepost.model.audit import Action
from fencepost.model.identifiers import DEFAULT_QUEUE
from fencepost.model.job import PRIORITY_DEFAULT
from fencepost.model.notification import (
    LISTED_MAX,
    Target,
    TargetKind,
    check_target,
    parse_events,
)
from fencepost.model.secret import REFERENCE_PREFIX
from fencepost.operations.control import Control
from fencepost.operations.jobs import own_key
from fencepost.operations.operation import ChangeRequest, Request, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, sliced
from fencepost.operations.responses.notify import (
    RemovedTarget,
    TargetPage,
    TargetResponse,
    TargetTrial,
    target_response,
)
from fencepost.operations.words import Name, Text
from fencepost.services.enqueueing import enqueue

TargetName = Annotated[Name, Meta(description="The target's name.", examples=["ops"])]
Names = Annotated[list[Text], Meta(max_length=LISTED_MAX)]


class ListTargetsRequest(Request, frozen=True, kw_only=True):
    """Which part of the list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class PutTargetRequest(ChangeRequest, frozen=True, kw_only=True):
    """All of a target."""

    name: TargetName
    kind: Annotated[TargetKind, Meta(description="How it is told; a hook is made in code.")]
    events: Annotated[Names, Meta(description="Of what it is told; all unless given.")] = field(
        default_factory=list
    )
    jobs: Annotated[Names, Meta(description="Of which jobs; a name may end in `*`.")] = field(
        default_factory=list
    )
    schedules: Annotated[Names, Meta(description="Of which schedules; an id may end in `*`.")] = field(
        default_factory=list
    )
    url: Annotated[
        Text,
        Meta(
            description="Of a webhook or a Slack channel: an https URL, or `secret:NAME` for one that the "
            "application has registered.",
            examples=["https://hooks.example.org/fencepost"],
        ),
    ] = ""
    secret: Annotated[
        Text | None, Meta(description="What a webhook's requests are signed with, as `secret:NAME`.")
    ] = None
    to: Annotated[Names, Meta(description="Whom an e-mail goes to.")] = field(default_factory=list)


class ChangeTargetRequest(ChangeRequest, frozen=True, kw_only=True):
    """One target, by its name."""

    name: TargetName


@operation("notify.list", "GET /notify", Role.VIEWER)
async def list_targets(control: Control, request: ListTargetsRequest) -> TargetPage:
    """List notification targets: where each sends, and of what it is told."""
    found = await control.store.notifications.all(control.namespace)
    page, after = sliced(found, lambda one: (one.name,), tuple[str], request.limit, request.after)
    return TargetPage(items=list(map(target_response, page)), next=after)


@operation(
    "notify.put",
    "PUT /notify/{name}",
    Role.ADMIN,
    example={
        "kind": "webhook",
        "url": "https://hooks.example.org/fencepost",
        "secret": "secret:hooks",
        "events": ["dead", "missed"],
        "jobs": ["invoices*"],
    },
)
async def put_target(control: Control, request: PutTargetRequest) -> TargetResponse:
    """Write a notification target, in place of one of that name.

    It is told of what happens from now on. Targets that code or a file brings are changed there."""
    target = Target(
        name=request.name,
        kind=request.kind,
        events=parse_events(request.events),
        jobs=tuple(request.jobs),
        schedules=tuple(request.schedules),
        url=request.url,
        secret=request.secret,
        to=tuple(request.to),
    )
    _check(target)
    known = {one.name: one for one in await control.store.notifications.all(control.namespace)}
    if request.name in known and known[request.name].from_code:
        raise UsageError(f"notify {request.name}: comes from code or a file; change it there")
    await control.store.notifications.put(control.namespace, [target], author=control.author)
    return target_response(target)


@operation("notify.remove", "DELETE /notify/{name}", Role.ADMIN)
async def remove_target(control: Control, request: ChangeTargetRequest) -> RemovedTarget:
    """Take a notification target away. One that code or a file brings is back at its next start."""
    removed = await control.store.notifications.remove(control.namespace, request.name, author=control.author)
    if not removed and not await control.done_before(Action.NOTIFY_REMOVE, request.name):
        raise await _unknown(control, request.name)
    return RemovedTarget(name=request.name, removed=True)


@operation("notify.test", "POST /notify/{name}/test", Role.OPERATOR)
async def try_target(control: Control, request: ChangeTargetRequest) -> TargetTrial:
    """Send a notification target a message that says that it is a test.

    It goes the way of all others: a worker delivers it, and the run says what became of it."""
    found = await control.store.notifications.all(control.namespace)
    target = next((one for one in found if one.name == request.name), None)
    if target is None:
        raise await _unknown(control, request.name)
    spec = (await control.jobs()).get(target.job)
    place = (spec.queue, spec.priority) if spec else (DEFAULT_QUEUE, PRIORITY_DEFAULT)
    told = trial(control.namespace, control.settings.public_url)
    run = delivery(target, told, f"{target.name}:test:{own_key(control) or time_ordered_id()}", *place)
    control.run_quota.take(1)
    await enqueue(control.store.ledger, control.namespace, [run], control.author)
    return TargetTrial(name=target.name, run_key=run.run_key)


def _check(target: Target) -> None:
    if target.kind is TargetKind.HOOK:
        raise UsageError(f'notify {target.name}: a hook is a function; write @app.on("dead")')
    check_target(target)
    if target.url and not target.url.startswith(("https://", REFERENCE_PREFIX)):
        raise UsageError(f"notify {target.name}: url: expected https://… or {REFERENCE_PREFIX}NAME")
    if target.secret is not None and not target.secret.startswith(REFERENCE_PREFIX):
        raise UsageError(f"notify {target.name}: secret: expected {REFERENCE_PREFIX}NAME, not the secret")


async def _unknown(control: Control, name: str) -> UnknownTarget:
    names = [one.name for one in await control.store.notifications.all(control.namespace)]
    return UnknownTarget(f"notify {name}: not found; known: {', '.join(names) or 'none'}")
