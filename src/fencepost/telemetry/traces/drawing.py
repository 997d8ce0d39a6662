"""The spans of a claimed run, drawn from what the ledger says of it."""

from __future__ import annotations

from datetime import datetime

from fencepost.model.run import Outcome, RunState
from fencepost.telemetry.traces.ids import attempt_name, dispatch_name, rescue_name, run_name
from fencepost.telemetry.traces.spans import Drawing, Fault, Side, Tried, about_attempt, about_run, does


def dispatch_drawing(run: Tried, worker: str | None) -> Drawing:
    """From when the attempt was due until it was claimed: how late it began is to be seen."""
    name = dispatch_name(run, run.attempt, run.attempts_before_replay)
    attributes = about_attempt(run, worker) | does("receive", "dispatch")
    start = run.run_at if run.started_at is None else min(run.run_at, run.started_at)
    return Drawing(name, "dispatch", run.job, start=start, end=run.started_at, attributes=attributes)


def attempt_drawing(
    run: Tried, worker: str | None, outcome: Outcome | None = None, end: datetime | None = None
) -> Drawing:
    """From the claim to the end of the work; with an outcome as it is told by a worker outside."""
    name = attempt_name(run, run.attempt, run.attempts_before_replay)
    attributes = about_attempt(run, worker) | does("process", "attempt")
    return Drawing(
        name, "attempt", run.job, Side.RECEIVES, run.started_at, end, attributes, fault_of(outcome)
    )


def rescue_drawing(run: Tried, worker: str | None, start: datetime, end: datetime, reason: str) -> Drawing:
    """An attempt that was taken away, from its claim to the moment it was taken."""
    name = rescue_name(run, run.attempt, run.attempts_before_replay)
    attributes = about_attempt(run, worker) | {"fencepost.outcome": "rescued"}
    fault = Fault(reason, raised=False)
    return Drawing(name, "rescue", run.job, start=start, end=end, attributes=attributes, fault=fault)


def run_drawing(
    run: Tried, state: RunState, reason: str | None, error: str | None, end: datetime | None
) -> Drawing:
    """From the first attempt of the round to the run's end."""
    said: dict[str, str | int] = {
        "fencepost.state": str(state),
        "fencepost.attempts": run.attempt - run.attempts_before_replay,
    }
    if reason is not None:
        said["fencepost.reason"] = reason
    attributes = about_run(run) | said
    told = error or reason or str(state)
    fault = Fault(told, raised=False) if state is RunState.DEAD else None
    start = run.first_started_at or run.started_at
    name = run_name(run, run.attempts_before_replay)
    return Drawing(name, "run", run.job, start=start, end=end, attributes=attributes, fault=fault)


def fault_of(outcome: Outcome | None) -> Fault | None:
    """What an outcome says that went wrong. Without a traceback nothing was raised here."""
    if outcome is None or outcome.error is None or outcome.state is RunState.CANCELLED:
        return None
    return Fault(outcome.error, outcome.detail, raised=outcome.detail is not None)
