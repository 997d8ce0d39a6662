"""Moments as SQLite keeps them, whole microseconds since 1970 in UTC, and rows with datetimes for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import apsw

from fencepost.model import tables
from fencepost.model.table import ColumnKind, Table
from fencepost.model.times import EPOCH

RECENT_MAX = 1_024
MICROSECOND = timedelta(microseconds=1)
ALWAYS_US = 2**62
"""Later than any moment, and as a negative number earlier."""
COMPUTED = {
    "leases_at",
    "newest",
    "newest_due",
    "next_due_at",
    "oldest",
    "previous",
    "schedules_at",
}
MOMENTS = COMPUTED | {
    column
    for table in vars(tables).values()
    if isinstance(table, Table)
    for column, kind in table.columns.items()
    if kind is ColumnKind.TIME
}
"""The columns that hold moments, whichever table or query they are of."""


def to_us(moment: datetime) -> int:
    """Microseconds since the epoch."""
    return (moment - EPOCH) // MICROSECOND


@lru_cache(RECENT_MAX)
def from_us(microseconds: int) -> datetime:
    """The moment that many microseconds after the epoch; rows of one answer share many of them."""
    return EPOCH + timedelta(0, 0, microseconds)


def span_us(seconds: float) -> int:
    """A length of time in whole microseconds."""
    return timedelta(seconds=seconds) // MICROSECOND


def fetch(cursor: apsw.Cursor) -> list[dict[str, Any]]:
    """All rows of an answer by column name, with datetimes where a column holds moments."""
    rows: Iterable[Any] = iter(cursor)
    first = next(iter(rows), None)
    if first is None:
        return []
    names = [column[0] for column in cursor.get_description()]
    moments = [name for name in names if name in MOMENTS]
    return [to_row(names, moments, values) for values in (first, *rows)]


def to_row(
    names: Sequence[str], moments: Sequence[str], values: Any, truths: Sequence[str] = ()
) -> dict[str, Any]:
    """One row by column name, with datetimes for moments and booleans for truths."""
    row = dict(zip(names, values, strict=True))
    for name in moments:
        if row[name] is not None:
            row[name] = from_us(row[name])
    for name in truths:
        row[name] = bool(row[name])
    return row
