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
looks, or half a century of them (`patience`), the search ends with `SearchExhausted`, which says how far it
has come: a planner goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from operator import is_
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias

from fencepost.errors import InvalidTrigger, SearchExhausted
from fencepost.model.durations import Duration, parse_duration
from fencepost.model.json import JsonObject
from fencepost.model.times import read_time, to_utc_text
from fencepost.triggers.localtime.zones import zone
from fencepost.triggers.patience import HORIZON_YEARS, LIST_PATIENCE, PATIENCE, PRICE_PLAIN, Looks, keep_on
from fencepost.triggers.series import Binding, Series

if TYPE_CHECKING:
    from fencepost.triggers.narrow import Between, Difference, Limit, Outside

VERSION = 1
LOOKS_MAX = 10_000
LOOKS_BACK_MAX = 200_000
LEAVES_MAX = 100
DEPTH_MAX = 16

Moment: TypeAlias = datetime | str | None
Search: TypeAlias = Callable[[datetime, Looks], datetime | None]


class Combinable(Series):
    """A trigger that can be combined with others."""

    @property
    def depth(self) -> int:
        """How deep combinations nest in it."""
        return 1

    @property
    def leaves(self) -> int:
        """How many plain triggers it is made of."""
        return 1

    @property
    def price(self) -> int:
        """What a look at it costs, where one at a cron expression costs 1."""
        return PRICE_PLAIN

    def __or__(self, other: object) -> Union:
        return Union((self, other)) if isinstance(other, Combinable) else NotImplemented

    def __and__(self, other: object) -> Intersection:
        return Intersection((self, other)) if isinstance(other, Combinable) else NotImplemented

    def __sub__(self, other: object) -> Difference:
        # What narrows a trigger is a combination itself, so that it is imported when it is made.
        from fencepost.triggers.narrow import Difference

        return Difference(self, other) if isinstance(other, Combinable) else NotImplemented

    def between(self, start: Moment = None, end: Moment = None, tz: str | None = None) -> Between:
        """The same trigger from `start` on and before `end`; with a start, it can be iterated over.

        A time without an offset is read in `tz`, which is the trigger's own zone where it has just one.
        """
        from fencepost.triggers.narrow import Between

        own = self.zones()
        local = zone(tz or (next(iter(own)) if len(own) == 1 else "UTC"))
        span = (None if moment is None else read_time(moment, local) for moment in (start, end))
        return Between(self, *span)

    def limit(self, n: int) -> Limit:
        """The same trigger for its first `n` fire times; it must have a beginning."""
        from fencepost.triggers.narrow import Limit

        return Limit(self, n)

    def outside(self, opens: Combinable, lasts: Duration) -> Outside:
        """The same trigger but for its fire times in windows that `opens` begins and that last so long."""
        from fencepost.triggers.narrow import Outside

        return Outside(self, opens, parse_duration(lasts))


