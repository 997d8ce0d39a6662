"""Cron: fire times by fields of the calendar and the clock, in a zone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from fencepost.model.json import JsonObject
from fencepost.model.times import from_epoch_s, to_epoch_s
from fencepost.triggers import dst
from fencepost.triggers.cron_expression import Expression, parse_expression
from fencepost.triggers.series import Series
from fencepost.triggers.zones import zone

VERSION = 1
FIRST_S = to_epoch_s(datetime(10, 1, 1, tzinfo=UTC))
LAST_S = to_epoch_s(datetime(9990, 1, 1, tzinfo=UTC))

# 29 February on a given weekday can be 40 years away, and a gap can swallow it once.
SEARCH_S = 100 * 366 * 86_400


@dataclass(frozen=True)
class Cron(Series):
    """`minute hour day month weekday`, or six fields with the second first.

    Fields are read in the wall time of `tz`. `gap` and `fold` say what a change of the clocks
    does; None leaves it to the rule of Debian's cron (see `fencepost.triggers.dst`).
    """

    expression: str
    tz: str = "UTC"
    gap: dst.Gap | None = None
    fold: dst.Fold | None = None
    _parsed: Expression = field(init=False, repr=False, compare=False)
    _policy: dst.Policy = field(init=False, repr=False, compare=False)
    _zone: ZoneInfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        text = " ".join(self.expression.split())
        parsed = parse_expression(text)
        default = dst.FIXED_TIME if parsed.fixed_time else dst.BEAT
        gap, fold = dst.checked_gap(self.gap), dst.checked_fold(self.fold)
        object.__setattr__(self, "expression", text)
        object.__setattr__(self, "_parsed", parsed)
        object.__setattr__(self, "_policy", dst.Policy(gap or default.gap, fold or default.fold))
        object.__setattr__(self, "_zone", zone(self.tz))

    def __reduce__(self) -> tuple[type[Cron], tuple[str, str, str | None, str | None]]:
        # A zone loaded from a file cannot be pickled; the four values say everything.
        return Cron, (self.expression, self.tz, self.gap, self.fold)

    def next_after(self, after: datetime) -> datetime | None:
        """The first fire time strictly later than `after`, or None when there is none."""
        start = to_epoch_s(after) + 1
        found = next(self._instants(start, start + SEARCH_S), None)
        return None if found is None else from_epoch_s(found)

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        """All fire times in (after, through], ascending, one at a time."""
        return map(from_epoch_s, self._instants(to_epoch_s(after) + 1, to_epoch_s(through) + 1))

    def to_json(self) -> JsonObject:
        """The stable form: all that the fire times depend on, but for the zone data."""
        return {
            "v": VERSION,
            "kind": "cron",
            "expression": self.expression,
            "tz": self.tz,
            "gap": self.gap,
            "fold": self.fold,
        }

    def _instants(self, start: int, stop: int) -> Iterator[int]:
        start, stop = max(start, FIRST_S), min(stop, LAST_S)
        return dst.instants(self._parsed.walls, self._zone, self._policy, start, stop)
