"""Triggers that fire when another does, but for some of its times: exceptions, windows and limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from fencepost.errors import InvalidTrigger
from fencepost.model.durations import format_duration
from fencepost.model.json import JsonObject
from fencepost.model.times import to_utc_text
from fencepost.triggers.combine import VERSION, Combinable, Combination, pick
from fencepost.triggers.patience import keep_on
from fencepost.triggers.series import FIRST, TICK

LIMIT_MAX = 10_000
COUNTING_LOOKS_MAX = 50_000
LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Narrowed(Combination):
    """Fires when `of` does, but for some of its fire times."""

    of: Combinable

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "jitter", self.of.jitter)

    @property
    def starts(self) -> datetime | None:
        return self.of.starts

    def candidate_after(self, after: datetime) -> datetime | None:
        return self.of.candidate_after(after)

    def candidate_before(self, before: datetime) -> datetime | None:
        return self.of.candidate_before(before)

    def __contains__(self, moment: datetime) -> bool:
        return self._keeps(moment) and moment in self.of

    def _keeps(self, moment: datetime) -> bool:
        raise NotImplementedError


@dataclass(frozen=True)
class Difference(Narrowed):
    """Fires when the one does and the other does not."""

    without: Combinable
    parts = ("of", "without")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.of == self.without:
            raise InvalidTrigger(f"{self.of.describe()}, except itself: never fires")

    def describe(self) -> str:
        return f"{self.of.describe()}, except {self.without.describe()}"

    def to_json(self) -> JsonObject:
        of, without = self.of.to_json(), self.without.to_json()
        return {"v": VERSION, "kind": "difference", "of": of, "without": without}

    def _keeps(self, moment: datetime) -> bool:
        return moment not in self.without


@dataclass(frozen=True)
class Between(Narrowed):
    """Fires from `start` on and before `end`; None leaves a side open."""

    start: datetime | None = None
    end: datetime | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start is None and self.end is None:
            raise InvalidTrigger("between: expected a start, an end or both")
        if self.start is not None and self.start <= FIRST:
            raise InvalidTrigger("between: the start is where dates begin, leave it out")
        if self.start is not None and self.end is not None and self.end <= self.start:
            span = f"{to_utc_text(self.start)} and {to_utc_text(self.end)}"
            raise InvalidTrigger(f"between {span}: expected an end later than the start")

    def __iter__(self) -> Iterator[datetime]:
        if self.start is None:
            raise InvalidTrigger("between: cannot be listed without a start")
        return self.fire_times(self.start - TICK, self.end or LAST)

    @property
    def starts(self) -> datetime | None:
        return pick(max, [self.start, self.of.starts])

    def candidate_after(self, after: datetime) -> datetime | None:
        found = self.of.candidate_after(after if self.start is None else max(after, self.start - TICK))
        return found if found is not None and self._keeps(found) else None

    def candidate_before(self, before: datetime) -> datetime | None:
        found = self.of.candidate_before(before if self.end is None else min(before, self.end))
        return found if found is not None and self._keeps(found) else None

    def describe(self) -> str:
        since = f" from {to_utc_text(self.start)}" if self.start is not None else ""
        until = f" until {to_utc_text(self.end)}" if self.end is not None else ""
        return f"{self.of.describe()},{since}{until}"

    def to_json(self) -> JsonObject:
        return {
            "v": VERSION,
            "kind": "between",
            "of": self.of.to_json(),
            "start": None if self.start is None else to_utc_text(self.start),
            "end": None if self.end is None else to_utc_text(self.end),
        }

    def _keeps(self, moment: datetime) -> bool:
        return (self.start is None or moment >= self.start) and (self.end is None or moment < self.end)


@dataclass(frozen=True)
class Limit(Narrowed):
    """Fires the first `count` times and never again."""

    count: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.count) is not int or not 1 <= self.count <= LIMIT_MAX:
            raise InvalidTrigger(f"limit {self.count!r}: expected a number from 1 to {LIMIT_MAX}")
        if self.of.starts is None:
            remedy = "write .between(start).limit(n), so that every node counts from the same time"
            raise InvalidTrigger(f"limit {self.count}: the trigger has no beginning; {remedy}")

    def candidate_after(self, after: datetime) -> datetime | None:
        found = self.of.candidate_after(after)
        return found if found is not None and self._keeps(found) else None

    def candidate_before(self, before: datetime) -> datetime | None:
        return self.of.candidate_before(before if self._last is None else min(before, self._last + TICK))

    def describe(self) -> str:
        return f"{self.of.describe()}, {'once' if self.count == 1 else f'{self.count} times'}"

    def to_json(self) -> JsonObject:
        return {"v": VERSION, "kind": "limit", "of": self.of.to_json(), "count": self.count}

    @cached_property
    def _last(self) -> datetime | None:
        """The last fire time that counts, or None where the series ends before."""
        assert self.of.starts is not None
        moment, counted = _just_before(self.of.starts), 0
        for _ in range(COUNTING_LOOKS_MAX // self.price):
            keep_on()
            candidate = self.of.candidate_after(moment)
            if candidate is None:
                return None
            moment = candidate
            counted += moment in self.of
            if counted == self.count:
                return moment
        # How far this search has come says nothing about one from another instant.
        raise InvalidTrigger(f"limit {self.count}: counted only {counted} up to {to_utc_text(moment)}")

    def _keeps(self, moment: datetime) -> bool:
        return self._last is None or moment <= self._last


@dataclass(frozen=True)
class Outside(Narrowed):
    """Fires outside of windows: each begins when `opens` fires and lasts the same elapsed time."""

    opens: Combinable
    lasts: timedelta
    parts = ("of", "opens")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.opens, Combination):
            raise InvalidTrigger("outside: a window is opened by a plain trigger, not by a combination")
        if not self.lasts:
            raise InvalidTrigger("outside: a window lasts longer than nothing")

    def candidate_after(self, after: datetime) -> datetime | None:
        found = self.of.candidate_after(after)
        opened = None if found is None else self._opened(found)
        return found if opened is None else self.of.candidate_after(opened + self.lasts - TICK)

    def candidate_before(self, before: datetime) -> datetime | None:
        found = self.of.candidate_before(before)
        opened = None if found is None else self._opened(found)
        return found if opened is None else self.of.candidate_before(opened)

    def describe(self) -> str:
        window = f"for {format_duration(self.lasts)} from {self.opens.describe()}"
        return f"{self.of.describe()}, but not {window}"

    def to_json(self) -> JsonObject:
        return {
            "v": VERSION,
            "kind": "outside",
            "of": self.of.to_json(),
            "opens": self.opens.to_json(),
            "lasts": format_duration(self.lasts),
        }

    def _keeps(self, moment: datetime) -> bool:
        return self._opened(moment) is None

    def _opened(self, moment: datetime) -> datetime | None:
        """When the window began that the instant lies in, or None where it lies in none."""
        opened = self.opens.previous(min(moment, LAST - TICK) + TICK)
        return None if opened is None or moment - opened >= self.lasts else opened


def _just_before(moment: datetime) -> datetime:
    return moment - TICK if moment > FIRST else moment
