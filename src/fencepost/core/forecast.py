"""The load to come: how many runs are due when, before and after spread.

Triggers give fire times; planners make due times of them, with spread and jitter. Both are counted, in
buckets for the picture and in seconds for the herds. Schedules that share a trigger share its fire times, so
that ten thousand alike cost as much as one. Schedules with a spread cost more: each of their ticks is one
step, and each fire time several. There are at most `steps_max` steps. The count goes hour by hour, for all
schedules alike. Where the steps are used up, it drops the hour in hand; what was counted before is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from datetime import datetime, timedelta

from fencepost.core.checkup.herds import HERD_MIN, spread_for
from fencepost.core.spreading import due_at
from fencepost.errors import SearchExhausted
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.stretch import Stretch
from fencepost.model.trigger import Trigger

HORIZON = timedelta(days=1)
HOUR = timedelta(hours=1)
BUCKET = timedelta(minutes=5)
BUCKET_S = int(BUCKET.total_seconds())
MICROSECOND = timedelta(microseconds=1)
SECOND_US = 1_000_000
STEPS_A_FIRE_TIME = 5
"""The steps that a computed fire time costs; a tick that is only moved costs 1."""
NAMES_MAX = 5
BUSY_MAX = 10
BUSY_MIN = 5
"""A second with fewer runs is not listed as busy."""


@dataclass(frozen=True)
class Planned:
    """A schedule that fires, with what moves its runs."""

    schedule_id: ScheduleId
    spread: Stretch | None
    jitter: Stretch | None

    @property
    def mark(self) -> int:
        """A digest that tells the schedule from the others where they are counted together."""
        return hash(self.schedule_id)


@dataclass(frozen=True)
class Alike:
    """Schedules that share a trigger."""

    trigger: Trigger
    schedules: tuple[Planned, ...]


@dataclass(frozen=True)
class Busy:
    """A second in which several runs are due: how many are due, how many fire in it, the names of some of
    the schedules, and how many later seconds have the same ones. `spread` scatters them, where they are a
    herd."""

    at: datetime
    due: int
    fired: int
    names: tuple[ScheduleId, ...]
    repeats: int
    spread: str | None


@dataclass(frozen=True)
class Forecast:
    """The runs from `start` to `through`; `cut` where that is not the whole horizon. A bucket has how many
    runs fire in it, and how many are due in it."""

    start: datetime
    through: datetime
    fired: tuple[int, ...]
    due: tuple[int, ...]
    busiest_fired: int
    busiest_due: int
    busy: tuple[Busy, ...]
    schedules: int
    spread: int
    """How many of the schedules are spread or jittered."""
    unread: int
    cut: bool


def planned(schedule_id: ScheduleId, spec: ScheduleSpec, trigger: Trigger) -> Planned:
    """A schedule as it is counted; a jitter of the trigger counts like a jitter of the spec."""
    own = None if trigger.jitter is None else Stretch(length=trigger.jitter)
    return Planned(schedule_id, spec.spread, spec.jitter or own)


def forecast(
    groups: Sequence[Alike], namespace: Namespace, now: datetime, steps_max: int, unread: int = 0
) -> Forecast:
    """Count what is to come within a day, from the beginning of this minute."""
    start = now.replace(second=0, microsecond=0)
    largest_first = sorted(groups, key=lambda one: -len(one.schedules))
    streams = [_ForecastStream(one, namespace, start) for one in largest_first]
    counts, reached, steps, cut = _Counts(start), start, steps_max, False
    for until in (start + HOUR * hour for hour in range(1, HORIZON // HOUR + 1)):
        stretch = _Counts(start)
        steps = _go(streams, until, stretch, steps)
        if steps < 0:
            cut = True
            break
        counts.add(stretch)
        reached = until
    every = [one for group in groups for one in group.schedules]
    return Forecast(
        start,
        reached,
        *counts.buckets(reached),
        busiest_fired=max(counts.fired.values(), default=0),
        busiest_due=max((one.due for one in counts.seconds.values()), default=0),
        busy=counts.busy(),
        schedules=len(every),
        spread=sum(_is_moved(one) for one in every),
        unread=unread,
        cut=cut,
    )


def _go(streams: Sequence[_ForecastStream], until: datetime, counts: _Counts, steps: int) -> int:
    """Count all fire times before `until`; returns the steps that are left, negative where there were too
    few."""
    for number, stream in enumerate(streams):
        for fire_time, upcoming in stream.before(until):
            steps -= STEPS_A_FIRE_TIME + len(stream.moved)
            if steps < 0:
                return steps
            moment = counts.moment(fire_time)
            counts.fire(moment, stream.size)
            if stream.together:
                counts.owe(moment, len(stream.together), stream.together, stream.period, hash((number,)))
            for one in stream.moved:
                due = moment + stream.offset(one, fire_time, upcoming)
                counts.owe(due, 1, (one,), stream.period, one.mark)
    return steps


def _is_moved(one: Planned) -> bool:
    return one.spread is not None or one.jitter is not None


class _ForecastStream:
    """The fire times of schedules that share a trigger, each with the one after it."""

    def __init__(self, alike: Alike, namespace: Namespace, start: datetime) -> None:
        self._namespace = namespace
        self.together = tuple(one for one in alike.schedules if not _is_moved(one))
        self.moved = tuple(one for one in alike.schedules if _is_moved(one))
        self.size = len(alike.schedules)
        self.period: timedelta | None = None
        self._trigger = alike.trigger
        self._offsets: dict[tuple[ScheduleId, timedelta | None], int] = {}
        # A fire time at the very beginning counts.
        self._next = self._after(start - timedelta.resolution)

    def identity(self, one: Planned) -> str:
        """The identity from which planners compute spread and jitter."""
        return f"{self._namespace}\n{one.schedule_id}"

    def offset(self, one: Planned, fire_time: datetime, upcoming: datetime | None) -> int:
        """How many microseconds later than its fire time a run is due. A spread is the same at every tick
        of one period; a jitter is not."""
        gap = None if upcoming is None else upcoming - fire_time
        known = self._offsets.get((one.schedule_id, gap)) if one.jitter is None else None
        if known is None:
            due = due_at(self.identity(one), fire_time, upcoming, one.spread, one.jitter)
            known = (due - fire_time) // MICROSECOND
            if one.jitter is None:
                self._offsets[one.schedule_id, gap] = known
        return known

    def before(self, until: datetime) -> Iterator[tuple[datetime, datetime | None]]:
        """The fire times that come before."""
        while self._next is not None and self._next < until:
            moment = self._next
            self._next = self._after(moment)
            if self._next is not None:
                gap = self._next - moment
                self.period = gap if self.period is None else min(gap, self.period)
            yield moment, self._next

    def _after(self, moment: datetime) -> datetime | None:
        """The next fire time. Where the search for it is cut, there is none to count."""
        try:
            return self._trigger.next_after(moment)
        except SearchExhausted:
            return None


@dataclass(slots=True)
class _Second:
    """What is due in one second; `members` tells the schedules of two seconds apart."""

    due: int = 0
    members: int = 0
    largest: int = 0
    period: timedelta | None = None
    names: list[ScheduleId] = field(default_factory=list)


class _Counts:
    """What was counted: what fires in each second from the start, and what is due in it. Moments are
    microseconds from there."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self.fired: dict[int, int] = {}
        self.seconds: dict[int, _Second] = {}

    def moment(self, instant: datetime) -> int:
        return (instant - self._start) // MICROSECOND

    def fire(self, moment: int, number: int) -> None:
        second = moment // SECOND_US
        self.fired[second] = self.fired.get(second, 0) + number

    def owe(
        self, moment: int, number: int, whose: Sequence[Planned], period: timedelta | None, mark: int
    ) -> None:
        """Count runs that are due in this second."""
        second = moment // SECOND_US
        found = self.seconds.get(second)
        if found is None:
            found = self.seconds[second] = _Second()
        found.due += number
        found.members += mark
        if number > found.largest:
            found.largest, found.period = number, period
        if len(found.names) < NAMES_MAX:
            found.names += [one.schedule_id for one in whose[: NAMES_MAX - len(found.names)]]

    def add(self, other: _Counts) -> None:
        """Add the counts of an hour; a spread may reach into the next one."""
        for second, number in other.fired.items():
            self.fired[second] = self.fired.get(second, 0) + number
        for second, found in other.seconds.items():
            known = self.seconds.setdefault(second, found)
            if known is not found:
                known.due += found.due
                known.members += found.members
                known.names = [*known.names, *found.names][:NAMES_MAX]

    def buckets(self, through: datetime) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What fires, and what is due, in each bucket of the time that was counted."""
        size = (through - self._start) // BUCKET
        fired, due = [0] * size, [0] * size
        for second, number in self.fired.items():
            fired[second // BUCKET_S] += number
        for second, found in self.seconds.items():
            if second // BUCKET_S < size:
                due[second // BUCKET_S] += found.due
        return tuple(fired), tuple(due)

    def busy(self) -> tuple[Busy, ...]:
        """The busiest seconds; those that have the same runs are told once."""
        repeats: dict[tuple[int, int], list[int]] = {}
        for second, found in sorted(self.seconds.items(), key=lambda item: item[0]):
            if found.due >= BUSY_MIN:
                repeats.setdefault((found.due, found.members), []).append(second)
        first = sorted(repeats.items(), key=lambda item: (-item[0][0], item[1][0]))[:BUSY_MAX]
        return tuple(self._busy(seconds[0], len(seconds) - 1) for _, seconds in first)

    def _busy(self, second: int, repeats: int) -> Busy:
        found = self.seconds[second]
        herd = found.due >= HERD_MIN
        return Busy(
            self._start + timedelta(seconds=second),
            found.due,
            self.fired.get(second, 0),
            tuple(found.names),
            repeats,
            spread_for(found.due, found.period) if herd else None,
        )
