"""Every: fire times at a steady interval from an anchor, without drift.

An exact duration (`90s`, `1h30m`, `1d`) counts elapsed time: the beat is the same in every zone and no change
of the clocks touches it. A step of the calendar (`1 day`, `1 month`) counts on the wall of a zone: the same
time of day tomorrow, whether 23 or 25 hours away.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from fencepost.errors import InvalidTrigger
from fencepost.model.durations import Duration, format_duration, parse_duration
from fencepost.model.json import JsonObject
from fencepost.model.quoting import quoted
from fencepost.model.times import EPOCH, parse_local_or_instant, to_instant, to_utc_text
from fencepost.triggers.calendar_steps import MONTHS as MONTHS_PER_UNIT
from fencepost.triggers.calendar_steps import CalendarStep, parse_step, step_walls
from fencepost.triggers.combine import Combinable
from fencepost.triggers.localtime import dst
from fencepost.triggers.localtime.times import WallTimes
from fencepost.triggers.localtime.zones import zone
from fencepost.triggers.words import (
    MONTHS,
    WEEKDAYS,
    duration_words,
    every_words,
    moment_words,
    ordinal,
    place,
    wall_words,
)

VERSION = 1
INTERVAL_MIN = timedelta(milliseconds=100)
LAST = datetime.max.replace(tzinfo=UTC)
FIRST = datetime.min.replace(tzinfo=UTC)
COMMON_YEAR = 2026
WALL_SPACING_MIN_S = 1.0


@dataclass(frozen=True, init=False)
class Every(Combinable):
    """The instants `anchor + k × interval` for every whole k, also before the anchor.

    The anchor is the start of 1970 unless one is given, so that all nodes share one beat and "1h" fires on
    the hour. A naive anchor is read in `tz`. `gap` and `fold` speak of steps of the calendar alone. `jitter`
    delays the start of each run by up to so much, never its fire time.
    """

    interval: timedelta | CalendarStep
    anchor: datetime
    tz: str
    gap: dst.Gap | None
    fold: dst.Fold | None
    jitter: timedelta | None
    _times: ExactInterval | WallTimes = field(repr=False, compare=False)

    def __init__(
        self,
        interval: Duration | CalendarStep,
        anchor: datetime | str | None = None,
        tz: str = "UTC",
        gap: dst.Gap | None = None,
        fold: dst.Fold | None = None,
        jitter: Duration | None = None,
    ) -> None:
        given = interval.strip() if isinstance(interval, str) else interval
        step = parse_step(given) if isinstance(given, str) and " " in given else given
        if isinstance(step, CalendarStep):
            self._set_calendar(step, anchor, tz, gap, fold)
        else:
            self._set_exact(parse_duration(step), anchor, tz, gap or fold)
        object.__setattr__(self, "jitter", None if jitter is None else _jitter(jitter))

    def next_after(self, after: datetime) -> datetime | None:
        """The first fire time strictly later than `after`, or None when there is none."""
        return self._times.next_after(after)

    def previous(self, before: datetime) -> datetime | None:
        """The last fire time strictly earlier than `before`, or None when there is none."""
        return self._times.previous(before)

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        """All fire times in (after, through], ascending, one at a time."""
        return self._times.fire_times(after, through)

    def zones(self) -> frozenset[str]:
        """The zone, where its clocks matter."""
        return frozenset((self.tz,)) if isinstance(self.interval, CalendarStep) else frozenset()

    def describe(self) -> str:
        """Every 15 minutes; every month on the 31st (or the last day) at 09:00, Berlin time."""
        delay = "" if self.jitter is None else f", each start delayed by up to {duration_words(self.jitter)}"
        if isinstance(self.interval, CalendarStep):
            return f"{_step_words(self.interval, self.anchor)}, {place(self.tz)}{delay}"
        # What is a whole number of intervals after the epoch has the beat of the epoch.
        aligned = not (self.anchor - EPOCH) % self.interval
        counted_from = "" if aligned else f", counted from {moment_words(self.anchor)}"
        return f"{every_words(self.interval)}{counted_from}{delay}"

    def to_json(self) -> JsonObject:
        """The stable form; a calendar's anchor is a local time, an exact one is an instant."""
        form: JsonObject = {"v": VERSION, "kind": "every"}
        if isinstance(self.interval, CalendarStep):
            where = {"tz": self.tz, "gap": self.gap, "fold": self.fold}
            form |= {"interval": str(self.interval), "anchor": self.anchor.isoformat(), **where}
        else:
            form |= {"interval": format_duration(self.interval), "anchor": to_utc_text(self.anchor)}
        return form if self.jitter is None else {**form, "jitter": format_duration(self.jitter)}

    def __reduce__(self) -> tuple[type[Every], tuple[object, ...]]:
        # A zone loaded from a file cannot be pickled; the six values say everything.
        return Every, (self.interval, self.anchor, self.tz, self.gap, self.fold, self.jitter)

    def _set_exact(
        self, interval: timedelta, anchor: datetime | str | None, tz: str, policy: str | None
    ) -> None:
        if interval < INTERVAL_MIN:
            least = format_duration(INTERVAL_MIN)
            raise InvalidTrigger(f"every {format_duration(interval)}: expected at least {least}")
        if policy is not None:
            remedy = "a step of the calendar, such as '1 day', has a wall time"
            raise InvalidTrigger(f"every {format_duration(interval)}: keeps its beat through DST; {remedy}")
        moment = EPOCH if anchor is None else to_instant(_read(anchor), zone(tz))
        self._set(interval, moment, "UTC", None, None, ExactInterval(interval, moment))

    def _set_calendar(
        self,
        step: CalendarStep,
        anchor: datetime | str | None,
        tz: str,
        gap: dst.Gap | None,
        fold: dst.Fold | None,
    ) -> None:
        local = zone(tz)
        moment = EPOCH.replace(tzinfo=None) if anchor is None else _read(anchor)
        if moment.tzinfo is not None:
            moment = _shown(moment, local)
        if moment.microsecond:
            raise InvalidTrigger(f"every {step}: anchor {moment.isoformat()} is finer than a second")
        policy = dst.policy(gap, fold, fixed_time=True)
        self._set(step, moment, tz, gap, fold, WallTimes(step_walls(step, moment), local, policy))

    def _set(
        self,
        interval: timedelta | CalendarStep,
        anchor: datetime,
        tz: str,
        gap: dst.Gap | None,
        fold: dst.Fold | None,
        times: ExactInterval | WallTimes,
    ) -> None:
        spacing_s = WALL_SPACING_MIN_S if isinstance(interval, CalendarStep) else interval.total_seconds()
        for name, value in zip(
            ("interval", "anchor", "tz", "gap", "fold", "_times", "spacing_min_s"),
            (interval, anchor, tz, gap, fold, times, spacing_s),
            strict=True,
        ):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class ExactInterval:
    """Exact intervals from an instant."""

    interval: timedelta
    anchor: datetime

    def next_after(self, after: datetime) -> datetime | None:
        """The first beat strictly later than `after`."""
        # A remainder of timedeltas is exact and never negative, also for times before the anchor.
        ahead = self.interval - (after - self.anchor) % self.interval
        return None if LAST - after < ahead else after.astimezone(UTC) + ahead

    def previous(self, before: datetime) -> datetime | None:
        """The last beat strictly earlier than `before`."""
        behind = (before - self.anchor) % self.interval or self.interval
        return None if before - FIRST < behind else before.astimezone(UTC) - behind

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        """All beats in (after, through]."""
        moment = self.next_after(after)
        while moment is not None and moment <= through:
            yield moment
            moment = None if LAST - moment < self.interval else moment + self.interval


