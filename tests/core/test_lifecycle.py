"""The table of a run's states: what it allows, and above all what it does not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from fencepost.core.lifecycle import ENDED, INITIAL, REPLAYS, TRANSITIONS, may_move, observed
from fencepost.model.clocks import StoreTime
from fencepost.model.run import RunState as S

NOW = StoreTime(datetime(2026, 3, 1, 12, tzinfo=UTC))

ALLOWED = {
    (S.PLANNED, S.READY),
    (S.PLANNED, S.RUNNING),
    (S.PLANNED, S.SKIPPED),
    (S.PLANNED, S.MISSED),
    (S.PLANNED, S.CANCELLED),
    (S.PLANNED, S.WITHDRAWN),
    (S.READY, S.RUNNING),
    (S.READY, S.SKIPPED),
    (S.READY, S.MISSED),
    (S.READY, S.CANCELLED),
    (S.RUNNING, S.SUCCEEDED),
    (S.RUNNING, S.READY),
    (S.RUNNING, S.DEAD),
    (S.RUNNING, S.CANCELLED),
}


@pytest.mark.parametrize(("source", "target"), list(product(S, S)))
def test_no_move_but_those_of_the_table(source: S, target: S) -> None:
    assert may_move(source, target) is ((source, target) in ALLOWED)


def test_the_ended_states_are_the_ones_that_account_for_a_run() -> None:
    assert set(ENDED) == {S.SUCCEEDED, S.DEAD, S.SKIPPED, S.MISSED, S.CANCELLED, S.WITHDRAWN}


@pytest.mark.parametrize("state", sorted(ENDED))
def test_nothing_leaves_an_ended_state_by_itself(state: S) -> None:
    assert not [target for target in S if may_move(state, target)]


def test_an_operator_sends_only_what_has_ended_on_its_way_again() -> None:
    assert {source for source, _ in REPLAYS} == set(ENDED)
    assert {target for _, target in REPLAYS} == {S.READY}


def test_no_state_is_out_of_reach() -> None:
    reached = set(INITIAL)
    for _ in S:
        reached |= {target for source, target in TRANSITIONS if source in reached}
    assert reached == set(S)


def test_no_state_is_a_dead_end_before_the_end() -> None:
    ending = set(ENDED)
    for _ in S:
        ending |= {source for source, target in TRANSITIONS if target in ending}
    assert ending == set(S)


def test_every_move_says_why() -> None:
    assert all([*TRANSITIONS.values(), *REPLAYS.values()])


@pytest.mark.parametrize(
    ("state", "due_in_s", "shown"),
    [
        (S.PLANNED, 1, S.PLANNED),
        (S.PLANNED, 0, S.READY),
        (S.PLANNED, -1, S.READY),
        (S.READY, 1, S.READY),
        *[(state, -1, state) for state in sorted(set(S) - {S.PLANNED})],
    ],
)
def test_only_time_makes_a_planned_run_ready(state: S, due_in_s: int, shown: S) -> None:
    assert observed(state, NOW + timedelta(seconds=due_in_s), NOW) is shown
