"""Settling: from how an attempt ended to what the ledger is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from fencepost.core.retry import GiveUp, TryAgain, after_failure
from fencepost.model.job import JobSpec
from fencepost.model.run import STOPPED_ON_REQUEST, Outcome, RunState, Ticket


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The work was done; `output` is what to keep of it."""

    output: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The work failed; `detail` is a traceback or the like."""

    error: str
    detail: str | None = None
    output: str | None = None
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class Stopped:
    """Somebody had asked for the run to stop, and it did."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The worker had to stop before the work was done."""


Ending: TypeAlias = Succeeded | Failed | Stopped | Interrupted


def settle(ticket: Ticket, job: JobSpec, ending: Ending, dice: float) -> Outcome:
    """The outcome of an attempt, with the retry policy applied."""
    match ending:
        case Succeeded(output):
            return Outcome(ticket, RunState.SUCCEEDED, output=output)
        case Failed():
            return _after_failure(ticket, job, ending, dice)
        case Stopped():
            return Outcome(ticket, RunState.CANCELLED, reason=STOPPED_ON_REQUEST, error="cancelled")
        case Interrupted():
            return _after_interruption(ticket, job)
        case _ as never:
            assert_never(never)


def _after_failure(ticket: Ticket, job: JobSpec, failed: Failed, dice: float) -> Outcome:
    permanent = failed.permanent or job.at_most_once
    decision = after_failure(job.retry, ticket.attempt, permanent, dice)
    told = (failed.error, failed.detail, failed.output)
    match decision:
        case TryAgain(delay_s):
            return Outcome(ticket, RunState.READY, "waits for a retry", *told, retry_in_s=delay_s)
        case GiveUp(reason):
            return Outcome(ticket, RunState.DEAD, reason, *told)
        case _ as never:
            assert_never(never)


def _after_interruption(ticket: Ticket, job: JobSpec) -> Outcome:
    error = "interrupted: the worker stopped"
    if job.at_most_once:
        return Outcome(ticket, RunState.DEAD, "lost: interrupted, and the job is at_most_once", error)
    if ticket.attempt >= job.retry.max_attempts:
        return Outcome(ticket, RunState.DEAD, "interrupted on its last attempt", error)
    return Outcome(ticket, RunState.READY, "handed back by a stopping worker", error, retry_in_s=0.0)
