"""What a lease store may answer is explained, and what it may not is found and named."""

import math
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.model.identifiers import NodeId
from tests.linearizability.cases import (
    ANN,
    BAD,
    BEN,
    GOOD,
    LOST,
    History,
    granted,
    refused,
    renewed,
    unheard_grant,
    unheard_renewal,
)
from tests.linearizability.checker import Explained, GaveUp, Unexplained, check
from tests.linearizability.lease_history import LeaseRules
from tests.linearizability.model import MUTANTS, TTL_S, Model
from tests.linearizability.scripts import CLIENTS, Act, Fate, Verb, play, random_acts

EXACT = LeaseRules(ttl_s=10, slack_s=0)
PATIENT = LeaseRules(ttl_s=10)
LIFE_ACTS = 80
LIVES_MAX = 100


@pytest.mark.parametrize("name", GOOD)
def test_no_alarm_without_a_fault(name: str) -> None:
    verdict = check(GOOD[name], EXACT)
    assert isinstance(verdict, Explained), str(verdict)
    assert {one for one in GOOD[name] if one.answered_at is not None} <= {*verdict.order}


@pytest.mark.parametrize("name", BAD)
def test_no_fault_goes_unnamed(name: str) -> None:
    history, culprit, why = BAD[name]
    verdict = check(history, EXACT)
    assert isinstance(verdict, Unexplained), str(verdict)
    if "overlap" not in name:
        assert verdict.operation == history[culprit]
    assert why in str(verdict)


@pytest.mark.parametrize("name", BAD)
def test_nothing_before_the_fault_is_blamed(name: str) -> None:
    history, culprit, _ = BAD[name]
    assert isinstance(check(history[:culprit], EXACT), Explained)


def test_a_store_without_a_limit_is_not_blamed_for_being_late() -> None:
    history = [granted(0, 1, ANN, 1), refused(90, 91, BEN, ANN, 1), renewed(95, 96, ANN, 1)]
    assert isinstance(check(history, EXACT), Unexplained)
    assert isinstance(check(history, LeaseRules(ttl_s=10, slack_s=80)), Unexplained)
    assert isinstance(check(history, LeaseRules(ttl_s=10, slack_s=85)), Explained)
    assert isinstance(check(history, PATIENT), Explained)


def test_a_coarse_clock_is_not_blamed_within_its_grain() -> None:
    history = [granted(0, 1, ANN, 1), granted(9.9, 9.98, BEN, 2)]
    assert isinstance(check(history, LeaseRules(10, 0, tolerance_s=0.01)), Unexplained)
    assert isinstance(check(history, LeaseRules(10, 0, tolerance_s=0.02)), Explained)


def test_clients_that_judge_for_themselves_need_not_agree() -> None:
    history = [granted(0, 5, ANN, 1), renewed(11, 12, ANN, 1, LOST), refused(13, 14, BEN, ANN, 1)]
    assert isinstance(check(history, EXACT), Unexplained)
    assert isinstance(check(history, LeaseRules(10, 0, one_judge=False)), Explained)


def test_clients_that_judge_for_themselves_do_not_turn_back_time() -> None:
    history = [granted(0, 1, ANN, 1), renewed(11.5, 11.9, ANN, 1, LOST), renewed(2, 30, ANN, 1)]
    verdict = check(history, LeaseRules(10, 0, one_judge=False))
    assert isinstance(verdict, Unexplained)
    assert "must have run out by 11.000, and the call came at 11.500 or later" in str(verdict)


def test_objections_to_earlier_answers_are_not_repeated() -> None:
    history = [granted(0, 9, ANN, 1), refused(1, 2, BEN, ANN, 1), renewed(9.5, 9.6, BEN, 1)]
    verdict = check(history, EXACT)
    assert isinstance(verdict, Unexplained)
    assert verdict.objections == ("ann holds it under epoch 1 until 10.000 at least",)


def test_calls_that_explain_nothing_are_not_in_the_way() -> None:
    history = [granted(0, 1, ANN, 1), unheard_renewal(1, ANN, 1), renewed(2, 3, BEN, 1)]
    verdict = check(history, EXACT)
    assert isinstance(verdict, Unexplained)
    assert verdict.before == (history[0],)


def test_a_store_that_forgot_and_says_so_is_not_blamed() -> None:
    forgetful = LeaseRules(10, 0, forgetful=True)
    history = [granted(0, 1, ANN, 5), renewed(2, 3, ANN, 5, LOST), granted(2, 3, BEN, 1, "copy")]
    assert isinstance(check(history, EXACT), Unexplained)
    assert isinstance(check(history, forgetful), Explained)
    assert isinstance(check([*history, granted(20, 21, ANN, 1, "copy")], forgetful), Unexplained)
    assert isinstance(check([*history, granted(20, 21, ANN, 6)], forgetful), Unexplained)


def test_gives_up_aloud_instead_of_searching_for_ever() -> None:
    connection_limit = [NodeId(f"rival-{number}") for number in range(40)]
    history = [unheard_grant(0, rival) for rival in connection_limit]
    history += [granted(0, 100, rival, 1 + number) for number, rival in enumerate(connection_limit)]
    history += [granted(101, 102, ANN, 1)]
    verdict = check(history, PATIENT, steps_max=2_000)
    assert verdict == GaveUp(2_000)
    assert "gave up after 2000 steps" in str(verdict)


@given(
    st.lists(
        st.builds(
            Act,
            client=st.sampled_from(CLIENTS),
            verb=st.sampled_from(Verb),
            pause_s=st.floats(0, 3 * TTL_S),
            there_s=st.floats(0, TTL_S / 2),
            back_s=st.floats(0, TTL_S / 2),
            fate=st.sampled_from([Fate.HEARD, *Fate]),
            late_s=st.floats(0, 5 * TTL_S),
        ),
        max_size=30,
    )
)
def test_no_life_of_a_right_store_raises_an_alarm(acts: list[Act]) -> None:
    verdict = check(play(Model(), acts), LeaseRules(TTL_S, slack_s=0, tolerance_s=1e-6))
    assert isinstance(verdict, Explained), str(verdict)


@pytest.mark.parametrize("seed", range(20))
def test_no_long_life_of_a_right_store_raises_an_alarm(seed: int) -> None:
    verdict = check(life(Model, seed, 5 * LIFE_ACTS), LeaseRules(TTL_S, slack_s=0, tolerance_s=1e-6))
    assert isinstance(verdict, Explained), str(verdict)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_no_wrong_store_gets_through(mutant: Callable[[], Model]) -> None:
    rules = LeaseRules(TTL_S, slack_s=0)
    verdicts = (check(life(mutant, seed), rules) for seed in range(LIVES_MAX))
    assert any(isinstance(verdict, Unexplained) for verdict in verdicts)


def test_a_store_that_is_only_late_is_seen_only_with_a_limit() -> None:
    (late,) = (mutant for mutant in MUTANTS if mutant.__name__ == "ExpiresLate")
    for seed in range(20):
        assert isinstance(check(life(late, seed), LeaseRules(TTL_S, math.inf)), Explained)


def life(model: Callable[[], Model], seed: int, acts: int = LIFE_ACTS) -> History:
    return play(model(), random_acts(Random(seed), acts))
