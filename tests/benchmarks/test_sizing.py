"""What the sizing page divides by what."""

from datetime import UTC, datetime

from benchmarks.sizing import Reading, Sizes, per_tick

AT = datetime(2026, 3, 1, tzinfo=UTC)


def test_costs_are_those_of_the_window_divided_by_its_ticks_and_nothing_before_counts() -> None:
    before, after = Reading(10.0, 20.0, 30.0, 1_000_000, AT), Reading(10.5, 22.0, 33.0, 1_005_000, AT)
    assert per_tick(100, 0, 1_000, before, after, (2.0, 0.5)) == Sizes(
        100, 0, 1_000, 0.5, 2.0, 3.0, 5.0, 2.0, 0.5
    )
