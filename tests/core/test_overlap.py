"""A tick does not start beside what its schedule is doing, whenever it is judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fencepost.core.overlap import Answer, Displace, Go, Queue, Skip, answer, free_since
from fencepost.errors import InvalidSpec
from fencepost.model.claiming import StartedRun
from fencepost.model.identifiers import RunKey
from fencepost.model.policies import BUFFER_MAX, OVERLAPS, Overlap, OverlapKind, parse_overlap
from fencepost.model.run import Origin
from tests.core.facts import finished, key, moment, running, tick

BUSY = (running(0),)


def met(found: Answer) -> RunKey | None:
    assert isinstance(found, Skip | Go)
    return found.blocked_by if isinstance(found, Skip) else None


@pytest.mark.parametrize(
    ("on_time", "unfinished", "ended", "expected"),
    [
        (True, (), (), None),
        (True, BUSY, (), key(0)),
        (False, BUSY, (), key(0)),
        (True, (), (finished(0, at=59),), None),
        (True, (), (finished(0, at=60),), None),
        (True, (), (finished(0, at=60.001),), key(0)),
        (False, (), (finished(0, at=61),), None),
        (True, BUSY, (finished(-60, at=61),), key(0)),
        (True, (), (finished(-30, at=62), finished(0, at=61)), key(-30)),
    ],
)
def test_a_tick_that_skips_meets_what_was_unfinished_at_its_time(
    on_time: bool,
    unfinished: tuple[StartedRun, ...],
    ended: tuple[StartedRun, ...],
    expected: RunKey | None,
) -> None:
    assert met(answer(tick(60), on_time, unfinished, ended, 0)) == expected


def test_a_tick_judged_later_does_not_get_another_answer() -> None:
    while_it_ran = answer(tick(60), True, BUSY, (), 0)
    after_it_ended = answer(tick(60), True, (), (finished(0, at=63),), 0)
    assert while_it_ran == after_it_ended == Skip(key(0), f"overlap with {key(0)}")


def test_a_run_that_fired_after_the_tick_and_has_ended_was_not_in_its_way() -> None:
    by_hand = (finished(61, at=63), finished(0, at=10))
    assert answer(tick(60), True, (), by_hand, 0) == Go()


@pytest.mark.parametrize("on_time", [True, False])
def test_a_tick_that_allows_meets_nothing(on_time: bool) -> None:
    allowing = tick(60, overlap=Overlap.ALLOW)
    ended = (finished(-60, at=61),)
    assert answer(allowing, on_time, (running(0), running(30)), ended, 0) == Go()


def test_a_spread_tick_is_met_by_what_is_unfinished_when_it_is_due_and_not_when_it_fires() -> None:
    spread = tick(60, delay_s=30)
    assert met(answer(spread, True, (), (finished(0, at=80),), 0)) is None
    assert met(answer(spread, True, (), (finished(0, at=91),), 0)) == key(0)


@pytest.mark.parametrize(
    ("policy", "unfinished", "waiting", "expected"),
    [
        ("allow(2)", BUSY, 0, Go()),
        (
            "allow(2)",
            (running(0), running(30)),
            0,
            Skip(key(0), f"overlap with {key(0)}: 2 runs are unfinished, 2 may be"),
        ),
        ("buffer_one", BUSY, 0, Queue(key(0))),
        ("buffer_one", BUSY, 1, Skip(key(0), f"overlap with {key(0)}: the buffer is full, 1 wait already")),
        ("buffer_one", (), 0, Go()),
        ("buffer_all", BUSY, BUFFER_MAX - 1, Queue(key(0))),
        (
            "buffer_all",
            BUSY,
            BUFFER_MAX,
            Skip(key(0), f"overlap with {key(0)}: the buffer is full, {BUFFER_MAX} wait already"),
        ),
        ("buffer_all(2)", BUSY, 1, Queue(key(0))),
        (
            "buffer_all(2)",
            BUSY,
            2,
            Skip(key(0), f"overlap with {key(0)}: the buffer is full, 2 wait already"),
        ),
        ("cancel_other", BUSY, 0, Queue(key(0), ask=(key(0),))),
        ("cancel_other", (running(0, asked=True),), 0, Queue(key(0))),
        ("cancel_other", (), 0, Go()),
        ("terminate_other", (running(0), running(30)), 0, Displace((key(0), key(30)))),
        ("terminate_other", (), 0, Go()),
    ],
)
def test_what_each_policy_does(
    policy: str, unfinished: tuple[StartedRun, ...], waiting: int, expected: Answer
) -> None:
    asked = tick(60, overlap=parse_overlap(policy))
    assert answer(asked, True, unfinished, (), waiting) == expected


@pytest.mark.parametrize("kind", ["buffer_one", "buffer_all", "cancel_other"])
@pytest.mark.parametrize(
    ("other", "free"),
    [
        (finished(0, at=300), 300),
        (finished(0, at=30), 60),
        (finished(0, at=300, begun=200), 300),
        (finished(0, at=300, origin=Origin.MANUAL, begun=200), 300),
        (finished(90, at=300, origin=Origin.MANUAL, begun=60), 300),
        (finished(90, at=300, origin=Origin.MANUAL, begun=61), 60),
        (finished(90, at=300), 60),
        (finished(0, at=300, origin=Origin.CATCH_UP, begun=60), 300),
        (finished(0, at=300, origin=Origin.CATCH_UP, begun=61), 60),
        (finished(0, at=300, origin=Origin.BACKFILL, begun=61), 60),
        (finished(0, at=300, origin=Origin.REPLAY, begun=61), 60),
    ],
)
def test_lateness_counts_from_the_end_of_what_the_tick_stood_behind_and_of_nothing_else(
    kind: str, other: StartedRun, free: float
) -> None:
    waiting = tick(60, overlap=parse_overlap(kind))
    assert free_since(waiting, (), (other,)) == moment(free)
    still_there = replace(other, finished_at=None)
    blocks = free == 300 or other.finished_at == moment(30)
    assert free_since(waiting, (still_there,), ()) == (None if blocks else moment(60))


def test_a_run_that_began_later_does_not_hide_the_end_of_one_that_had_begun_before() -> None:
    waiting = tick(60, overlap=Overlap.BUFFER_ALL)
    later = finished(90, at=400, origin=Origin.MANUAL, begun=310)
    assert free_since(waiting, (), (later, finished(0, at=300))) == moment(300)
    assert free_since(waiting, (running(90),), (finished(0, at=300),)) == moment(300)


@pytest.mark.parametrize(
    ("origin", "begun", "met_it"),
    [
        (Origin.LIVE, 0, True),
        (Origin.LIVE, 62, True),
        (Origin.REPLAY, 0, False),
        (Origin.CATCH_UP, 0, False),
    ],
)
def test_a_live_tick_is_not_skipped_for_what_comes_after_it(
    origin: Origin, begun: float, met_it: bool
) -> None:
    ended = finished(0, at=65, origin=origin, begun=begun)
    assert (met(answer(tick(60), True, (), (ended,), 0)) is not None) is met_it


def test_what_is_caught_up_does_not_meet_a_run_that_began_after_it_was_due() -> None:
    ended = finished(0, at=65, origin=Origin.REPLAY, begun=61)
    late_one = tick(60, origin=Origin.CATCH_UP)
    assert answer(late_one, True, (), (ended,), 0) == Go()
    assert met(answer(late_one, True, (), (finished(0, at=65, origin=Origin.REPLAY, begun=59),), 0)) == key(0)


def test_allow_n_does_not_answer_otherwise_a_moment_later() -> None:
    two = tick(60, overlap=parse_overlap("allow(2)"))
    while_they_ran = answer(two, True, (running(0), running(30)), (), 0)
    after_one_ended = answer(two, True, (running(0),), (finished(30, at=62),), 0)
    assert isinstance(while_they_ran, Skip)
    assert isinstance(after_one_ended, Skip)
    assert answer(two, True, (running(0),), (finished(30, at=59),), 0) == Go()


@pytest.mark.parametrize("policy", OVERLAPS, ids=str)
def test_a_policy_is_read_as_it_is_written(policy: Overlap) -> None:
    assert parse_overlap(str(policy)) == policy
    assert parse_overlap(policy) is policy


@pytest.mark.parametrize("text", ["allow(3)", "buffer_all(7)"])
def test_a_number_is_kept(text: str) -> None:
    assert str(parse_overlap(text)) == text


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("never", "expected one of skip, buffer_one"),
        ("", "expected one of skip"),
        ("skip(2)", "skip takes no number"),
        ("allow(0)", "allow takes a number from 1 to 1000"),
        ("buffer_all(51)", "buffer_all takes a number from 1 to 50"),
        ("allow(2", "expected one of skip"),
        ("ALLOW", "expected one of skip"),
    ],
)
def test_a_policy_that_does_not_exist_is_refused_with_those_that_do(text: str, complaint: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse_overlap(text)
    assert complaint in str(refused.value)


def test_every_kind_has_a_policy() -> None:
    assert {one.kind for one in OVERLAPS} == set(OverlapKind)
