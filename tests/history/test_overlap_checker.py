"""What counts as unfinished, and against which policy."""

from __future__ import annotations

import pytest

from fencepost.model.policies import Overlap, parse_overlap
from fencepost.model.run import RunState
from tests.history.builder import Pen, at_minutes
from tests.history.checkers import overlap
from tests.history.model import History


def test_as_many_as_the_policy_allows_may_run() -> None:
    assert found(side_by_side(parse_overlap("allow(3)"), ticks=3)) == []
    assert found(side_by_side(Overlap.ALLOW, ticks=3)) == []


@pytest.mark.parametrize("policy", ["skip", "buffer_one", "buffer_all(5)", "cancel_other", "terminate_other"])
def test_where_one_may_run_a_second_is_one_too_many(policy: str) -> None:
    assert found(side_by_side(parse_overlap(policy), ticks=1)) == []
    assert found(side_by_side(parse_overlap(policy), ticks=2)) == ["I7"]


def test_one_more_than_the_policy_allows_is_too_many() -> None:
    assert found(side_by_side(parse_overlap("allow(2)"), ticks=3)) == ["I7"]


def test_a_run_that_waits_for_its_next_attempt_is_in_the_way() -> None:
    pen = Pen()
    pen.schedule("beat", at_minutes(1, 2))
    first, second = (pen.plan("beat", minute) for minute in (1, 2))
    pen.start(first)
    pen.fail(first, wait_s=5)
    pen.start(second)
    assert found(pen.close(3)) == ["I7"]


def test_the_next_attempt_of_a_run_meets_no_other() -> None:
    """What began beside it began against the policy, and was told of then."""
    pen = Pen()
    pen.schedule("beat", at_minutes(1, 2), parse_overlap("allow(2)"))
    first, second = (pen.plan("beat", minute) for minute in (1, 2))
    pen.start(first)
    pen.start(second)
    pen.fail(first, wait_s=5)
    pen.start(first)
    assert found(pen.close(3)) == []


def test_a_replay_is_judged_as_a_first_attempt() -> None:
    pen = Pen()
    pen.schedule("beat", at_minutes(1, 2))
    first, second = (pen.plan("beat", minute) for minute in (1, 2))
    pen.start(first)
    pen.succeed(first)
    pen.start(second)
    pen.replay(first)
    assert found(pen.close(3)) == []
    pen.start(first)
    assert found(pen.close(3)) == ["I7"]


def test_an_edit_to_a_stricter_policy_accuses_no_running_run() -> None:
    pen = Pen()
    pen.schedule("beat", at_minutes(1, 2, 3), Overlap.ALLOW)
    old = [pen.plan("beat", minute) for minute in (1, 2)]
    for key in old:
        pen.start(key)
    pen.schedule("beat", at_minutes(1, 2, 3))
    new = pen.plan("beat", 3)
    assert found(pen.close(4)) == []
    pen.end(old[0], RunState.CANCELLED, "stopped on request")
    pen.start(new)
    assert found(pen.close(4)) == ["I7"]


def test_a_pruned_run_is_in_the_way_of_no_tick() -> None:
    pen = Pen()
    pen.schedule("beat", at_minutes(1, 2))
    first, second = (pen.plan("beat", minute) for minute in (1, 2))
    pen.start(first)
    pen.succeed(first)
    pen.prune(first)
    pen.start(second)
    assert found(pen.close(3)) == []


def side_by_side(policy: Overlap, ticks: int) -> History:
    pen = Pen()
    pen.schedule("beat", at_minutes(*range(1, ticks + 1)), policy)
    for key in [pen.plan("beat", minute) for minute in range(1, ticks + 1)]:
        pen.start(key)
    return pen.close(ticks)


def found(history: History) -> list[str]:
    return [one.invariant for one in overlap.check(history)]
