"""Retries spread out, stay within their bounds, and end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.retry import (
    Failure,
    GiveUp,
    TryAgain,
    after_failure,
    delay_max_s,
    delay_s,
    misses_deadline,
)
from fencepost.core.retry_budget import RESERVE, RetryBudget
from fencepost.errors import InvalidDuration, InvalidSpec
from fencepost.model.codec import job_from_text, job_to_text
from fencepost.model.identifiers import JobName
from fencepost.model.job import ATTEMPTS_MAX, Backoff, BackoffWord, JobSpec, Retry, error_names

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


@pytest.mark.parametrize(
    ("policy", "bounds_s"),
    [
        (Retry(base="10s", cap="5m", max_doublings=3), [10, 20, 40, 80, 160, 240, 300, 300]),
        (Retry(base="10s", cap="5m", max_doublings=0), [10, 20, 30, 40, 50, 60, 70, 80]),
        (Retry(base="10s", cap="1m", backoff="linear"), [10, 20, 30, 40, 50, 60, 60, 60]),
        (Retry(base="10s", backoff="constant"), [10] * 8),
        (Retry(base="10s", cap="1m", backoff=lambda attempt: attempt**2 * 60), [60, 240, 540, 960]),
        (Retry(base="10s", cap="1m", backoff=lambda attempt: "1h30m"), [5_400, 5_400]),
    ],
)
def test_the_bound_grows_by_the_backoff(policy: Retry, bounds_s: list[float]) -> None:
    assert [delay_max_s(policy, number) for number in range(1, len(bounds_s) + 1)] == bounds_s


@pytest.mark.parametrize("backoff", ["linear", "constant"])
def test_a_delay_that_was_named_is_nearly_all_of_it(backoff: BackoffWord) -> None:
    policy = Retry(base="10s", backoff=backoff)
    assert delay_s(policy, 1, 0.0) == 10
    assert delay_s(policy, 1, ALMOST_ONE) == pytest.approx(9)


def test_a_function_is_taken_at_its_word() -> None:
    assert {delay_s(Retry(backoff=lambda _: 7), 1, dice) for dice in (0.0, 0.5, ALMOST_ONE)} == {7}


@pytest.mark.parametrize("said", [-1, "soon", None, float("nan")])
def test_a_function_that_fails_waits_for_the_cap(said: Any) -> None:
    def backoff(attempt: int) -> Any:
        return 1 / 0 if said is None else said

    assert delay_s(Retry(cap="90s", backoff=backoff), 1, 0.0) == 90


def test_a_spent_budget_does_not_shorten_a_delay() -> None:
    hourly = Retry(5, base="1s", cap="1m", backoff=lambda _: "1h")
    decided = after_failure(hourly, Failure(1), 0.5, spent_budget())
    assert isinstance(decided, TryAgain)
    assert decided.delay_s == 3_600


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (
            {"backoff": "fibonacci"},
            'backoff "fibonacci": expected exponential, linear, constant, or a function',
        ),
        ({"backoff": "function"}, 'backoff "function": expected exponential'),
        ({"max_doublings": -1}, "max_doublings -1: expected 0 to 62"),
        ({"max_doublings": True}, "max_doublings True: expected 0 to 62"),
        ({"backoff": "linear", "max_doublings": 3}, "max_doublings is for exponential backoff"),
    ],
)
def test_a_backoff_that_cannot_be_is_refused(words: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidSpec, match=complaint):
        Retry(**words)


@pytest.mark.parametrize(
    ("retry", "kept"),
    [
        (Retry(backoff="linear"), Retry(backoff="linear")),
        (Retry(max_doublings=0), Retry(max_doublings=0)),
        (Retry(backoff=lambda attempt: attempt), Retry(backoff=Backoff.FUNCTION)),
        (Retry(), Retry()),
    ],
)
def test_a_backoff_is_kept_with_its_job(retry: Retry, kept: Retry) -> None:
    text = job_to_text(JobSpec(JobName("report"), retry=retry))
    assert job_from_text(text).retry == kept
    assert ("backoff" in text or "max_doublings" in text) is (kept != Retry())


def test_a_function_is_not_for_jobs_that_are_done_elsewhere() -> None:
    with pytest.raises(InvalidSpec, match="name one of exponential, linear, constant"):
        JobSpec(JobName("report"), retry=Retry(backoff=lambda attempt: attempt), external=True)


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