class Combination(Combinable):
    """A trigger made of others: the fields that `parts` names."""

    parts: ClassVar[tuple[str, ...]] = ("of",)

    def __post_init__(self) -> None:
        if self.depth > DEPTH_MAX:
            raise InvalidTrigger(f"triggers are combined {self.depth} deep, expected at most {DEPTH_MAX}")
        if self.leaves > LEAVES_MAX:
            raise InvalidTrigger(f"{self.leaves} triggers are combined, expected at most {LEAVES_MAX}")

    def _members(self) -> tuple[Combinable, ...]:
        return tuple(getattr(self, part) for part in self.parts)

    def _with(self, members: Sequence[Combinable]) -> Self:
        """The same combination of other members."""
        return replace(self, **dict(zip(self.parts, members, strict=True)))  # type: ignore[type-var]

    @property
    def leaves(self) -> int:
        return sum(member.leaves for member in self._members())

    @property
    def price(self) -> int:
        return sum(member.price for member in self._members())

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

    def dense_after(self, after: datetime) -> Iterator[datetime]:
        with suppress(SearchExhausted):
            yield from super().dense_after(after)
        for member in self._members():
            yield from member.dense_after(after)

    def next_after(self, after: datetime) -> datetime | None:
        return self._search(after, Looks(self._looks_max))

    def previous(self, before: datetime) -> datetime | None:
        return self._search_back(before, Looks(self._looks_back_max))

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        looks = Looks(self._looks_max)
        while (moment := self.candidate_after(after)) is not None and moment <= through:
            if moment in self:
                yield moment
                looks = Looks(self._looks_max)
            elif not looks.go_on(moment):
                raise _exhausted(moment, looks)
            after = moment

    def _onwards(self, after: datetime) -> Iterator[datetime]:
        return _patiently(self._search, after, self._looks_max * PATIENCE)

    def _backwards(self, before: datetime) -> Iterator[datetime]:
        return _patiently(self._search_back, before, self._looks_back_max)

    def _search(self, after: datetime, looks: Looks) -> datetime | None:
        while (found := self.candidate_after(after)) is not None and found not in self:
            if not looks.go_on(found):
                raise _exhausted(found, looks)
            after = found
        return found

    def _search_back(self, before: datetime, looks: Looks) -> datetime | None:
        while (found := self.candidate_before(before)) is not None and found not in self:
            if not looks.go_on(found):
                raise InvalidTrigger(f"found no fire time back to {to_utc_text(found)}; {_remedy(looks)}")
            before = found
        return found

    @property
    def _looks_back_max(self) -> int:
        return max(LOOKS_BACK_MAX // self.price, 1)

    @property
    def _looks_max(self) -> int:
        """A look asks every member, so that there are fewer of them in a search of many or dear members."""
        return max(LOOKS_MAX // self.price, 1)


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

    def _asked(self) -> Iterator[Combinable]:
        """One member after the other, while there is time."""
        for member in self.members:
            keep_on()
            yield member

    def _with(self, members: Sequence[Combinable]) -> Self:
        return type(self)(tuple(members))


class Union(Group):
    """Fires whenever one of its members does, once."""

    kind = "union"

    @property
    def starts(self) -> datetime | None:
        begins = [member.starts for member in self.members]
        return None if None in begins else pick(min, begins)

    def candidate_after(self, after: datetime) -> datetime | None:
        return pick(min, [member.candidate_after(after) for member in self._asked()])

    def candidate_before(self, before: datetime) -> datetime | None:
        return pick(max, [member.candidate_before(before) for member in self._asked()])

    def __contains__(self, moment: datetime) -> bool:
        return any(moment in member for member in self._asked())

    def describe(self) -> str:
        return ", and ".join(member.describe() for member in self.members)


class Intersection(Group):
    """Fires when all of its members do."""

    kind = "intersection"

    @property
    def starts(self) -> datetime | None:
        return pick(max, [member.starts for member in self.members])

    def candidate_after(self, after: datetime) -> datetime | None:
        candidates = [member.candidate_after(after) for member in self._asked()]
        return None if None in candidates else pick(max, candidates)

    def candidate_before(self, before: datetime) -> datetime | None:
        candidates = [member.candidate_before(before) for member in self._asked()]
        return None if None in candidates else pick(min, candidates)

    def __contains__(self, moment: datetime) -> bool:
        return all(moment in member for member in self._asked())

    def describe(self) -> str:
        return ", where that is also ".join(member.describe() for member in self.members)


def _patiently(search: Search, moment: datetime, looks_max: int) -> Iterator[datetime]:
    """One fire time after the other; `looks_max` looks for each, and `LIST_PATIENCE` times as many for
    all."""
    left = looks_max * LIST_PATIENCE
    while left > 0:
        looks = Looks(looks_max)
        found = search(moment, looks)
        if found is None:
            return
        yield found
        moment = found
        left -= looks.taken
    raise SearchExhausted(f"found too few fire times up to {to_utc_text(moment)}; ask for fewer", moment)


def _exhausted(moment: datetime, looks: Looks) -> SearchExhausted:
    return SearchExhausted(f"found no fire time up to {to_utc_text(moment)}; {_remedy(looks)}", moment)


def _remedy(looks: Looks) -> str:
    return f"it may never fire: see that its parts meet within {looks.most} looks and {HORIZON_YEARS} years"


def _flattened(kind: type[Group], members: Sequence[Combinable]) -> tuple[Combinable, ...]:
    """The members of members of the same kind among them, each once."""
    flat: dict[Combinable, None] = {}
    for member in members:
        flat.update(dict.fromkeys(member.members if isinstance(member, kind) else (member,)))
    if not flat:
        raise InvalidTrigger("nothing is combined, expected at least one trigger")
    return tuple(flat)


def pick(
    choose: Callable[[Iterable[datetime]], datetime], moments: Iterable[datetime | None]
) -> datetime | None:
    """The chosen one of the moments that are known."""
    return choose(known) if (known := [one for one in moments if one is not None]) else None
