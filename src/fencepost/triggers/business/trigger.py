"""Business days as triggers: the nth or every one of a calendar, and any wall trigger moved onto them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Literal, Self, TypeAlias

from fencepost.errors import InvalidTrigger
from fencepost.model.json import JsonObject
from fencepost.model.quoting import quoted
from fencepost.model.times import from_epoch_s, to_epoch_s
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.business.days import CLOSED_DAYS_MAX, DAY_S
from fencepost.triggers.business.walls import ChosenDays, KeptTimes, MovedTimes
from fencepost.triggers.combine import DEPTH_MAX
from fencepost.triggers.cron.fields import MONTHS
from fencepost.triggers.localtime import dst
from fencepost.triggers.localtime.times import FIRST_S, WallTimes, WallTrigger
from fencepost.triggers.localtime.zones import zone
from fencepost.triggers.patience import PRICE_RULE
from fencepost.triggers.series import Binding, Series
from fencepost.triggers.words import listed, ordinal, place

Otherwise: TypeAlias = Literal["next", "previous", "skip"]

VERSION = 1
NTH_MAX = 23
TIMES_MAX = 100
ALL_MONTHS = (1 << 12) - 1
# A zone's clocks differ from UTC by less, whatever they do.
ZONE_MARGIN_S = 2 * DAY_S

MONTH_WORDS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
OTHERWISE: dict[str, Otherwise] = {"next": "next", "previous": "previous", "skip": "skip"}
MOVED_WORDS: dict[Otherwise, str] = {
    "next": "moved to the next business day where needed",
    "previous": "moved to the previous business day where needed",
    "skip": "on business days only",
}

_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", re.ASCII)
_SEPARATORS = str.maketrans(",", " ")


@dataclass(frozen=True, init=False)
class BusinessDay(WallTrigger):
    """Business days at fixed times: the `nth` of each month, from the end where negative, or every one.

    A month that has fewer business days is left out. `at` is in the wall time of `tz`; `months` names the
    months that count, all unless given. None for `gap` and `fold` means `shift` and `first`.
    """

    calendar: Calendar
    at: tuple[str, ...]
    nth: int | None
    tz: str
    months: str | None
    gap: dst.Gap | None
    fold: dst.Fold | None
    times: WallTimes = field(repr=False, compare=False)

    def __init__(
        self,
        calendar: Calendar,
        at: str | Sequence[str],
        nth: int | None = None,
        tz: str = "UTC",
        months: str | Iterable[str] | None = None,
        gap: dst.Gap | None = None,
        fold: dst.Fold | None = None,
    ) -> None:
        seconds, chosen = _seconds(at), _months(months)
        number = None if nth is None else checked_nth(nth)
        mask = sum(1 << month for month in chosen) or ALL_MONTHS
        walls = ChosenDays(_checked_calendar(calendar), number, mask, seconds)
        object.__setattr__(self, "calendar", calendar)
        object.__setattr__(self, "at", tuple(map(_time_text, seconds)))
        object.__setattr__(self, "nth", nth)
        object.__setattr__(self, "tz", tz)
        object.__setattr__(self, "months", ",".join(MONTHS[month] for month in chosen) or None)
        object.__setattr__(self, "gap", gap)
        object.__setattr__(self, "fold", fold)
        policy = dst.policy(gap, fold, fixed_time=True)
        object.__setattr__(self, "times", WallTimes(walls, zone(tz), policy))
        if not calendar.is_reference and not walls.ever_fires():
            raise InvalidTrigger(f"{self.describe()}: never fires, no such month has that many business days")

    def __reduce__(self) -> tuple[type[BusinessDay], tuple[object, ...]]:
        # A zone loaded from a file cannot be pickled; the seven values say everything.
        return BusinessDay, (self.calendar, self.at, self.nth, self.tz, self.months, self.gap, self.fold)

    @property
    def price(self) -> int:
        return PRICE_RULE

    def bound(self, binding: Binding) -> Self:
        """The same trigger with the days that the store has for its calendar."""
        calendar = self.calendar.bound(binding)
        if calendar is self.calendar:
            return self
        return type(self)(calendar, self.at, self.nth, self.tz, self.months, self.gap, self.fold)

    def calendar_names(self) -> frozenset[str]:
        """The calendar, if its days come from the store."""
        return frozenset((self.calendar.name,) if self.calendar.is_stored else ())

    def describe(self) -> str:
        """On the last business day of the month at 18:00, Berlin time (calendar de)."""
        months = self.months and listed([MONTH_WORDS[_month(name)] for name in self.months.split(",")])
        if self.nth is None:
            days = f"on every business day in {months}" if months else "on every business day"
        else:
            days = f"on the {_nth_words(self.nth)} business day of {months or 'the month'}"
        return f"{days} at {listed(self.at)}, {place(self.tz)} (calendar {self.calendar.name})"

    def to_json(self) -> JsonObject:
        """The stable form; the days are in it once the trigger is bound."""
        return {
            "v": VERSION,
            "kind": "business_day",
            "calendar": self.calendar.to_json(),
            "nth": self.nth,
            "at": list(self.at),
            "tz": self.tz,
            "months": self.months,
            "gap": self.gap,
            "fold": self.fold,
        }


@dataclass(frozen=True)
class Shifted(WallTrigger):
    """A wall trigger on business days only: its other times move to the next or previous one, or go.

    A moved time keeps its time of the day; several that meet fire once. The zone and what a change of the
    clocks does are those of the trigger within, and times are moved before the clocks are asked.
    """

    of: WallTrigger
    calendar: Calendar
    otherwise: Otherwise = "next"
    tz: str = field(init=False, repr=False, compare=False)
    times: WallTimes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        inner = checked_wall_trigger(self.of)
        walls = _moved(inner.times.walls, _checked_calendar(self.calendar), checked_otherwise(self.otherwise))
        object.__setattr__(self, "tz", inner.tz)
        object.__setattr__(self, "times", WallTimes(walls, inner.times.zone, inner.times.policy))
        if self.depth > DEPTH_MAX:
            raise InvalidTrigger(f"triggers are combined {self.depth} deep, expected at most {DEPTH_MAX}")
        if isinstance(walls, KeptTimes) and self._never_fires(walls):
            raise InvalidTrigger(f"{self.describe()}: never fires, all of its times fall on other days")

    def __reduce__(self) -> tuple[type[Shifted], tuple[object, ...]]:
        # A zone loaded from a file cannot be pickled; the three values say everything.
        return Shifted, (self.of, self.calendar, self.otherwise)

    @property
    def depth(self) -> int:
        """One more than the trigger within."""
        return 1 + self.of.depth

    @property
    def starts(self) -> datetime | None:
        """Where the trigger within starts, or the longest closure before that."""
        begins = self.of.starts
        if begins is None or self.otherwise != "previous":
            return begins
        closure_s = CLOSED_DAYS_MAX * DAY_S + ZONE_MARGIN_S
        return from_epoch_s(max(to_epoch_s(begins) - closure_s, FIRST_S))

    @property
    def price(self) -> int:
        return PRICE_RULE

    def bound(self, binding: Binding) -> Self:
        """The same trigger with the days that the store has, and the trigger within bound too."""
        inner, calendar = self.of.bound(binding), self.calendar.bound(binding)
        if inner is self.of and calendar is self.calendar:
            return self
        return type(self)(inner, calendar, self.otherwise)

    def calendar_names(self) -> frozenset[str]:
        """The calendar, if its days come from the store, and those of the trigger within."""
        own = (self.calendar.name,) if self.calendar.is_stored else ()
        return self.of.calendar_names().union(own)

    def describe(self) -> str:
        """At 09:00 on the 1st, Berlin time, moved to the next business day where needed (calendar de)."""
        return f"{self.of.describe()}, {MOVED_WORDS[self.otherwise]} (calendar {self.calendar.name})"

    def to_json(self) -> JsonObject:
        """The stable form, with the trigger within under `of`."""
        return {
            "v": VERSION,
            "kind": "business_shift",
            "of": self.of.to_json(),
            "calendar": self.calendar.to_json(),
            "otherwise": self.otherwise,
        }

    def _never_fires(self, walls: KeptTimes) -> bool:
        begins = self.of.starts
        try:
            return not walls.ever_fires(0 if begins is None else to_epoch_s(begins) - ZONE_MARGIN_S)
        except InvalidTrigger:
            # Its days or its seed are still to come; it is judged when it is bound.
            return False


def checked_nth(nth: object) -> int:
    """The number of a business day in its month, from either end."""
    if type(nth) is int and 1 <= abs(nth) <= NTH_MAX:
        return nth
    expected = f"expected 1 to {NTH_MAX}, or -1 to -{NTH_MAX} from the end of the month"
    raise InvalidTrigger(f"business day {quoted(nth)}: {expected}")


def checked_otherwise(value: object) -> Otherwise:
    """What becomes of a time on a day that is no business day."""
    if isinstance(value, str) and value in OTHERWISE:
        return OTHERWISE[value]
    raise InvalidTrigger(f"otherwise {quoted(value)} is unknown, expected next, previous or skip")


def checked_wall_trigger(trigger: object) -> WallTrigger:
    """The trigger, if a day can be told of each of its times."""
    if not isinstance(trigger, WallTrigger):
        named = trigger.describe() if isinstance(trigger, Series) else quoted(trigger)
        raise InvalidTrigger(f"{named}: only cron and business-day triggers can be kept to business days")
    if trigger.times.zone.key != trigger.tz:
        elapsed = f"counts elapsed time, of which no day in {trigger.tz} can be told"
        raise InvalidTrigger(f"{trigger.describe()}: {elapsed}")
    return trigger


def _moved(walls: dst.Walls, calendar: Calendar, otherwise: Otherwise) -> MovedTimes | KeptTimes:
    if otherwise == "skip":
        return KeptTimes(walls, calendar)
    return MovedTimes(walls, calendar, to_next=otherwise == "next")


def _checked_calendar(calendar: object) -> Calendar:
    if isinstance(calendar, Calendar):
        return calendar
    raise InvalidTrigger(f'calendar {quoted(calendar)}: expected a Calendar such as Calendar("de")')


def _seconds(at: object) -> tuple[int, ...]:
    given = [at] if isinstance(at, str) else at
    if not isinstance(given, Iterable):
        raise InvalidTrigger(f"at {quoted(at)}: expected a time such as 18:00")
    items = list(islice(given, TIMES_MAX + 1))
    if not 1 <= len(items) <= TIMES_MAX:
        raise InvalidTrigger(f"at: expected 1 to {TIMES_MAX} times of the day")
    return tuple(sorted(set(map(_second, items))))


def _second(text: object) -> int:
    found = _TIME.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidTrigger(f"at {quoted(text)}: expected a time of the day such as 18:00 or 18:00:30")
    hour, minute, second = (int(part or 0) for part in found.groups())
    return hour * 3600 + minute * 60 + second


def _time_text(second: int) -> str:
    minutes, rest = divmod(second, 60)
    text = f"{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{rest:02}" if rest else text


def _months(given: object) -> list[int]:
    """The months by their place in the year, ascending; none where all count."""
    if given is None:
        return []
    items = given.translate(_SEPARATORS).split() if isinstance(given, str) else given
    named = list(islice(items, len(MONTHS) + 1)) if isinstance(items, Iterable) else []
    if not 1 <= len(named) <= len(MONTHS):
        raise InvalidTrigger(f"months {quoted(given)}: expected 1 to 12 months such as MAR,JUN")
    chosen = set(map(_month, named))
    return sorted(chosen) if len(chosen) < len(MONTHS) else []


def _month(item: object) -> int:
    if isinstance(item, str) and item.upper() in MONTHS:
        return MONTHS.index(item.upper())
    raise InvalidTrigger(f"month {quoted(item)} is unknown, expected one of {' '.join(MONTHS)}")


def _nth_words(nth: int) -> str:
    """First, 2nd, 2nd last, last."""
    if abs(nth) == 1:
        return "first" if nth > 0 else "last"
    return ordinal(nth) if nth > 0 else f"{ordinal(-nth)} last"
