"""A job that says nothing for too long is stuck, and one that could not say anything is not."""

from __future__ import annotations

import pytest

from fencepost.core.progress import LOOKS_PER_DEADLINE, Silence, begin_watch, is_stuck, look
from fencepost.model.clocks import Monotonic

DEADLINE_S = 80.0
STEP_S = DEADLINE_S / LOOKS_PER_DEADLINE


def at(seconds: float) -> Monotonic:
    return Monotonic(1_000.0 + seconds)


def watched(*looks: tuple[float, int]) -> Silence:
    """A watch from 0 on, with looks at those seconds at so many marks."""
    silence = begin_watch(0, at(0), DEADLINE_S)
    for seconds, marks in looks:
        silence = look(silence, marks, at(seconds), DEADLINE_S)
    return silence


def steps(first: int, last: int, marks: int) -> list[tuple[float, int]]:
    return [(STEP_S * number, marks) for number in range(first, last + 1)]


def test_a_job_that_says_nothing_is_stuck_at_the_deadline_and_not_before() -> None:
    silence = watched(*steps(1, 7, 0))
    assert not is_stuck(silence, at(79.9), DEADLINE_S)
    assert is_stuck(silence, at(80), DEADLINE_S)


def test_a_job_that_gets_on_is_not_stuck() -> None:
    silence = watched(*steps(1, 7, 0), *steps(8, 14, 1))
    assert not is_stuck(silence, at(159), DEADLINE_S)
    assert is_stuck(silence, at(160), DEADLINE_S)


def test_one_sign_does_not_count_twice() -> None:
    silence = watched(*steps(1, 2, 5), *steps(3, 8, 5))
    assert silence.since == at(10)


def test_time_in_which_the_watcher_stood_still_does_not_count() -> None:
    silence = watched((10, 0), (520, 0))
    assert not is_stuck(silence, at(520), DEADLINE_S)
    assert silence.since == at(500)
    assert is_stuck(silence, at(580), DEADLINE_S)


@pytest.mark.parametrize("late_s", [0.0, 1.0, STEP_S])
def test_looks_that_are_a_little_late_do_not_put_the_end_off(late_s: float) -> None:
    silence = watched((10 + late_s, 0))
    assert silence.since == at(0)


def test_the_next_look_is_a_part_of_the_deadline_away() -> None:
    assert watched((10, 0)).look_at == at(20)
