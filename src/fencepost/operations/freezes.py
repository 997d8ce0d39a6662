"""The verbs of freezes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from fencepost.errors import UsageError
from fencepost.model.access import Role
from fencepost.model.freeze import Freeze, Scope, ScopeKind, label_scope
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, ScheduleId, checked_name
from fencepost.model.job import JobSpec
from fencepost.model.schedule import Schedule
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, Request, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, sliced
from fencepost.operations.responses.freezes import FreezeChangeResponse, FreezePage, freeze_response
from fencepost.operations.words import Text

PAGE = 500


class ListFreezesRequest(Request, frozen=True, kw_only=True):
    """Which part of the list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class ChangeFreezeRequest(ChangeRequest, frozen=True, kw_only=True):
    """What a freeze covers."""

    kind: ScopeKind = ScopeKind.ALL
    value: Annotated[
        Text,
        Meta(
            description="A label as `key=value`, a queue's name or a schedule's id, also of one that is not "
            "there yet; nothing where everything is meant.",
            examples=["team=billing"],
        ),
    ] = ""


@operation("freezes.list", "GET /freezes", Role.VIEWER)
async def list_freezes(control: Control, request: ListFreezesRequest) -> FreezePage:
    """List the freezes in force."""
    page, after = sliced(
        await control.store.freezes.all(control.namespace),
        _place,
        tuple[str, str],
        request.limit,
        request.after,
    )
    return FreezePage(items=[freeze_response(one) for one in page], next=after)


@operation(
    "freezes.freeze",
    "POST /freezes",
    Role.OPERATOR,
    example={"kind": "label", "value": "team=billing", "reason": "the bank is down"},
)
async def freeze(control: Control, request: ChangeFreezeRequest) -> FreezeChangeResponse:
    """Start nothing any more: of everything, of a label, of a queue, or of one schedule.

    Ticks go on being planned and accounted for, and what runs is let finish."""
    scope = _scope(request)
    return await _answer(
        control, scope, await control.store.freezes.freeze(control.namespace, scope, control.author)
    )


@operation(
    "freezes.thaw", "POST /freezes/thaw", Role.OPERATOR, example={"kind": "label", "value": "team=billing"}
)
async def thaw(control: Control, request: ChangeFreezeRequest) -> FreezeChangeResponse:
    """End a freeze of everything, of a label, of a queue, or of one schedule.

    What another freeze covers too stays frozen."""
    scope = _scope(request)
    return await _answer(
        control, scope, await control.store.freezes.thaw(control.namespace, scope, control.author)
    )


def _scope(request: ChangeFreezeRequest) -> Scope:
    match request.kind:
        case ScopeKind.ALL if request.value:
            raise UsageError("freeze: everything needs no value; leave it out, or name another kind")
        case ScopeKind.ALL:
            return Scope(ScopeKind.ALL)
        case ScopeKind.LABEL:
            return label_scope(request.value)
        case ScopeKind.QUEUE | ScopeKind.SCHEDULE:
            return Scope(request.kind, checked_name(request.kind, request.value))


async def _answer(control: Control, scope: Scope, changed: bool) -> FreezeChangeResponse:
    covered = await _covered(control, scope)
    return FreezeChangeResponse(kind=scope.kind, value=scope.value, changed=changed, schedules=covered)


async def _covered(control: Control, scope: Scope) -> int:
    """How many schedules a scope has at this moment."""
    count, after = 0, None
    jobs = await control.store.jobs.all(control.namespace)
    while page := await control.store.schedules.page(control.namespace, after, PAGE):
        count += sum(_covers(scope, one, jobs) for one in page)
        after = page[-1].schedule_id
    return count


def _covers(scope: Scope, schedule: Schedule, jobs: Mapping[JobName, JobSpec]) -> bool:
    match scope.kind:
        case ScopeKind.ALL:
            return True
        case ScopeKind.SCHEDULE:
            return schedule.schedule_id == ScheduleId(scope.value)
        case ScopeKind.LABEL:
            key, value = scope.label
            return schedule.spec.labels.get(key) == value
        case ScopeKind.QUEUE:
            job = jobs.get(schedule.spec.job)
            return (schedule.spec.queue or (job.queue if job else DEFAULT_QUEUE)) == scope.value


def _place(freeze: Freeze) -> tuple[str, str]:
    return str(freeze.scope.kind), freeze.scope.value
