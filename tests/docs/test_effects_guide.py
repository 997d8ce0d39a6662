"""The guide on effects says what becomes of a run at every crash point; the crash tests saw the same."""

from __future__ import annotations

from pathlib import Path

from tests.effects import crash_table
from tests.effects.crash_points import Kind, Point

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "effects.md"


def test_no_crash_point_is_told_otherwise_than_it_was_seen() -> None:
    assert crash_table.told(GUIDE.read_text()) == crash_table.table()


def test_no_point_and_no_kind_of_work_is_left_out_of_the_table() -> None:
    assert {point for points in crash_table.ROWS.values() for point in points} == set(Point)
    assert {kind for _, kinds in crash_table.COLUMNS.values() for kind in kinds} == set(Kind)
