"""What is accounted for, what is open, and what that leaves of the budget."""

import pytest

from fencepost.core.completeness import BURN_WINDOWS_S, Completeness, combined, completeness
from fencepost.core.lifecycle import ENDED
from fencepost.model.run import RunState

TARGET = 0.999


def test_what_is_not_due_counts_neither_way() -> None:
    assert completeness({RunState.PLANNED: 7}) == Completeness(0, 0)
    assert completeness({RunState.PLANNED: 7}).accounted == 1.0
    assert completeness({}).budget_left(TARGET) == 1.0


@pytest.mark.parametrize("state", sorted(ENDED))
def test_every_ending_accounts_for_a_run_and_only_success_completes_it(state: RunState) -> None:
    found = completeness({state: 3, RunState.READY: 1}, 1)
    assert (found.due, found.ended, found.accounted, found.open) == (4, 3, 0.75, 1)
    assert found.in_hands == 0
    withdrawn = 3 if state is RunState.WITHDRAWN else 0
    succeeded = 3 if state is RunState.SUCCEEDED else 0
    assert (found.expected, found.succeeded) == (4 - withdrawn, succeeded)
    assert found.complete == succeeded / (4 - withdrawn)
    assert found.spoiled == 4 - withdrawn - succeeded


def test_a_schedule_whose_ticks_were_all_missed_does_not_look_complete() -> None:
    found = completeness({RunState.MISSED: 47})
    assert (found.words, found.complete, found.accounted) == ("0 of 47 ran", 0.0, 1.0)
    assert found.burn_rate(TARGET) == pytest.approx(47.0)


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.READY])
def test_what_is_not_overdue_is_not_accounted_for_and_spends_no_budget(state: RunState) -> None:
    found = completeness({state: 5, RunState.SUCCEEDED: 5})
    assert (found.accounted, found.open, found.burn_rate(TARGET)) == (0.5, 0, 0.0)
    assert (found.in_hands, found.complete) == (5, 0.5)


@pytest.mark.parametrize(
    ("due", "left_open", "burn"),
    [
        (100_000, 100, 1.0),
        (100_000, 1440, 14.4),
        (1_000, 1, 1.0),
        (10, 1, 1.0),
        (10, 10, 10.0),
        (0, 0, 0.0),
    ],
)
def test_one_open_run_alone_never_spends_more_than_the_whole_budget(
    due: int, left_open: int, burn: float
) -> None:
    found = Completeness(due, due - left_open, left_open, due - left_open)
    assert found.burn_rate(TARGET) == pytest.approx(burn)
    assert found.budget_left(TARGET) == pytest.approx(1.0 - burn)


@pytest.mark.parametrize(
    ("tally", "overdue", "target", "below"),
    [
        ({RunState.SUCCEEDED: 9, RunState.DEAD: 1}, 0, 0.9, False),
        ({RunState.SUCCEEDED: 8, RunState.MISSED: 2}, 0, 0.9, True),
        ({RunState.SUCCEEDED: 999, RunState.SKIPPED: 1}, 0, TARGET, False),
        ({RunState.SUCCEEDED: 998, RunState.SKIPPED: 1}, 0, TARGET, True),
        ({RunState.DEAD: 1}, 0, TARGET, True),
        ({RunState.READY: 5, RunState.RUNNING: 1}, 0, TARGET, False),
        ({RunState.READY: 5}, 1, TARGET, True),
        ({RunState.WITHDRAWN: 3, RunState.PLANNED: 3}, 0, TARGET, False),
        ({}, 0, TARGET, False),
    ],
)
def test_a_share_is_not_below_the_target_while_what_is_under_way_may_reach_it(
    tally: dict[RunState, int], overdue: int, target: float, below: bool
) -> None:
    assert completeness(tally, overdue).is_below(target) == below


def test_tallies_are_added_by_state() -> None:
    both = combined([{RunState.READY: 1, RunState.DEAD: 2}, {RunState.READY: 3}])
    assert both == {RunState.READY: 4, RunState.DEAD: 2}


def test_the_windows_are_named_after_their_length() -> None:
    assert BURN_WINDOWS_S == {"1h": 3600.0, "6h": 21600.0}
