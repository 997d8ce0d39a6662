"""The columns of the matrix: stretches of time that begin where the reader's clocks show a round time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

from fencepost.model.dataclasses import dataclass
from fencepost.model.views import bucket_start

Width: TypeAlias = Literal["6h", "24h", "7d", "30d"]


@dataclass(frozen=True)
class Columns:
    """How long a column is, how many there are, and how many runs of a schedule are looked at."""

    step: timedelta
    count: int
    runs_max: int


COLUMNS: Mapping[Width, Columns] = {
    "6h": Columns(timedelta(minutes=10), 36, 1_440),
    "24h": Columns(timedelta(minutes=30), 48, 1_440),
    "7d": Columns(timedelta(hours=4), 42, 720),
    "30d": Columns(timedelta(days=1), 30, 720),
}
"""A schedule that fires every minute is seen whole for a day, one that fires every hour for a month."""


def edges_of(width: Width, until: datetime, zone: ZoneInfo) -> list[datetime]:
    """The edges of the columns, of which the last holds `until`."""
    columns = COLUMNS[width]
    if columns.step < timedelta(hours=1):
        last = bucket_start(until, int(columns.step.total_seconds())) + columns.step
        return [last - columns.step * back for back in range(columns.count, -1, -1)]
    wall = until.astimezone(zone).replace(tzinfo=None, fold=0)
    midnight = wall.replace(hour=0, minute=0, second=0, microsecond=0)
    last = midnight + (wall - midnight) // columns.step * columns.step + columns.step
    walls = [last - columns.step * back for back in range(columns.count, -1, -1)]
    return [one.replace(tzinfo=zone).astimezone(UTC) for one in walls]


def heads_of(width: Width, edges: Sequence[datetime], zone: ZoneInfo) -> list[tuple[int, str]]:
    """The words over the columns, by the clocks of the reader."""
    words = ((number, _head(width, edge.astimezone(zone))) for number, edge in enumerate(edges[:-1]))
    return [(number, text) for number, text in words if text]


def _head(width: Width, local: datetime) -> str:
    match width:
        case "6h":
            return f"{local:%H:%M}" if not local.minute else ""
        case "24h" if local.hour == 0 and local.minute == 0:
            return f"{local.day} {local:%b}"
        case "24h":
            return f"{local:%H:%M}" if not local.minute and local.hour % 4 == 0 else ""
        case "7d":
            return f"{local:%a} {local.day}" if not local.hour else ""
        case "30d":
            return f"{local.day} {local:%b}" if local.weekday() == 0 else ""
