"""A storm of failures does not become a storm of retries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.retry_budget import RESERVE, RetryBudget


def takes(budget: RetryBudget, wanted: int) -> int:
    return sum(budget.take() for _ in range(wanted))


def test_a_job_that_runs_seldom_has_a_reserve_and_no_more() -> None:
    assert takes(RetryBudget(0.2), 100) == RESERVE


@pytest.mark.parametrize(
    ("share", "first_attempts", "retries"),
    [(0.2, 4, 0), (0.2, 5, 1), (0.1, 9, 0), (0.1, 10, 1), (0.2, 500, 10), (1.0, 7, 7), (0.0, 10_000, 0)],
)
def test_a_spent_budget_earns_its_share_and_never_more_than_the_reserve(
    share: float, first_attempts: int, retries: int
) -> None:
    budget = RetryBudget(share)
    takes(budget, RESERVE)
    for _ in range(first_attempts):
        budget.earn()
    assert takes(budget, 1_000) == retries


def test_a_refused_retry_costs_nothing() -> None:
    budget = RetryBudget(0.5)
    takes(budget, RESERVE + 100)
    budget.earn()
    budget.earn()
    assert budget.balance == 1


@given(share=st.floats(0, 1), storm=st.lists(st.booleans(), max_size=500))
def test_no_sequence_has_more_fast_retries_than_the_reserve_and_the_share(
    share: float, storm: list[bool]
) -> None:
    budget, first_attempts, fast = RetryBudget(share), 0, 0
    for fails in storm:
        if fails:
            fast += budget.take()
        else:
            first_attempts += 1
            budget.earn()
        assert fast <= RESERVE + share * first_attempts + 1e-3
        assert 0 <= budget.balance <= RESERVE


@given(rates=st.lists(st.integers(0, 4), min_size=1, max_size=200))
def test_without_a_storm_no_retry_is_refused(rates: list[int]) -> None:
    """One retry for every five first attempts is what the default share pays for."""
    budget = RetryBudget(0.2)
    for extra in rates:
        for _ in range(5 + extra):
            budget.earn()
        assert budget.take()


def test_a_share_outside_its_range_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        RetryBudget(1.5)
