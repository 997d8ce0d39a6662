"""How much time a grid shows, and how its rows are cut: enough ticks to see a pattern, no more than fit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum, auto
from itertools import pairwise
from statistics import median
from typing import Literal, TypeAlias, get_args
from zoneinfo import ZoneInfo

from fencepost.errors import UsageError
from fencepost.model.dataclasses import dataclass
from fencepost.triggers import Combinable
from fencepost.web.dashboard.grid import CELLS_MAX

Span: TypeAlias = Literal["10m", "1h", "6h", "24h", "7d", "30d", "90d", "1y", "5y"]
DAY_S = 86_400
SPANS_S: Mapping[Span, int] = dict(
    zip(
        get_args(Span),
        (600, 3_600, 21_600, DAY_S, 7 * DAY_S, 30 * DAY_S, 90 * DAY_S, 366 * DAY_S, 5 * 366 * DAY_S),
        strict=True,
    )
)
WANTED_MAX = 750
SAMPLE = 13


class Row(Enum):
    """How long a row is."""

    MINUTE = auto()
    TEN_MINUTES = auto()
    HOUR = auto()
    SIX_HOURS = auto()
    DAY = auto()
    WEEK = auto()
    MONTH = auto()
    YEAR = auto()


@dataclass(frozen=True)
class Cut:
    """The kind of a row, how long one slot of it is, and how many slots there may be."""

    row: Row
    slot_s: float
    slots: int


def typical_period_s(trigger: Combinable, now: datetime) -> float | None:
    """How far apart the next fire times are, as a rule; None where there is no telling."""
    try:
        ahead = trigger.next(now, SAMPLE)
    except UsageError:
        return None
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(ahead)]
    return median(gaps) if gaps else None


def offered(period_s: float | None) -> list[Span]:
    """The spans that are worth a look: more than a few cells, and not more than fit."""
    if period_s is None:
        return ["24h", "7d", "30d", "90d", "1y"]
    found = [name for name, length_s in SPANS_S.items() if 4 <= length_s / period_s <= CELLS_MAX]
    return found or ["5y" if period_s > SPANS_S["1y"] else "10m"]


def default_span(period_s: float | None) -> Span:
    """The longest that still fits on a screen."""
    if period_s is None:
        return "30d"
    choices = offered(period_s)
    fitting = [name for name in choices if SPANS_S[name] / period_s <= WANTED_MAX]
    return fitting[-1] if fitting else choices[0]


def cut_for(period_s: float | None) -> Cut:
    """Rows in which ticks of that period stand under one another."""
    period = period_s or DAY_S
    for most_s, row, row_s in (
        (8, Row.MINUTE, 60),
        (45, Row.TEN_MINUTES, 600),
        (150, Row.HOUR, 3_600),
        (15 * 60, Row.SIX_HOURS, 21_600),
        (4 * 3_600, Row.DAY, DAY_S),
        (20 * 3_600, Row.WEEK, 7 * DAY_S),
        (3 * DAY_S, Row.MONTH, 31 * DAY_S),
    ):
        if period <= most_s:
            slots = max(1, min(round(row_s / period), 72))
            return Cut(row, row_s / slots, slots)
    slots = max(1, min(round(366 * DAY_S / period), 53))
    return Cut(Row.YEAR, 366 * DAY_S / slots, slots)


def row_start(moment: datetime, row: Row, zone: ZoneInfo) -> datetime:
    """The beginning of the row in which a moment lies, by the clocks of the viewer."""
    local = moment.astimezone(zone)
    match row:
        case Row.MINUTE:
            return local.replace(second=0, microsecond=0)
        case Row.TEN_MINUTES:
            return local.replace(minute=local.minute // 10 * 10, second=0, microsecond=0)
        case Row.HOUR:
            return local.replace(minute=0, second=0, microsecond=0)
        case Row.SIX_HOURS:
            return local.replace(hour=local.hour // 6 * 6, minute=0, second=0, microsecond=0, fold=0)
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    match row:
        case Row.WEEK:
            return day - timedelta(days=day.weekday())
        case Row.MONTH:
            return day.replace(day=1)
        case Row.YEAR:
            return day.replace(month=1, day=1)
    return day


def row_label(start: datetime, row: Row) -> str:
    """What stands before a row."""
    match row:
        case Row.MINUTE | Row.TEN_MINUTES | Row.HOUR:
            return f"{start:%H:%M}" if start.hour or start.minute else f"{start:%a} {start.day} {start:%b}"
        case Row.SIX_HOURS:
            return f"{start:%H:%M}" if start.hour else f"{start:%a} {start.day} {start:%b}"
        case Row.MONTH:
            return f"{start:%b %Y}"
        case Row.YEAR:
            return f"{start:%Y}"
        case Row.WEEK:
            return f"week {start:%V}, {start.day} {start:%b}"
    return f"{start:%a} {start.day} {start:%b}"
