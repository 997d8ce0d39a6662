"""External runs: runs that workers outside this program carry out.

A worker of this program ends an attempt at its timeout. It cannot end a process elsewhere, but the ledger can
stop counting that process as alive. No heartbeat extends an attempt beyond its timeout. Where the job has a
progress deadline, no heartbeat extends it beyond that deadline after the last heartbeat that told of
progress. A later heartbeat is refused: from then on the run may be rescued, and what the worker still does is
fenced off.
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
    """When an attempt outside stops counting as alive, and why."""

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
    """Whether a run in a worker's name, under a fence that the worker does not list, is one whose claim got
    lost on its way. The worker's list is right; this covers a worker that forgot a run which it had begun.

    A run whose life is over is left to the reaper. A worker gives up a run in silence at the earliest after
    one life from the claim. So a run that must not begin twice is given again only within that time."""
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
    """What the ledger is told of an attempt outside: the same as of any other.

    A worker outside reports every way not to succeed as a failure. Where the run had been asked to stop, a
    failure means that it did stop, whatever else went wrong."""
    elapsed_s = (
        0.0 if run.first_started_at is None else max(since(run.first_started_at, now).total_seconds(), 0.0)
    )
    # The run may have a later attempt by now: then the ledger refuses this report anyway.
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
