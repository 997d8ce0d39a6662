"""Lending: runs in the hands of workers outside of this program.

A worker of the program ends an attempt at its timeout. Nobody can do that to a process elsewhere; what can
be done is to stop counting it as alive. No heartbeat extends an attempt beyond its timeout, nor, where the
job has a progress deadline, beyond that after the last heartbeat that told of progress. One that comes later
is refused: from then on the run may be rescued, and what the worker still does is fenced off.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.core.outcome import Failed, Round, Stopped, Succeeded, settle
from fencepost.core.retry_budget import RetryBudget
from fencepost.model.clocks import StoreTime, since
from fencepost.model.dataclasses import dataclass
from fencepost.model.durations import format_duration
from fencepost.model.job import JobSpec
from fencepost.model.run import Outcome, RunRecord, RunState, Ticket


@dataclass(frozen=True, slots=True)
class End:
    """When an attempt outside may count as alive no longer, and why."""

    at: StoreTime
    why: str


def first_end(job: JobSpec, started_at: StoreTime, progress_at: StoreTime | None) -> End | None:
    """What comes first, the timeout or the progress deadline; None where there is neither."""
    got_on_at = max(started_at, progress_at or started_at)
    limits = (
        (job.timeout, started_at, "is past the job's timeout of"),
        (job.progress_deadline, got_on_at, "has said nothing of its progress for"),
    )
    ends = [
        End(StoreTime(since + limit), f"{words} {format_duration(limit)}")
        for limit, since, words in limits
        if limit is not None
    ]
    return min(ends, key=lambda one: one.at, default=None)


def alive_for_s(end: End | None, now: StoreTime, at_most_s: float) -> float | None:
    """How long an attempt counts as alive from now on without a heartbeat; None where its time is over."""
    if end is None:
        return at_most_s
    left_s = since(now, end.at).total_seconds()
    return min(left_s, at_most_s) if left_s > 0 else None


def is_given_again(run: RunRecord, ticket: Ticket, job: JobSpec, now: StoreTime, alive_s: float) -> bool:
    """Whether a run in a worker's name, under a fence that it does not list, is one whose claim got lost on
    its way. That list is the truth; this is the net under a worker that forgot a run which it had begun.

    A run whose life is over is the reaper's. A worker gives a run up in silence no earlier than its first
    life after it was given: so long, and no longer, one that must not begin twice is given again."""
    if run.state is not RunState.RUNNING or (run.attempt, run.fence) != (ticket.attempt, ticket.fence):
        return False
    if run.alive_until is None or run.started_at is None or run.alive_until <= now:
        return False
    return not job.at_most_once or since(run.started_at, now).total_seconds() < alive_s


def settle_report(
    run: RunRecord,
    ticket: Ticket,
    job: JobSpec,
    ending: Succeeded | Failed,
    now: StoreTime,
    dice: float,
    budget: RetryBudget | None = None,
) -> Outcome:
    """What the ledger is told of an attempt outside: what it would be told of any other.

    A worker outside has one word for every way not to succeed. Where the run had been asked to stop, a
    failure means that it did, whatever else went wrong on the way."""
    elapsed_s = (
        0.0 if run.first_started_at is None else max(since(run.first_started_at, now).total_seconds(), 0.0)
    )
    # The run may have gone on since: then the ledger refuses this, whatever it says.
    so_far = Round(min(run.attempts_before_replay, ticket.attempt - 1), elapsed_s)
    if isinstance(ending, Failed) and run.cancel_requested:
        stopped = settle(ticket, job, Stopped(), dice, so_far)
        return replace(stopped, error=ending.error, detail=ending.detail)
    return settle(ticket, job, ending, dice, so_far, budget)


def error_kinds(error: str) -> tuple[str, ...]:
    """The name by which a retry policy knows an error that is a text: `Busy` of `Busy: try later`, and of
    `shop.Busy: try later` the short one too."""
    name = error.partition(":")[0].strip()
    if not name or not all(part.isidentifier() for part in name.split(".")):
        return ()
    return tuple(dict.fromkeys((name, name.rpartition(".")[2])))
