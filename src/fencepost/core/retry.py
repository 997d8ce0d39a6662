"""Retry: what becomes of a run whose attempt failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from fencepost.model.job import Retry


@dataclass(frozen=True, slots=True)
class TryAgain:
    """Back to `ready`, due so much later."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """`dead`, for this reason."""

    reason: str


Decision: TypeAlias = TryAgain | GiveUp


def after_failure(policy: Retry, attempt: int, permanent: bool, dice: float) -> Decision:
    """Decide from the attempt that failed; `dice` is a number in [0, 1) drawn by the caller."""
    if permanent:
        return GiveUp("permanent failure")
    if attempt >= policy.max_attempts:
        return GiveUp(f"failed {attempt} of {policy.max_attempts} attempts")
    return TryAgain(delay_s(policy, attempt, dice))


def delay_s(policy: Retry, attempt: int, dice: float) -> float:
    """Full jitter: anything from nothing to the exponential bound, so that a herd spreads out."""
    assert 0 <= dice < 1
    doublings = min(attempt - 1, 62)
    bound = min(policy.base.total_seconds() * (1 << doublings), policy.cap.total_seconds())
    return dice * bound
