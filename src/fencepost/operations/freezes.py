"""The verbs of freezes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fencepost.errors import UsageError
from fencepost.model.access import Role
from fencepost.model.freeze import Freeze, Scope, ScopeKind, label_scope
from fencepost.model.identifiers import checked_name
from fencepost.operations.operation import Asked, Change, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, sliced
from fencepost.operations.shapes.freezes import FreezeAnswer, FreezePage, freeze_shape
from fencepost.operations.words import Text
from fencepost.services.control import Control


class ListFreezes(Asked, frozen=True, kw_only=True):
    """Which part of the list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class ChangeFreeze(Change, frozen=True, kw_only=True):
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
async def list_freezes(control: Control, asked: ListFreezes) -> FreezePage:
    """List the freezes in force."""
    page, after = sliced(await control.freezes.all(), _place, tuple[str, str], asked.limit, asked.after)
    return FreezePage(items=[freeze_shape(one) for one in page], next=after)


@operation(
    "freezes.freeze",
    "POST /freezes",
    Role.OPERATOR,
    example={"kind": "label", "value": "team=billing", "reason": "the bank is down"},
)
async def freeze(control: Control, asked: ChangeFreeze) -> FreezeAnswer:
    """Start nothing any more: of everything, of a label, of a queue, or of one schedule.

    Ticks go on being planned and accounted for, and what runs is let finish."""
    scope = _scope(asked)
    return await _answer(control, scope, await control.freezes.freeze(scope))


@operation(
    "freezes.thaw", "POST /freezes/thaw", Role.OPERATOR, example={"kind": "label", "value": "team=billing"}
)
async def thaw(control: Control, asked: ChangeFreeze) -> FreezeAnswer:
    """End a freeze of everything, of a label, of a queue, or of one schedule.

    What another freeze covers too stays frozen."""
    scope = _scope(asked)
    return await _answer(control, scope, await control.freezes.thaw(scope))


def _scope(asked: ChangeFreeze) -> Scope:
    match asked.kind:
        case ScopeKind.ALL if asked.value:
            raise UsageError("freeze: everything needs no value; leave it out, or name another kind")
        case ScopeKind.ALL:
            return Scope(ScopeKind.ALL)
        case ScopeKind.LABEL:
            return label_scope(asked.value)
        case ScopeKind.QUEUE | ScopeKind.SCHEDULE:
            return Scope(asked.kind, checked_name(asked.kind, asked.value))


async def _answer(control: Control, scope: Scope, changed: bool) -> FreezeAnswer:
    covered = await control.freezes.covered(scope)
    return FreezeAnswer(kind=scope.kind, value=scope.value, changed=changed, schedules=covered)


def _place(freeze: Freeze) -> tuple[str, str]:
    return str(freeze.scope.kind), freeze.scope.value
