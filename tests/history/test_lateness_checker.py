"""Who is late, who gives way and who waits: where nothing is wrong, nothing is said."""

from __future__ import annotations

import pytest

from fencepost.model.policies import CatchUp, Overlap, parse_overlap
from fencepost.model.run import Hold, Origin
from tests.history.builder import Pen, at_minutes
from tests.history.checkers import lateness
from tests.history.model import History


@pytest.mark.parametrize(
    ("mode", "late_s", "wrong"),
    [("none", 60, False), ("none", 61, True), ("parallel(2)", 10, False), ("parallel(2)", 11, True)],
)
@pytest.mark.parametrize("overlap", ["allow", "allow(2)", "terminate_other"])
def test_a_live_tick_begins_on_time(overlap: str, mode: str, late_s: float, wrong: bool) -> None:
    assert bool(found(begun(overlap, mode, late_s))) is wrong


@pytest.mark.parametrize("overlap", ["skip", "buffer_one", "buffer_all", "cancel_other"])
def test_what_may_have_waited_is_not_called_late(overlap: str) -> None:
    assert found(begun(overlap, "none", 600)) == []


def test_a_slow_statement_is_allowed_for() -> None:
    history = begun("allow", "none", 63)
    assert found(history)
    history.statement_s = 5
    assert found(history) == []


@pytest.mark.parametrize(("held", "wrong"), [(Hold.NONE, 1), (Hold.PARKED, 1), (Hold.OPERATOR, 0)])
def test_the_latest_gives_way_to_what_is_due_and_free(held: Hold, wrong: int) -> None:
    pen = Pen()
    pen.schedule("beat", at_minutes(1, 2), catch_up=CatchUp("latest"))
    old, new = (pen.plan("beat", minute) for minute in (1, 2))
    pen.change(old, origin=Origin.CATCH_UP)
    pen.change(new, held=held)
    pen.wait_until(3)
    pen.start(old)
    assert len(found(pen.close(3))) == wrong


def test_the_latest_does_not_wait_for_what_is_not_due_or_has_begun() -> None:
    pen = Pen()
    pen.schedule("beat", at_minutes(1, 2, 3), Overlap.ALLOW, catch_up=CatchUp("latest"))
    old, new, _ = (pen.plan("beat", minute) for minute in (1, 2, 3))
    pen.wait_until(2)
    pen.start(new)
    pen.wait(30)
    pen.change(old, origin=Origin.CATCH_UP)
    pen.start(old)
    assert found(pen.close(3)) == []


@pytest.mark.parametrize(("mode", "wrong"), [("parallel(2)", 1), ("parallel(3)", 0), ("sequential", 2)])
def test_so_many_are_caught_up_at_once(mode: str, wrong: int) -> None:
    pen = Pen()
    pen.schedule("beat", at_minutes(1, 2, 3), Overlap.ALLOW, catch_up=CatchUp(mode))
    ticks = [pen.plan("beat", minute) for minute in (1, 2, 3)]
    pen.wait_until(5)
    for tick in ticks:
        pen.change(tick, origin=Origin.CATCH_UP)
        pen.start(tick)
    assert len(found(pen.close(5))) == wrong


def test_one_that_takes_the_place_of_another_in_the_same_moment_is_not_one_too_many() -> None:
    """What is parked is told of before what starts."""
    pen = Pen()
    pen.schedule("beat", at_minutes(1, 2, 3), Overlap.BUFFER_ONE)
    first, second = (pen.plan("beat", minute) for minute in (1, 2))
    pen.wait_until(2)
    pen.change(first, held=Hold.PARKED)
    pen.change(second, held=Hold.PARKED)
    pen.start(first)
    pen.wait(30)
    pen.succeed(first)
    assert found(pen.close(3)) == []


def test_each_version_has_its_own_who_wait() -> None:
    pen = Pen()
    for minute in (1, 2):
        pen.schedule("beat", at_minutes(1, 2), Overlap.BUFFER_ONE)
        pen.change(pen.plan("beat", minute), held=Hold.PARKED)
        pen.wait(30)
    assert found(pen.close(3)) == []


def test_fifty_wait_where_no_number_is_given() -> None:
    pen = Pen()
    pen.schedule("beat", at_minutes(*range(1, 60)), parse_overlap("buffer_all"))
    for minute in range(1, 51):
        pen.change(pen.plan("beat", minute), held=Hold.PARKED)
    assert found(pen.close(3)) == []
    pen.change(pen.plan("beat", 51), held=Hold.PARKED)
    assert len(found(pen.close(3))) == 1


def begun(overlap: str, mode: str, late_s: float) -> History:
    pen = Pen()
    pen.schedule("beat", at_minutes(1), parse_overlap(overlap), catch_up=CatchUp(mode))
    tick = pen.plan("beat", 1)
    pen.wait_until(1)
    pen.wait(late_s)
    pen.start(tick)
    return pen.close(2)


def found(history: History) -> list[str]:
    return [str(one) for one in lateness.check(history)]
