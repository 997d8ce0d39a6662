"""A tick does not start beside what its schedule is doing, whenever it is judged."""

from __future__ import annotations

import pytest

from fencepost.core.overlap import obstacle
from fencepost.model.claiming import StartedRun
from fencepost.model.identifiers import RunKey
from fencepost.model.schedule import Overlap
from tests.core.facts import finished, key, running, tick


@pytest.mark.parametrize(
    ("on_time", "unfinished", "last_finished", "met"),
    [
        (True, (), None, None),
        (True, (running(0),), None, key(0)),
        (False, (running(0),), None, key(0)),
        (True, (), finished(0, at=59), None),
        (True, (), finished(0, at=60), None),
        (True, (), finished(0, at=60.001), key(0)),
        (False, (), finished(0, at=61), None),
        (True, (running(0),), finished(-60, at=61), key(0)),
    ],
)
def test_a_tick_that_skips_meets_what_was_unfinished_at_its_time(
    on_time: bool, unfinished: tuple[StartedRun, ...], last_finished: StartedRun | None, met: RunKey | None
) -> None:
    assert obstacle(tick(60), on_time, unfinished, last_finished) == met


def test_a_tick_judged_later_does_not_get_another_answer() -> None:
    while_it_ran = obstacle(tick(60), True, (running(0),), None)
    after_it_ended = obstacle(tick(60), True, (), finished(0, at=63))
    assert while_it_ran == after_it_ended == key(0)


@pytest.mark.parametrize("on_time", [True, False])
def test_a_tick_that_allows_meets_nothing(on_time: bool) -> None:
    allowing = tick(60, overlap=Overlap.ALLOW)
    assert obstacle(allowing, on_time, (running(0), running(30)), finished(-60, at=61)) is None


def test_a_spread_tick_is_met_by_what_is_unfinished_when_it_is_due_and_not_when_it_fires() -> None:
    spread = tick(60, delay_s=30)
    assert obstacle(spread, True, (), finished(0, at=80)) is None
    assert obstacle(spread, True, (), finished(0, at=91)) == key(0)
