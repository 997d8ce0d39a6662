"""The sink of a chaos run keeps the order of arrival, and says what a fence would have refused."""

from __future__ import annotations

from datetime import timedelta

from tests.chaos import effects, ledgers
from tests.history.model import Effect

LATE = "tick#2026-01-01T00:00:00Z#1 1 7 5000000000"
"""The first attempt, which was rescued, and went on."""
LINES = (
    "tick#2026-01-01T00:00:00Z#1 2 9 4000000000",
    LATE,
    "tick#2026-01-01T00:00:05Z#1 1 11 6000000000",
    "order#a 1 3 7000000000",
    "order#b 1 2 8000000000",
)


def test_only_what_comes_late_under_an_older_fence_of_its_schedule_is_refused() -> None:
    refused = [effect for effect in effects.read(LINES) if not effect.taken_by_fenced]
    assert [(one.key, one.attempt, one.fence) for one in refused] == [("tick#2026-01-01T00:00:00Z#1", 1, 7)]


def test_effects_stand_in_the_order_of_their_arrival() -> None:
    read: list[Effect] = list(effects.read(LINES))
    assert [one.fence for one in read] == [9, 7, 11, 3, 2]
    assert read[1].at - read[0].at == timedelta(seconds=1)


def test_moments_are_told_by_the_clock_that_no_fault_touches() -> None:
    assert abs(effects.machine_start() - effects.machine_start()) < timedelta(seconds=1)
    assert effects.machine_start() < ledgers.now()
