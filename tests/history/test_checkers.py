"""Each checker lets good histories pass and finds each kind of violation in a spoiled one."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from datetime import timedelta

import pytest

from fencepost.model.identifiers import Fence
from fencepost.model.run import Origin, RunState
from tests.history.builder import Pen, at_minutes
from tests.history.eventful import eventful
from tests.history.findings import HANDFUL, Kind
from tests.history.model import Fault, History
from tests.history.spoilings import OF_RESCUE, SLOW, SPOILINGS, Spoil, becomes, move, place
from tests.history.verdict import CHECKERS, judge

NAMES = [f"{number}: {kind.name}" for number, (kind, _) in enumerate(SPOILINGS)]
BLACKOUT = frozenset({"blackout"})
KINDS = [kind for checker in CHECKERS.values() for kind in checker.KINDS]


def test_a_good_history_is_good_and_every_checker_looked() -> None:
    verdict = judge(eventful())
    assert verdict.violations == ()
    assert verdict.idle == []
    assert verdict.silent == {}


@pytest.mark.parametrize(("kind", "spoil"), SPOILINGS, ids=NAMES)
def test_a_spoiled_history_is_found_out_by_name(kind: Kind, spoil: Spoil) -> None:
    history = eventful()
    spoil(history)
    found = judge(history).violations
    assert any(one.invariant == kind.invariant and one.what.startswith(f"{kind.name}: ") for one in found), (
        found
    )


def test_no_kind_of_violation_goes_without_a_spoiled_history() -> None:
    assert {kind for kind, _ in SPOILINGS} == set(KINDS)


def test_kinds_are_told_apart_by_their_names() -> None:
    doubled = [name for name, number in Counter(kind.name for kind in KINDS).items() if number > 1]
    assert doubled == []


@pytest.mark.parametrize("name", CHECKERS)
def test_checkers_need_what_a_history_has(name: str) -> None:
    assert {one.name for one in fields(History)} >= CHECKERS[name].NEEDS
    assert CHECKERS[name].NEEDS


@pytest.mark.parametrize("name", CHECKERS)
def test_a_checker_that_cannot_see_has_no_say(name: str) -> None:
    history = eventful()
    lacks = min(CHECKERS[name].NEEDS)
    history.unseen = frozenset({lacks})
    verdict = judge(history)
    assert verdict.silent[name] == {lacks}
    assert name not in verdict.looked


def test_a_checker_with_nothing_to_look_at_is_seen() -> None:
    assert judge(Pen().close(1)).idle == list(CHECKERS)


def test_what_a_ledger_does_not_promise_is_forgiven() -> None:
    history = eventful()
    history.acknowledged.append("work#lost")
    assert [one.invariant for one in judge(history).violations] == ["I12"]
    history.forgives = frozenset({"I12"})
    assert judge(history).violations == ()


def test_a_checker_tells_of_a_handful_at_the_most() -> None:
    history = eventful()
    history.acknowledged += [f"work#{number}" for number in range(100)]
    assert len(judge(history).violations) == HANDFUL


def test_a_rescue_waits_for_the_end_of_a_fault_that_excuses_it() -> None:
    history = eventful()
    rescued = history.changes[place(history, OF_RESCUE)].at
    move(history, OF_RESCUE, 25)
    history.faults.append(Fault("blackout", rescued, rescued + timedelta(seconds=15)))
    assert "I8" not in {one.invariant for one in judge(history, excuses=BLACKOUT).violations}
    assert "I8" in {one.invariant for one in judge(history, excuses=frozenset({"flood"})).violations}
    assert "I8" in {one.invariant for one in judge(history).violations}


def test_a_rescue_long_after_its_excuse_is_late() -> None:
    history = eventful()
    rescued = history.changes[place(history, OF_RESCUE)].at
    move(history, OF_RESCUE, 55)
    history.faults.append(Fault("blackout", rescued, rescued + timedelta(seconds=2)))
    assert "I8" in {one.invariant for one in judge(history, excuses=BLACKOUT).violations}


def test_a_forced_backfill_of_what_was_pruned_is_no_second_writing() -> None:
    pen = Pen()
    pen.schedule("asked", at_minutes(0))
    for _ in range(2):
        key = pen.plan("asked", 0, state=RunState.READY, origin=Origin.BACKFILL)
        pen.start(key)
        pen.succeed(key)
        pen.prune(key)
    history = pen.close(1)
    fenced = [one for one in judge(history).violations if one.invariant == "I1"]
    assert fenced == []


def test_a_rescue_in_one_write_is_one_too() -> None:
    """The stores in SQL give the row its new fence and its new state at once."""
    pen = Pen()
    pen.schedule("beat", at_minutes(1))
    key = pen.plan("beat", 1)
    pen.wait_until(1)
    pen.start(key)
    pen.wait(31)
    pen.change(key, state=RunState.READY, fence=Fence(100), reason="rescued: silence", run_at=pen.now)
    pen.end(key, RunState.CANCELLED, "not this one", fence=Fence(101))
    assert judge(pen.close(2)).violations == ()


def test_a_row_that_outlives_its_version_by_chance_is_no_explained_one() -> None:
    """Called off only after its time: an edit that ended its version would have withdrawn it before."""
    pen = Pen()
    pen.schedule("late", at_minutes(3))
    pen.lead("node-1", 1)
    key = pen.plan("late", 4)
    pen.wait_until(5)
    pen.end(key, RunState.CANCELLED, "too late")
    assert any(one.invariant == "I3" for one in judge(pen.close(6)).violations)


def test_an_effect_that_cannot_have_been_seen_yet_is_not_missed() -> None:
    history = eventful()
    success = next(one for one in history.changes if becomes(SLOW, RunState.SUCCEEDED)(one))
    history.effects = [one for one in history.effects if one.key != SLOW]
    history.effects_seen_through = success.at
    assert [one.invariant for one in judge(history).violations] == ["effects"]
    history.effects_seen_through = success.at - timedelta(seconds=1)
    assert judge(history).violations == ()
