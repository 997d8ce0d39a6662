"""The algebra of triggers: union, intersection, difference, windows and limits.

A combination cannot list its fire times as its members can; it has to look for them. Two small questions
carry the whole search, and every member, itself perhaps a combination, answers both in bounded time:

- *Does it fire at this very instant?* (`in`) An intersection asks all of its members, a union any of them,
  a difference asks that the one does and the other does not.
- *Where could it fire next?* (`candidate_after`) A union can fire first where its first member can. An
  intersection cannot fire before the latest of its members' candidates, so it leaps there. A difference can
  fire where its first member can.

So a search goes from candidate to candidate, with no fire time in between, and keeps those that fire. One
that never fires (noon, and also half past) would be looked through for ever; after `LOOKS_MAX` fruitless
looks the search ends with `SearchExhausted`, which says how far it has come: a planner goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from operator import is_
from typing import ClassVar, Self, TypeAlias

from fencepost.errors import InvalidTrigger, SearchExhausted
from fencepost.model.durations import Duration, format_duration, parse_duration
from fencepost.model.json import JsonObject
from fencepost.model.times import read_time, to_utc_text
from fencepost.triggers.localtime.zones import zone
from fencepost.triggers.series import TICK, Binding, Series

VERSION = 1
LOOKS_MAX = 10_000
LIMIT_MAX = 10_000
MEMBERS_MAX = 100
DEPTH_MAX = 16
LAST = datetime.max.replace(tzinfo=UTC)

Moment: TypeAlias = datetime | str | None


class Combinable(Series):
    """A trigger that can be combined with others."""

    @property
    def depth(self) -> int:
        """How deep combinations nest in it."""
        return 1

    def __or__(self, other: object) -> Union:
        return Union((self, other)) if isinstance(other, Combinable) else NotImplemented

    def __and__(self, other: object) -> Intersection:
        return Intersection((self, other)) if isinstance(other, Combinable) else NotImplemented

    def __sub__(self, other: object) -> Difference:
        return Difference(self, other) if isinstance(other, Combinable) else NotImplemented

    def between(self, start: Moment = None, end: Moment = None, tz: str = "UTC") -> Between:
        """The same trigger from `start` on and before `end`; with a start, it can be iterated over."""
        local = zone(tz)
        span = (None if moment is None else read_time(moment, local) for moment in (start, end))
        return Between(self, *span)

    def limit(self, n: int) -> Limit:
        """The same trigger for its first `n` fire times; it must have a beginning."""
        return Limit(self, n)

    def outside(self, opens: Combinable, lasts: Duration) -> Outside:
        """The same trigger but for its fire times in windows that `opens` begins and that last so long."""
        return Outside(self, opens, parse_duration(lasts))


class Combination(Combinable):
    """A trigger made of others."""

    def __post_init__(self) -> None:
        if self.depth > DEPTH_MAX:
            raise InvalidTrigger(f"triggers are combined {self.depth} deep, expected at most {DEPTH_MAX}")

    parts: ClassVar[tuple[str, ...]] = ("of",)

    def _members(self) -> tuple[Combinable, ...]:
        return tuple(getattr(self, part) for part in self.parts)

    def _with(self, members: Sequence[Combinable]) -> Self:
        """The same combination of other members."""
        return replace(self, **dict(zip(self.parts, members, strict=True)))  # type: ignore[type-var]

    @property
    def depth(self) -> int:
        return 1 + max(member.depth for member in self._members())

    def zones(self) -> frozenset[str]:
        return frozenset[str]().union(*(member.zones() for member in self._members()))

    def calendar_names(self) -> frozenset[str]:
        return frozenset[str]().union(*(member.calendar_names() for member in self._members()))

    def is_hashed(self) -> bool:
        return any(member.is_hashed() for member in self._members())

    def bound(self, binding: Binding) -> Self:
        members = self._members()
        bound = [member.bound(binding) for member in members]
        return self if all(map(is_, members, bound)) else self._with(bound)

    def next_after(self, after: datetime) -> datetime | None:
        return self._search(after, self.candidate_after)

    def previous(self, before: datetime) -> datetime | None:
        return self._search(before, self.candidate_before)

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        looks = 0
        while (moment := self.candidate_after(after)) is not None and moment <= through:
            looks += 1
            if moment in self:
                yield moment
                looks = 0
            elif looks == LOOKS_MAX:
                raise self._exhausted(moment)
            after = moment

    def _search(self, moment: datetime, candidate: Callable[[datetime], datetime | None]) -> datetime | None:
        for _ in range(LOOKS_MAX):
            found = candidate(moment)
            if found is None or found in self:
                return found
            moment = found
        raise self._exhausted(moment)

    def _exhausted(self, moment: datetime) -> SearchExhausted:
        looked = f"found no fire time in {LOOKS_MAX} looks up to {to_utc_text(moment)}"
        return SearchExhausted(f"{looked}; it may never fire", moment)


@dataclass(frozen=True)
class Group(Combination):
    """Members of equal standing; a group in a group of the same kind is one with it."""

    members: tuple[Combinable, ...]
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", _flattened(type(self), self.members))
        super().__post_init__()
        if any(member.jitter is not None for member in self.members):
            raise InvalidTrigger("a jitter belongs to the schedule, not to a member of a combination")

    def to_json(self) -> JsonObject:
        """The kind, and the members under `of`."""
        return {"v": VERSION, "kind": self.kind, "of": [member.to_json() for member in self.members]}

    def _members(self) -> tuple[Combinable, ...]:
        return self.members

    def _with(self, members: Sequence[Combinable]) -> Self:
        return type(self)(tuple(members))


class Union(Group):
    """Fires whenever one of its members does, once."""

    kind = "union"

    @property
    def starts(self) -> datetime | None:
        begins = [member.starts for member in self.members]
        return None if None in begins else _pick(min, begins)

    def candidate_after(self, after: datetime) -> datetime | None:
        return _pick(min, [member.candidate_after(after) for member in self.members])

    def candidate_before(self, before: datetime) -> datetime | None:
        return _pick(max, [member.candidate_before(before) for member in self.members])

    def __contains__(self, moment: datetime) -> bool:
        return any(moment in member for member in self.members)

    def describe(self) -> str:
        return ", and ".join(member.describe() for member in self.members)


class Intersection(Group):
    """Fires when all of its members do."""

    kind = "intersection"

    @property
    def starts(self) -> datetime | None:
        return _pick(max, [member.starts for member in self.members])

    def candidate_after(self, after: datetime) -> datetime | None:
        candidates = [member.candidate_after(after) for member in self.members]
        return None if None in candidates else _pick(max, candidates)

    def candidate_before(self, before: datetime) -> datetime | None:
        candidates = [member.candidate_before(before) for member in self.members]
        return None if None in candidates else _pick(min, candidates)

    def __contains__(self, moment: datetime) -> bool:
        return all(moment in member for member in self.members)

    def describe(self) -> str:
        return ", where that is also ".join(member.describe() for member in self.members)


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
        if self.start is not None and self.end is not None and self.end <= self.start:
            span = f"{to_utc_text(self.start)} and {to_utc_text(self.end)}"
            raise InvalidTrigger(f"between {span}: expected an end later than the start")

    def __iter__(self) -> Iterator[datetime]:
        if self.start is None:
            raise InvalidTrigger("between: cannot be listed without a start")
        return self.fire_times(self.start - TICK, self.end or LAST)

    @property
    def starts(self) -> datetime | None:
        return _pick(max, [self.start, self.of.starts])

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
            mend = "write .between(start).limit(n), so that every node counts from the same time"
            raise InvalidTrigger(f"limit {self.count}: the trigger has no beginning; {mend}")

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
        found = self.of.next(self.of.starts - TICK, self.count)
        return found[-1] if len(found) == self.count else None

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
        closes = None if found is None else self._closes(found)
        return found if closes is None else self.of.candidate_after(closes - TICK)

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
        return self._closes(moment) is None

    def _closes(self, moment: datetime) -> datetime | None:
        """The end of the window that the instant lies in, or None where it lies in none."""
        opened = self.opens.previous(moment + TICK)
        return None if opened is None or moment - opened >= self.lasts else opened + self.lasts


def _flattened(kind: type[Group], members: Sequence[Combinable]) -> tuple[Combinable, ...]:
    """The members of members of the same kind among them, each once."""
    flat: dict[Combinable, None] = {}
    for member in members:
        flat.update(dict.fromkeys(member.members if isinstance(member, kind) else (member,)))
    if not 1 <= len(flat) <= MEMBERS_MAX:
        raise InvalidTrigger(f"{len(flat)} triggers are combined, expected 1 to {MEMBERS_MAX}")
    return tuple(flat)


def _pick(
    choose: Callable[[Iterable[datetime]], datetime], moments: Iterable[datetime | None]
) -> datetime | None:
    return choose(known) if (known := [one for one in moments if one is not None]) else None
