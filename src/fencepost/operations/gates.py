"""The verbs of catch-up gates. Each decision opens the gate; they differ in what becomes of what it holds."""

from __future__ import annotations

from typing import Annotated, cast

from msgspec import Meta

from fencepost.errors import UnknownGate, UsageError
from fencepost.model.access import Role
from fencepost.model.audit import Action
from fencepost.model.gate import GateDecision
from fencepost.model.identifiers import ScheduleId
from fencepost.operations.control import Control
from fencepost.operations.operation import REASON_LENGTH_MAX, ChangeRequest, Request, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, sliced
from fencepost.operations.responses.gates import GateChangeResponse, GatePage, gate_response
from fencepost.operations.words import ScheduleIdText


class ListGatesRequest(Request, frozen=True, kw_only=True):
    """Which part of the list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class DecideGateRequest(ChangeRequest, frozen=True, kw_only=True):
    """The gate of one schedule."""

    schedule_id: ScheduleIdText


class DropGateRequest(Request, frozen=True, kw_only=True):
    """The gate of one schedule, and why nothing of it is to run."""

    schedule_id: ScheduleIdText
    reason: Annotated[
        str,
        Meta(min_length=1, max_length=REASON_LENGTH_MAX, description="Why; the missed ticks will say it."),
    ]


@operation("gates.list", "GET /gates", Role.VIEWER)
async def list_gates(control: Control, request: ListGatesRequest) -> GatePage:
    """List closed gates: what each holds, why, and how much work that is."""
    found = await control.store.gates.closed(control.namespace)
    page, after = sliced(found, lambda one: (str(one.schedule_id),), tuple[str], request.limit, request.after)
    return GatePage(items=[gate_response(one) for one in page], next=after)


@operation("gates.open", "POST /gates/{schedule_id}/open", Role.OPERATOR)
async def open_gate(control: Control, request: DecideGateRequest) -> GateChangeResponse:
    """Let all that a gate holds run."""
    return await _decide(control, request.schedule_id, GateDecision.OPEN)


@operation("gates.latest", "POST /gates/{schedule_id}/latest", Role.OPERATOR)
async def keep_latest(control: Control, request: DecideGateRequest) -> GateChangeResponse:
    """Let only the newest tick that a gate holds run; the others are missed."""
    return await _decide(control, request.schedule_id, GateDecision.LATEST)


@operation(
    "gates.drop",
    "POST /gates/{schedule_id}/drop",
    Role.OPERATOR,
    example={"reason": "the customers were told"},
)
async def drop_gate(control: Control, request: DropGateRequest) -> GateChangeResponse:
    """Let nothing that a gate holds run: all of it is missed. It needs a reason."""
    if not request.reason.strip():
        raise UsageError(f"gate {request.schedule_id}: say why; it is what the missed ticks will say")
    return await _decide(control, request.schedule_id, GateDecision.DROP)


async def _decide(control: Control, schedule_id: str, decision: GateDecision) -> GateChangeResponse:
    released = await control.store.gates.decide(
        control.namespace, ScheduleId(schedule_id), decision, control.author
    )
    if released is None:
        decided = await control.done_before(Action(f"gate.{decision}"), schedule_id)
        if decided is None:
            raise UnknownGate(f"gate {schedule_id}: is not closed; see: fencepost gate list")
        released = cast("int", decided.after["released"])
    return GateChangeResponse(schedule_id=schedule_id, decision=decision, released=released)
