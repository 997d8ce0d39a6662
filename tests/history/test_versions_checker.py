"""Which versions may follow one another, and which rows need no version."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Epoch, ScheduleId
from fencepost.model.run import Hold, Origin, RunState
from tests.history.builder import Pen, at_minutes
from tests.history.checkers import ticks
from tests.history.model import History

BEAT = ScheduleId("beat")
NEVER = at_minutes(1000)


def test_an_edit_during_a_pause_does_not_end_it() -> None:
    assert found(edited_in_a_pause()) == []


def test_a_gap_after_such_an_edit_needs_the_pause_too() -> None:
    history = edited_in_a_pause()
    history.halts = []
    assert found(history) == ["I2", "I2"]


def test_a_pause_without_an_end_and_a_removal_are_fine() -> None:
    pen = Pen()
    pen.schedule("beat", NEVER)
    pen.wait(10)
    pen.stop("beat")
    assert found(pen.close(1)) == []


def test_who_does_not_see_pauses_still_sees_two_versions_in_force() -> None:
    history = edited_in_a_pause()
    history.halts, history.unseen = [], frozenset({"halts"})
    assert found(history) == []
    first, *others = history.versions[BEAT]
    longer = replace(first, in_force_until=StoreTime(first.in_force_from + timedelta(hours=1)))
    history.versions = {BEAT: [longer, *others]}
    assert found(history) == ["I3"]


@pytest.mark.parametrize("origin", [Origin.MANUAL, Origin.BACKFILL, Origin.REPLAY])
def test_a_run_that_was_asked_for_needs_no_version(origin: Origin) -> None:
    assert found(extra(origin=origin)) == []


def test_what_was_planned_by_name_to_be_held_needs_no_version() -> None:
    assert found(extra(held=Hold.OPERATOR)) == []


def test_no_epoch_is_no_explanation() -> None:
    assert found(extra()) == ["I3"]
    assert found(extra(held=Hold.PARKED)) == ["I3"]


def test_what_is_held_in_the_instant_of_its_birth_was_planned_by_name() -> None:
    for wait_s, wrong in ((0, []), (1, ["I3"])):
        pen = Pen()
        pen.schedule("beat", NEVER)
        key = pen.plan("beat", 1, epoch=Epoch(0))
        pen.wait(wait_s)
        pen.change(key, held=Hold.OPERATOR)
        assert found(pen.close(2)) == wrong


def test_what_was_called_off_before_its_time_needs_no_version() -> None:
    pen = Pen()
    pen.schedule("beat", NEVER)
    pen.end(pen.plan("beat", 1, epoch=Epoch(0)), RunState.SKIPPED, "not this one")
    assert found(pen.close(2)) == []


def extra(**values: object) -> History:
    pen = Pen()
    pen.schedule("beat", NEVER)
    pen.plan("beat", 1, **{"epoch": Epoch(0), **values})
    return pen.close(2)


def edited_in_a_pause() -> History:
    pen = Pen()
    pen.schedule("beat", NEVER)
    pen.wait(10)
    pen.stop("beat")
    pen.wait(10)
    pen.schedule("beat", NEVER)
    first, second = pen.history.versions[BEAT]
    pen.wait(10)
    pen.schedule("beat", NEVER)
    third = pen.history.versions[BEAT][-1]
    empty = replace(second, in_force_until=second.in_force_from)
    pen.history.versions = {BEAT: [first, empty, third]}
    return pen.close(1)


def found(history: History) -> list[str]:
    return [one.invariant for one in ticks.check(history)]
