"""Retries spread out, stay within their bounds, and end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.retry import GiveUp, TryAgain, after_failure, delay_s
from fencepost.errors import InvalidDuration, InvalidSpec
from fencepost.model.job import ATTEMPTS_MAX, Retry

POLICY = Retry(max_attempts=5, base="5s", cap="1m")
ALMOST_ONE = 1 - 2**-53


@pytest.mark.parametrize(
    ("attempt", "bound_s"), [(1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (6, 60), (1000, 60)]
)
def test_the_bound_doubles_until_the_cap(attempt: int, bound_s: float) -> None:
    assert delay_s(POLICY, attempt, 0.5) == bound_s / 2


def test_the_jitter_is_full() -> None:
    assert delay_s(POLICY, 3, 0.0) == 0
    assert delay_s(POLICY, 3, ALMOST_ONE) == pytest.approx(20)


@given(
    attempt=st.integers(1, 10**9),
    dice=st.floats(0, ALMOST_ONE),
    base_s=st.floats(0, 86_400),
    more_s=st.floats(0, 864_000),
)
def test_no_attempt_however_late_leaves_the_bounds(
    attempt: int, dice: float, base_s: float, more_s: float
) -> None:
    policy = Retry(5, base_s, base_s + more_s)
    assert 0 <= delay_s(policy, attempt, dice) <= policy.cap.total_seconds()


@pytest.mark.parametrize("dice", [-0.1, 1.0])
def test_dice_outside_their_range_are_a_bug(dice: float) -> None:
    with pytest.raises(AssertionError):
        delay_s(POLICY, 1, dice)


def test_the_last_attempt_is_not_followed_by_another() -> None:
    assert isinstance(after_failure(POLICY, 4, False, 0.5), TryAgain)
    assert after_failure(POLICY, 5, False, 0.5) == GiveUp("failed 5 of 5 attempts")


def test_attempts_beyond_a_limit_that_was_lowered_are_not_followed_by_another() -> None:
    assert isinstance(after_failure(POLICY, 6, False, 0.5), GiveUp)


def test_a_permanent_failure_is_not_retried() -> None:
    assert after_failure(POLICY, 1, True, 0.5) == GiveUp("permanent failure")


def test_try_again_carries_the_delay() -> None:
    assert after_failure(POLICY, 2, False, 0.5) == TryAgain(5.0)


@pytest.mark.parametrize("max_attempts", [0, -1, ATTEMPTS_MAX + 1])
def test_no_policy_without_an_end(max_attempts: int) -> None:
    with pytest.raises(InvalidSpec, match="max_attempts"):
        Retry(max_attempts=max_attempts)


def test_a_cap_below_the_base_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="cap 1s is shorter than base 5s"):
        Retry(base="5s", cap="1s")
    with pytest.raises(InvalidDuration):
        Retry(base="5 parsecs")
