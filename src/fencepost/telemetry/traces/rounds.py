"""Attempts that are not made in this process: lent to workers outside, taken from silent ones, called off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from fencepost.model.rescue import Rescue
from fencepost.model.run import Attempt, Claim, Outcome, RunRecord, RunState
from fencepost.telemetry.traces.attempts import outcome_word
from fencepost.telemetry.traces.drawing import attempt_drawing, dispatch_drawing, rescue_drawing, run_drawing
from fencepost.telemetry.traces.guard import otherwise
from fencepost.telemetry.traces.spans import Tried
from fencepost.telemetry.traces.switch import tracing


@otherwise(None)
def lent(claims: Sequence[Claim], worker: str) -> None:
    """Runs have been claimed for a worker outside."""
    made = tracing()
    for claim in claims if made is not None else ():
        assert made is not None
        made.write(dispatch_drawing(claim, worker))


@otherwise(None)
def reported(run: Tried, worker: str | None, outcome: Outcome, now: datetime) -> None:
    """The ledger has accepted the outcome of an attempt of a worker outside."""
    made = tracing()
    if made is None:
        return
    drawing = attempt_drawing(run, worker, outcome, now)
    word = {"fencepost.outcome": outcome_word(outcome)}
    made.write(replace(drawing, attributes={**drawing.attributes, **word}))
    if outcome.state is not RunState.READY:
        made.write(run_drawing(run, outcome.state, outcome.reason, outcome.error, now))


@otherwise(None)
def rescued(run: RunRecord, rescue: Rescue, attempts: Sequence[Attempt]) -> None:
    """A run has been taken from a worker that shows no life; its attempts as the ledger has them now."""
    made, lost = tracing(), _attempt(attempts, rescue.ticket.attempt)
    if made is None or lost is None or lost.started_at is None:
        return
    claimed = replace(run, attempt=lost.attempt, fence=lost.fence, started_at=lost.started_at)
    made.write(rescue_drawing(claimed, lost.worker, lost.started_at, lost.finished_at, rescue.reason))
    if rescue.state is not RunState.READY:
        made.write(run_drawing(claimed, rescue.state, rescue.reason, None, lost.finished_at))


@otherwise(None)
def cancelled(run: RunRecord) -> None:
    """A run that waited for its next attempt was called off."""
    made = tracing()
    if made is not None and run.state is RunState.CANCELLED and run.first_started_at is not None:
        made.write(run_drawing(run, run.state, run.reason, run.error, run.finished_at))


def _attempt(attempts: Sequence[Attempt], number: int) -> Attempt | None:
    return next((one for one in attempts if one.attempt == number), None)
