"""Who is late, who gives way and who waits: where nothing is wrong, nothing is said."""

from __future__ import annotations

import pytest

from fencepost.model.policies import OVERLAPS, CatchUp, Overlap, parse_overlap
from fencepost.model.run import Hold, Origin
from tests.history.builder import Pen, at_minutes
from tests.history.checkers import lateness
from tests.history.model import History


@pytest.mark.parametrize(
    ("mode", "late_s", "wrong"),
    [("none", 60, False), ("none", 61, True), ("parallel(2)", 10, False), ("parallel(2)", 11, True)],
)
@pytest.mark.parametrize("overlap", [*map(str, OVERLAPS), "allow(2)"])
def test_a_live_tick_begins_on_time(overlap: str, mode: str, late_s: float, wrong: bool) -> None:
    assert bool(found(begun(overlap, mode, late_s))) is wrong


@pytest.mark.parametrize(
    ("origin", "begins_s", "excused"),
    [
        (Origin.LIVE, 50, "buffer_one buffer_all cancel_other"),
        (Origin.MANUAL, 50, "buffer_one buffer_all cancel_other"),
        (Origin.MANUAL, 70, "buffer_one buffer_all cancel_other"),
        (Origin.BACKFILL, 50, "skip buffer_one buffer_all cancel_other"),
        (Origin.REPLAY, 50, "skip buffer_one buffer_all cancel_other"),
        (Origin.BACKFILL, 70, ""),
        (Origin.CATCH_UP, 70, ""),
    ],
)
@pytest.mark.parametrize("overlap", [*map(str, OVERLAPS)])
def test_a_tick_is_late_from_the_end_of_what_it_stood_behind(
    overlap: str, origin: Origin, begins_s: float, excused: str
) -> None:
    """It is due at 60 s, the run of 30 s begins before or after that and ends at 300 s, the tick at 350 s."""
    history = begun_behind(overlap, origin, fires_s=30, begins_s=begins_s)
    assert bool(found(history)) is (overlap not in excused.split())


@pytest.mark.parametrize("overlap", ["skip", "buffer_one", "buffer_all", "cancel_other"])
def test_a_run_by_hand_that_came_later_excuses_nothing(overlap: str) -> None:
    assert found(begun_behind(overlap, Origin.MANUAL, fires_s=70, begins_s=70))


def test_what_stood_behind_another_for_long_does_not_begin_long_after_it() -> None:
    history = begun_behind("buffer_all", Origin.LIVE, fires_s=30, begins_s=30, then_s=61)
    assert found(history)


@pytest.mark.parametrize(("epoch", "minute", "wrong"), [(1, 2, 1), (1, 4, 0), (0, 2, 0)])
def test_the_latest_gives_way_to_what_is_due_and_written_later(epoch: int, minute: int, wrong: int) -> None:
    pen = Pen()
    pen.schedule("beat", at_minutes(1, 2, 4), catch_up=CatchUp("latest"))
    old = pen.plan("beat", 1, origin=Origin.CATCH_UP, epoch=1)
    pen.wait_until(3)
    pen.start(old)
    pen.wait(1)
    pen.plan("beat", minute, epoch=epoch)
    assert len(found(pen.close(3))) == wrong


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


def begun_behind(
    overlap: str, origin: Origin, *, fires_s: float, begins_s: float, then_s: float = 50
) -> History:
    """A tick of 60 s that begins some time after another run of its schedule, which ends at 300 s."""
    pen = Pen()
    pen.schedule("beat", at_minutes(1), parse_overlap(overlap))
    tick = pen.plan("beat", 1)
    other = pen.plan("beat", fires_s / 60, origin=origin)
    pen.wait_until(begins_s / 60)
    pen.start(other)
    pen.wait_until(5)
    pen.succeed(other)
    pen.wait(then_s)
    pen.start(tick)
    return pen.close(7)


def found(history: History) -> list[str]:
    return [str(one) for one in lateness.check(history)]
