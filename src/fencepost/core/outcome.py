"""Outcome: from how an attempt ended to what the ledger is told."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias, assert_never

from fencepost.core.retry import Failure, GiveUp, TryAgain, after_failure, misses_deadline
from fencepost.core.retry_budget import RetryBudget
from fencepost.errors import Snooze
from fencepost.model.dataclasses import dataclass
from fencepost.model.durations import format_duration
from fencepost.model.job import JobSpec
from fencepost.model.run import STOPPED_ON_REQUEST, Outcome, RunState, Ticket


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The work was done; `output` is what to keep of it."""

    output: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The work failed; `detail` is a traceback or the like.

    `kinds` are the names of the error's class and its bases. `wait_s` is how long it asks to be left alone.
    """

    error: str
    detail: str | None = None
    output: str | None = None
    permanent: bool = False
    kinds: tuple[str, ...] = ()
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run had been asked to stop, and it did."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The worker had to stop before the work was done."""


@dataclass(frozen=True, slots=True)
class Overdue:
    """The attempt was granted past the retry deadline, and the work was not begun."""


@dataclass(frozen=True, slots=True)
class NotBegun:
    """The worker had claimed the run ahead of its room, and gives it back."""


SNOOZE = f"{Snooze.__module__}.{Snooze.__qualname__}"
"""By this name a failure is told as a snooze, wherever it was raised."""
SNOOZE_MIN_S, SNOOZES_MAX, SNOOZING_MAX = 1.0, 1_000, timedelta(days=7)
"""How long one lasts at least, how many a run may have, and for how long in all without a retry deadline."""

Ending: TypeAlias = Succeeded | Failed | Stopped | Interrupted | Overdue | NotBegun


@dataclass(frozen=True, slots=True)
class Round:
    """The attempts of a run since it was enqueued or last replayed, up to this one's end.

    `attempts_before_replay` attempts came before the round. It began `elapsed_s` ago, with its first attempt.
    """

    attempts_before_replay: int = 0
    elapsed_s: float = 0.0

    def count(self, ticket: Ticket) -> int:
        """Which attempt of the round this is: 1 for the first."""
        return ticket.attempt - self.attempts_before_replay


FIRST_ROUND = Round()


def settle(
    ticket: Ticket,
    job: JobSpec,
    ending: Ending,
    dice: float,
    so_far: Round = FIRST_ROUND,
    budget: RetryBudget | None = None,
) -> Outcome:
    """The outcome of an attempt, with the retry policy applied."""
    match ending:
        case Succeeded(output):
            return Outcome(ticket, RunState.SUCCEEDED, output=output)
        case Failed() if SNOOZE in ending.kinds and ending.wait_s > 0:
            return _snoozed(ticket, job, ending, so_far)
        case Failed():
            return _after_failure(ticket, job, ending, dice, so_far, budget)
        case Stopped():
            return Outcome(ticket, RunState.CANCELLED, reason=STOPPED_ON_REQUEST, error="cancelled")
        case Interrupted():
            return _after_interruption(ticket, job, so_far)
        case Overdue():
            return Outcome(ticket, RunState.DEAD, _overdue(job, so_far), "not begun: past the retry deadline")
        case NotBegun():
            reason = "handed back before it began"
            return Outcome(ticket, RunState.READY, reason, retry_in_s=0.0, begun=False)
        case _ as never:
            assert_never(never)


def _after_failure(
    ticket: Ticket, job: JobSpec, failed: Failed, dice: float, so_far: Round, budget: RetryBudget | None
) -> Outcome:
    failure = Failure(
        so_far.count(ticket),
        so_far.elapsed_s,
        failed.kinds,
        failed.permanent or job.at_most_once,
        failed.wait_s,
    )
    told = (failed.error, failed.detail, failed.output)
    match after_failure(job.retry, failure, dice, budget):
        case TryAgain(delay_s, reason):
            return Outcome(ticket, RunState.READY, reason, *told, retry_in_s=delay_s)
        case GiveUp(reason):
            return Outcome(ticket, RunState.DEAD, reason, *told)
        case _ as never:
            assert_never(never)


def _snoozed(ticket: Ticket, job: JobSpec, failed: Failed, so_far: Round) -> Outcome:
    """Try again later, with no attempt spent. There is a limit, so that a run which only snoozes is seen."""
    wait_s = max(failed.wait_s, SNOOZE_MIN_S)
    _, _, why = failed.error.partition(": ")
    reason = f"snoozed for {format_duration(timedelta(seconds=wait_s))}{f': {why}' if why else ''}"
    bound = job.retry.deadline or SNOOZING_MAX
    if so_far.elapsed_s + wait_s > bound.total_seconds():
        most = format_duration(bound)
        limit = f"the retry deadline of {most}" if job.retry.deadline else f"the {most} that a run may snooze"
        ended = f"{reason}; that would be past {limit}"
    elif so_far.attempts_before_replay >= SNOOZES_MAX:
        ended = f"{reason}; it has snoozed {SNOOZES_MAX} times, which is as often as a run may"
    else:
        return Outcome(ticket, RunState.READY, reason, output=failed.output, retry_in_s=wait_s, snoozed=True)
    return Outcome(ticket, RunState.DEAD, ended, failed.error, failed.detail, failed.output)


def _after_interruption(ticket: Ticket, job: JobSpec, so_far: Round) -> Outcome:
    error = "interrupted: the worker stopped"
    if job.at_most_once:
        return Outcome(ticket, RunState.DEAD, "lost: interrupted, and the job is at_most_once", error)
    if so_far.count(ticket) >= job.retry.max_attempts:
        return Outcome(ticket, RunState.DEAD, "interrupted on its last attempt", error)
    if misses_deadline(job.retry, so_far.elapsed_s):
        return Outcome(ticket, RunState.DEAD, f"interrupted {_overdue(job, so_far)}", error)
    return Outcome(ticket, RunState.READY, "handed back by a stopping worker", error, retry_in_s=0.0)


def _overdue(job: JobSpec, so_far: Round) -> str:
    assert job.retry.deadline is not None
    limit = format_duration(job.retry.deadline)
    return f"{so_far.elapsed_s:.0f}s after the first attempt began, past the retry deadline of {limit}"
