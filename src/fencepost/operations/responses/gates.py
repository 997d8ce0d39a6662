"""Catch-up gates."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from fencepost.model.gate import ClosedGate, GateDecision
from fencepost.operations.paging import Next
from fencepost.operations.words import Moment, moment


class GateResponse(Struct, kw_only=True):
    """A closed gate and what it holds; null where nobody can tell."""

    schedule_id: Annotated[str, Meta(examples=["invoices"])]
    closed_at: Moment
    reason: str
    held: Annotated[int, Meta(description="How many runs.")]
    oldest: Annotated[Moment | None, Meta(description="The first fire time that it holds.")]
    newest: Annotated[Moment | None, Meta(description="The last one.")]
    run_s: Annotated[float | None, Meta(description="How long a run of the schedule takes, on average.")]
    load_s: Annotated[float | None, Meta(description="How much work is held.")]
    at_once: Annotated[int, Meta(description="How many would run at a time once it is open.")]
    lasts_s: Annotated[float | None, Meta(description="How long what is held would take then.")]


class GatePage(Struct, kw_only=True):
    """Closed gates, by schedule."""

    items: list[GateResponse]
    next: Next


class GateChangeResponse(Struct, kw_only=True):
    """What was decided; `released` is how many runs may run now."""

    schedule_id: str
    decision: GateDecision
    released: int


def gate_response(gate: ClosedGate) -> GateResponse:
    """A closed gate."""
    return GateResponse(
        schedule_id=gate.schedule_id,
        closed_at=moment(gate.closed_at),
        reason=gate.reason,
        held=gate.held,
        oldest=moment(gate.oldest),
        newest=moment(gate.newest),
        run_s=gate.run_s,
        load_s=gate.load_s,
        at_once=gate.at_once,
        lasts_s=gate.lasts_s,
    )