def _shown(moment: datetime, local: ZoneInfo) -> datetime:
    """What the zone's clocks show at an instant."""
    try:
        return moment.astimezone(local).replace(tzinfo=None, fold=0)
    except OverflowError:
        raise InvalidTrigger(f"anchor {moment.isoformat()} is out of range") from None


def _read(anchor: object) -> datetime:
    if isinstance(anchor, str):
        return parse_local_or_instant(anchor)
    if not isinstance(anchor, datetime):
        raise InvalidTrigger(f"anchor {quoted(anchor)}: expected a datetime or a text")
    return anchor


def _jitter(jitter: Duration) -> timedelta | None:
    return parse_duration(jitter) or None


def _step_words(step: CalendarStep, anchor: datetime) -> str:
    every = f"every {step.unit if step.count == 1 else step}"
    days = {
        "day": "",
        "week": f" on {WEEKDAYS[anchor.isoweekday()]}",
        "month": f" on the {ordinal(anchor.day)}",
        "year": f" on {anchor.day} {MONTHS[anchor.month]}",
    }
    otherwise = "the 28th" if step.unit == "year" else "the last day"
    clamped = f" (or {otherwise})" if _is_clamped(step, anchor) else ""
    counted_from = "" if step.count == 1 else f", counted from {anchor.date()}"
    time = wall_words(anchor).partition(" ")[2]
    return f"{every}{days[step.unit]}{clamped} at {time}{counted_from}"


def _is_clamped(step: CalendarStep, anchor: datetime) -> bool:
    """Whether one of the months that it comes to is too short, in a common year."""
    if step.unit not in MONTHS_PER_UNIT:
        return False
    months = step.count * MONTHS_PER_UNIT[step.unit]
    visited = {(anchor.month - 1 + months * number) % 12 + 1 for number in range(12)}
    return any(monthrange(COMMON_YEAR, month)[1] < anchor.day for month in visited)
