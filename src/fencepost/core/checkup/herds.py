"""Point 9: many runs that are due in the same second.

Ten thousand schedules at midnight are one queue of ten thousand, and the last run in it is late. The count
takes due times as the planner would set them, spread and jitter included, over the next day. It does not
sample, but a day may have too many ticks to wait for. So it goes through the day in stretches, each twice as
long as all before it, for all schedules alike. After `STEPS_MAX` ticks it drops the stretch in hand: what
was counted before that is complete, and the finding says how far the count goes.

The count leaves out a tick that has fired and is due only later, by its spread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from datetime import datetime, timedelta

from fencepost.core.checkup.facts import Facts, Limits, Rhythm, ScheduleSheet
from fencepost.core.checkup.findings import NAMES_TOLD_MAX, Finding, Point, Severity, some_of
from fencepost.core.spreading import due_at
from fencepost.errors import SearchExhausted
from fencepost.model.dataclasses import dataclass
from fencepost.model.durations import format_duration
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.stretch import Stretch
from fencepost.model.times import to_utc_text

HORIZON = timedelta(days=1)
STRETCH_FIRST = timedelta(minutes=1)
STEPS_MAX = 200_000
HERD_MIN = 50
"""Fewer are never called a herd; nor is what one process runs at once."""
HERDS_TOLD_MAX = 5
STARTS_PER_S = 10
"""What a proposed spread leaves of a herd, on average."""
SPREADS = tuple(timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60))
HALF_PERIOD = "50%"
POOL_MIN = 3


@dataclass(slots=True)
class Herd:
    """A second with many runs, and how many later seconds have the same ones."""

    at: datetime
    count: int = 0
    members: int = 0
    """A digest of the schedules, so that two seconds can be compared without keeping their schedules."""
    names: list[ScheduleId] = field(default_factory=list)
    largest: int = 0
    """The largest number of them that share a trigger; the period is theirs."""
    period_min: timedelta | None = None
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class Count:
    """The herds of the time from now to `through`, the largest first; `busiest` is the most of any second."""

    herds: tuple[Herd, ...]
    busiest: int
    through: datetime
    cut: bool


def herds(facts: Facts) -> Iterator[Finding]:
    """The largest herds with a spread that would scatter them, and what else the load asks for."""
    counted = count(facts.schedules, facts.namespace, facts.now, _herd_min(facts.limits), STEPS_MAX)
    yield from (_told(herd) for herd in counted.herds[:HERDS_TOLD_MAX])
    more = len(counted.herds) - HERDS_TOLD_MAX
    if more > 0:
        reason = f"{more} other herds of {counted.herds[-1].count} or more schedules"
        yield Finding(Point.HERDS, Severity.WARN, reason, "scatter the largest, and look again")
    if not counted.herds:
        told = (
            f"no more than {counted.busiest} runs are due in any second until {to_utc_text(counted.through)}"
        )
        yield Finding(Point.HERDS, Severity.OK, told)
    if counted.cut:
        reason = (
            f"more than {STEPS_MAX} ticks come within a day: they were counted until "
            f"{to_utc_text(counted.through)}, and not after"
        )
        yield Finding(Point.HERDS, Severity.UNKNOWN, reason, "look again later that day")
    yield from _pool(facts.limits)


def _herd_min(limits: Limits) -> int:
    return max(HERD_MIN, limits.concurrency + 1)


def _told(herd: Herd) -> Finding:
    often = f" and in {herd.repeats} more seconds until a day later" if herd.repeats else ""
    return Finding(
        Point.HERDS,
        Severity.WARN,
        f"{herd.count} runs are due in the second of {to_utc_text(herd.at)}{often}: "
        f"{some_of(herd.names, herd.count)}",
        f'spread = "{spread_for(herd.count, herd.period_min)}" on each of these schedules',
    )


def spread_for(number: int, period_min: timedelta | None) -> str:
    """A stretch in which this number of runs starts at a pace that workers can follow; at most half the
    period."""
    wanted = timedelta(seconds=number / STARTS_PER_S)
    chosen = next((one for one in SPREADS if one >= wanted), SPREADS[-1])
    return HALF_PERIOD if period_min is not None and chosen > period_min / 2 else format_duration(chosen)


def _pool(limits: Limits) -> Iterator[Finding]:
    if limits.pool_max is not None and limits.pool_max < POOL_MIN:
        reason = f"pool_max is {limits.pool_max}: planning, claiming and reporting wait for one another"
        yield Finding(Point.HERDS, Severity.WARN, reason, f"pool_max = {POOL_MIN} or more")


def count(
    schedules: Sequence[ScheduleSheet],
    namespace: Namespace,
    now: datetime,
    herd_min: int,
    steps_max: int,
) -> Count:
    """Count what is due in each second, from the beginning of this one."""
    start = now.replace(microsecond=0)
    streams = list(_streams(schedules, namespace, start))
    found: dict[tuple[int, int], Herd] = {}
    reached, steps, busiest = start, 0, 0
    for until in _milestones(start):
        seconds, steps = _stretch(streams, until, steps, steps_max)
        if steps > steps_max:
            return Count(_sorted(found.values()), busiest, reached, cut=True)
        reached, busiest = until, max([busiest, *(one.count for one in seconds.values())])
        for one in sorted(seconds.values(), key=lambda second: second.at):
            if one.count >= herd_min:
                _remember(found, one)
    return Count(_sorted(found.values()), busiest, reached, cut=False)


def _remember(found: dict[tuple[int, int], Herd], second: Herd) -> None:
    known = found.setdefault((second.count, second.members), second)
    if known is not second:
        known.repeats += 1


def _sorted(found: Iterable[Herd]) -> tuple[Herd, ...]:
    return tuple(sorted(found, key=lambda herd: (-herd.count, herd.at)))


def _milestones(start: datetime) -> Iterator[datetime]:
    length = STRETCH_FIRST
    while length < HORIZON:
        yield start + length
        length *= 2
    yield start + HORIZON


def _stretch(
    streams: Iterable[_DueStream], until: datetime, steps: int, steps_max: int
) -> tuple[dict[datetime, Herd], int]:
    """What is due in each second before `until`. A count of steps beyond the limit: the stretch was given
    up."""
    seconds: dict[datetime, Herd] = {}
    for number, stream in enumerate(streams):
        while stream.due is not None and stream.due < until:
            second = stream.due.replace(microsecond=0)
            herd = seconds.get(second)
            if herd is None:
                herd = seconds[second] = Herd(second)
            stream.join(herd, number)
            stream.step()
            steps += 1
            if steps > steps_max:
                return seconds, steps
    return seconds, steps


@dataclass(slots=True)
class _DueStream:
    """The due times of schedules that are always due together."""

    schedules: Sequence[ScheduleSheet]
    times: Iterator[datetime]
    due: datetime | None = None

    def step(self) -> None:
        """Go on to the next due time. Where the search for it is cut, there is none to count."""
        try:
            self.due = next(self.times, None)
        except SearchExhausted:
            self.due = None

    def join(self, herd: Herd, number: int) -> None:
        """Be part of a second."""
        size, period = len(self.schedules), self.schedules[0].period_min
        herd.count += size
        herd.members += hash((number,))
        if size > herd.largest:
            herd.largest, herd.period_min = size, period
            herd.names = [*(one.schedule_id for one in self.schedules[:NAMES_TOLD_MAX]), *herd.names]
        elif size == herd.largest and period is not None:
            herd.period_min = min(period, herd.period_min or period)
        if len(herd.names) < NAMES_TOLD_MAX:
            herd.names.append(self.schedules[0].schedule_id)


def _streams(
    schedules: Iterable[ScheduleSheet], namespace: Namespace, start: datetime
) -> Iterator[_DueStream]:
    for rhythm, alike in _by_rhythm(schedules):
        shared = _Shared(rhythm, start)
        together = [one for one in alike if not _is_shifted(one, rhythm)]
        made = [_DueStream(together, shared.times())] if together else []
        made += [
            _DueStream([one], _due_times(one, rhythm, namespace, shared))
            for one in alike
            if _is_shifted(one, rhythm)
        ]
        for stream in made:
            stream.step()
            yield stream


def _by_rhythm(schedules: Iterable[ScheduleSheet]) -> Iterable[tuple[Rhythm, list[ScheduleSheet]]]:
    alike: dict[Rhythm, list[ScheduleSheet]] = {}
    for one in schedules:
        if one.rhythm is not None:
            alike.setdefault(one.rhythm, []).append(one)
    return alike.items()


class _Shared:
    """Fire times that are computed once, however many schedules go through them."""

    def __init__(self, rhythm: Rhythm, start: datetime) -> None:
        self._trigger = rhythm.trigger
        # A fire time at the very beginning counts.
        self._source = self._trigger.fire_times(start - timedelta.resolution, start + HORIZON)
        self._known: list[datetime] = []
        self._over = False

    def times(self) -> Iterator[datetime]:
        """From the first one on."""
        index = 0
        while index < len(self._known) or self._grow():
            yield self._known[index]
            index += 1

    def following(self, moment: datetime) -> datetime | None:
        """The fire time after the last one of the horizon."""
        return self._trigger.next_after(moment)

    def _grow(self) -> bool:
        if not self._over:
            moment = next(self._source, None)
            self._over = moment is None
            if moment is not None:
                self._known.append(moment)
        return not self._over


def _is_shifted(schedule: ScheduleSheet, rhythm: Rhythm) -> bool:
    return schedule.spec.spread is not None or _jitter(schedule, rhythm) is not None


def _jitter(schedule: ScheduleSheet, rhythm: Rhythm) -> Stretch | None:
    own = rhythm.trigger.jitter
    return schedule.spec.jitter or (None if own is None else Stretch(length=own))


def _due_times(
    schedule: ScheduleSheet, rhythm: Rhythm, namespace: Namespace, shared: _Shared
) -> Iterator[datetime]:
    """As the planner sets them; they rise as the fire times do."""
    identity = f"{namespace}\n{schedule.schedule_id}"
    spread, jitter = schedule.spec.spread, _jitter(schedule, rhythm)
    times = shared.times()
    moment = next(times, None)
    while moment is not None:
        upcoming = next(times, None)
        known = upcoming if upcoming is not None else shared.following(moment)
        yield due_at(identity, moment, known, spread, jitter)
        moment = upcoming
