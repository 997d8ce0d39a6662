"""Retries spread out, stay within their bounds, and end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.retry import Failure, GiveUp, TryAgain, after_failure, delay_s, misses_deadline
from fencepost.core.retry_budget import RESERVE, RetryBudget
from fencepost.errors import InvalidDuration, InvalidSpec
from fencepost.model.job import ATTEMPTS_MAX, Retry, error_names

POLICY = Retry(max_attempts=5, base="5s", cap="1m")
ONLY = Retry(only=ConnectionError)
NEVER = Retry(never="ConnectionRefusedError")
BOTH = Retry(only=ConnectionError, never=ConnectionRefusedError)
REFUSED = error_names(ConnectionRefusedError)
OTHER = error_names(ValueError)
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


def spent_budget() -> RetryBudget:
    budget = RetryBudget(0.2)
    while budget.take():
        pass
    return budget


def test_try_again_carries_the_delay() -> None:
    assert after_failure(POLICY, Failure(2), 0.5) == TryAgain(5.0, "waits for a retry")


@pytest.mark.parametrize(
    ("policy", "failure", "reason"),
    [
        (POLICY, Failure(5), "failed 5 of 5 attempts"),
        (POLICY, Failure(6), "failed 6 of 5 attempts"),
        (POLICY, Failure(1, permanent=True), "permanent failure"),
        (POLICY, Failure(5, permanent=True), "permanent failure"),
        (ONLY, Failure(1, kinds=OTHER), "permanent failure: ValueError is not among those to retry"),
        (ONLY, Failure(1), "permanent failure: an unknown error is not among those to retry"),
        (
            NEVER,
            Failure(1, kinds=REFUSED),
            "permanent failure: ConnectionRefusedError is among those never to retry",
        ),
        (
            BOTH,
            Failure(1, kinds=REFUSED),
            "permanent failure: ConnectionRefusedError is among those never to retry",
        ),
        (BOTH, Failure(1, kinds=OTHER), "permanent failure: ValueError is not among those to retry"),
    ],
)
def test_what_cannot_be_mended_or_has_been_tried_enough_is_not_tried_again(
    policy: Retry, failure: Failure, reason: str
) -> None:
    assert after_failure(policy, failure, 0.5) == GiveUp(reason)


@pytest.mark.parametrize(
    ("policy", "failure"),
    [
        (POLICY, Failure(4)),
        (POLICY, Failure(1, kinds=OTHER)),
        (ONLY, Failure(1, kinds=REFUSED)),
        (NEVER, Failure(1, kinds=OTHER)),
        (NEVER, Failure(1)),
        (BOTH, Failure(1, kinds=("ConnectionResetError", "ConnectionError"))),
    ],
)
def test_what_the_policy_does_not_exclude_is_tried_again(policy: Retry, failure: Failure) -> None:
    assert isinstance(after_failure(policy, failure, 0.5), TryAgain)


@pytest.mark.parametrize(
    ("elapsed_s", "wait_s", "given_up_at_s"), [(90, 0, None), (100, 0, None), (101, 0, 104), (0, 103, 103)]
)
def test_no_attempt_is_due_past_the_deadline(
    elapsed_s: float, wait_s: float, given_up_at_s: int | None
) -> None:
    decision = after_failure(Retry(deadline="102.5s"), Failure(1, elapsed_s, wait_s=wait_s), 0.5)
    if given_up_at_s is None:
        assert decision == TryAgain(2.5, "waits for a retry")
    else:
        assert decision == GiveUp(
            f"the next attempt would begin {given_up_at_s}s after the first, "
            "past the retry deadline of 1m42s500ms"
        )


def test_a_run_is_not_retried_before_the_time_that_it_asked_for() -> None:
    asked = "waits for a retry, as long as it asked to"
    assert after_failure(POLICY, Failure(2, wait_s=120), 0.5) == TryAgain(120, asked)
    assert after_failure(POLICY, Failure(2, wait_s=4), 0.5) == TryAgain(5.0, "waits for a retry")


@pytest.mark.parametrize(("dice", "delay"), [(0.0, 30), (0.5, 45), (ALMOST_ONE, 60)])
def test_without_budget_a_retry_waits_for_the_cap_and_is_not_given_up(dice: float, delay: float) -> None:
    decision = after_failure(POLICY, Failure(1), dice, spent_budget())
    assert isinstance(decision, TryAgain)
    assert decision.delay_s == pytest.approx(delay)
    assert decision.reason == "waits for a retry; at the pace of the cap, as the retry budget is spent"


def test_without_budget_a_retry_still_waits_as_long_as_it_asked_to() -> None:
    decision = after_failure(POLICY, Failure(1, wait_s=300), 0.5, spent_budget())
    assert isinstance(decision, TryAgain)
    assert decision.delay_s == 300
    assert decision.reason.startswith("waits for a retry, as long as it asked to; at the pace of the cap")


def test_without_budget_the_deadline_still_ends_it() -> None:
    policy = Retry(base="5s", cap="1m", deadline="50s")
    assert after_failure(policy, Failure(1, 10), 0.5, spent_budget()) == GiveUp(
        "the retry budget is spent, and the next attempt would begin 55s after the first, "
        "past the retry deadline of 50s"
    )


@pytest.mark.parametrize(
    "failure", [Failure(1, permanent=True), Failure(5), Failure(1, 90, wait_s=90)], ids=repr
)
def test_a_run_that_is_given_up_takes_nothing_from_the_budget(failure: Failure) -> None:
    budget = RetryBudget(0.2)
    assert isinstance(after_failure(Retry(deadline="100s"), failure, 0.5, budget), GiveUp)
    assert budget.balance == RESERVE


@given(
    attempt=st.integers(1, 1_000),
    dice=st.floats(0, ALMOST_ONE),
    base_s=st.floats(0, 86_400),
    more_s=st.floats(0, 864_000),
    wait_s=st.floats(0, 86_400),
    elapsed_s=st.floats(0, 864_000),
    deadline_s=st.none() | st.floats(1, 864_000),
    broke=st.booleans(),
)
def test_no_decision_leaves_the_bounds(
    attempt: int,
    dice: float,
    base_s: float,
    more_s: float,
    wait_s: float,
    elapsed_s: float,
    deadline_s: float | None,
    broke: bool,
) -> None:
    policy = Retry(1_000, base_s, base_s + more_s, deadline=deadline_s)
    budget = spent_budget() if broke else None
    match after_failure(policy, Failure(attempt, elapsed_s, wait_s=wait_s), dice, budget):
        case TryAgain(delay_s):
            assert wait_s <= delay_s <= max(policy.cap.total_seconds(), wait_s)
            assert not misses_deadline(policy, elapsed_s + delay_s)
            assert attempt < policy.max_attempts
        case GiveUp():
            assert deadline_s is not None or attempt == policy.max_attempts


@pytest.mark.parametrize("max_attempts", [0, -1, ATTEMPTS_MAX + 1])
def test_no_policy_without_an_end(max_attempts: int) -> None:
    with pytest.raises(InvalidSpec, match="max_attempts"):
        Retry(max_attempts=max_attempts)


def test_a_cap_below_the_base_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="cap 1s is shorter than base 5s"):
        Retry(base="5s", cap="1s")
    with pytest.raises(InvalidDuration):
        Retry(base="5 parsecs")
