"""Retry: what happens to a run whose attempt failed.

Three things end it: a failure that is permanent, by its own word or by the policy; the last attempt; and a
next attempt that would begin past the deadline, whatever it waits for. Otherwise the run waits as its backoff
says, by default with full jitter below an exponential bound. Where the budget is spent, it waits between half
the cap and the cap. It never waits for less time than the failure asked for.
"""

from __future__ import annotations

from typing import TypeAlias

from fencepost.core.retry_budget import RetryBudget
from fencepost.model.dataclasses import dataclass
from fencepost.model.durations import format_duration, parse_duration
from fencepost.model.job import DOUBLINGS_MAX, Backoff, BackoffFunction, Retry

JITTER_SHARE = 0.1
"""By how much of its bound a linear or a constant delay may be shorter."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that failed, as the policy sees it.

    `attempt` counts from the first of this round. `elapsed_s` is the time from the beginning of that one to
    the end of this one. `kinds` are the names of the error's class and its bases. `wait_s` is how long the
    failure asks to wait.
    """

    attempt: int
    elapsed_s: float = 0.0
    kinds: tuple[str, ...] = ()
    permanent: bool = False
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class TryAgain:
    """Back to `ready`, due after this delay."""

    delay_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """`dead`, for this reason."""

    reason: str


Decision: TypeAlias = TryAgain | GiveUp


def after_failure(
    policy: Retry, failure: Failure, dice: float, budget: RetryBudget | None = None
) -> Decision:
    """Decide what comes after a failure; `dice` is a number in [0, 1) drawn by the caller.

    The budget pays only for a retry that comes."""
    ended = _ended(policy, failure)
    if ended is not None:
        return GiveUp(ended)
    delay_min_s = max(delay_s(policy, failure.attempt, dice), failure.wait_s)
    if misses_deadline(policy, failure.elapsed_s + delay_min_s):
        return GiveUp(_too_late(policy, failure.elapsed_s + delay_min_s))
    if budget is None or budget.take():
        return TryAgain(delay_min_s, _waits(failure, delay_min_s))
    return _at_the_pace_of_the_cap(policy, failure, dice, delay_min_s)


def delay_s(policy: Retry, attempt: int, dice: float) -> float:
    """A delay between zero and the exponential bound, so that a herd spreads out. Of other bounds it is
    nearly all; what a backoff function returns is taken as it is."""
    assert 0 <= dice < 1
    bound_s = delay_max_s(policy, attempt)
    match policy.backoff:
        case Backoff.EXPONENTIAL | Backoff.FUNCTION:
            return dice * bound_s
        case Backoff.LINEAR | Backoff.CONSTANT:
            return bound_s * (1 - JITTER_SHARE * dice)
    return bound_s


def delay_max_s(policy: Retry, attempt: int) -> float:
    """The bound of the delay after this attempt. After the last doubling the bound grows in steps of what it
    came to; without any doubling it is linear."""
    match policy.backoff:
        case Backoff.CONSTANT:
            factor = 1
        case Backoff.LINEAR:
            factor = attempt
        case Backoff.EXPONENTIAL | Backoff.FUNCTION:
            factor = _exponential(policy, attempt)
        case asked:
            return _asked_s(asked, attempt, policy)
    return min(policy.base.total_seconds() * factor, policy.cap.total_seconds())


def _exponential(policy: Retry, attempt: int) -> int:
    if policy.max_doublings is None:
        return 1 << min(attempt - 1, DOUBLINGS_MAX)
    doublings = min(attempt - 1, policy.max_doublings)
    return (1 << doublings) * (attempt - doublings)


def _asked_s(backoff: BackoffFunction, attempt: int, policy: Retry) -> float:
    """What the user's function returns. Where it fails, or returns nonsense, the cap: the run must not be
    lost, nor tried at once."""
    try:
        return parse_duration(backoff(attempt)).total_seconds()
    except Exception:
        return policy.cap.total_seconds()


def misses_deadline(policy: Retry, elapsed_s: float) -> bool:
    """Whether an attempt that begins this long after the first one is past the deadline."""
    return policy.deadline is not None and elapsed_s > policy.deadline.total_seconds()


def _ended(policy: Retry, failure: Failure) -> str | None:
    if failure.permanent:
        return "permanent failure"
    if policy.only and not set(policy.only) & set(failure.kinds):
        return f"permanent failure: {_kind(failure)} is not among those to retry"
    if set(policy.never) & set(failure.kinds):
        return f"permanent failure: {_kind(failure)} is among those never to retry"
    if failure.attempt >= policy.max_attempts:
        return f"failed {failure.attempt} of {policy.max_attempts} attempts"
    return None


def _at_the_pace_of_the_cap(policy: Retry, failure: Failure, dice: float, delay_min_s: float) -> Decision:
    delay_slow_s = max(policy.cap.total_seconds() * (1 + dice) / 2, delay_min_s)
    if misses_deadline(policy, failure.elapsed_s + delay_slow_s):
        return GiveUp(f"the retry budget is spent, and {_too_late(policy, failure.elapsed_s + delay_slow_s)}")
    waits = _waits(failure, delay_slow_s)
    return TryAgain(delay_slow_s, f"{waits}; at the pace of the cap, as the retry budget is spent")


def _waits(failure: Failure, delay_s: float) -> str:
    asked = 0 < failure.wait_s == delay_s
    return "waits for a retry, as long as it asked to" if asked else "waits for a retry"


def _kind(failure: Failure) -> str:
    return failure.kinds[0] if failure.kinds else "an unknown error"


def _too_late(policy: Retry, elapsed_s: float) -> str:
    assert policy.deadline is not None
    return (
        f"the next attempt would begin {elapsed_s:.0f}s after the first, "
        f"past the retry deadline of {format_duration(policy.deadline)}"
    )
