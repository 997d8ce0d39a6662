"""`simulate`: what would this schedule have done last night?

The real planner, judge, worker and reaper run one schedule through a stretch of virtual time over a store in
memory, with outages in it, and every tick comes out with its state and the reason. The work itself is not
done: it only takes the time that the caller gives it. A worker that dies in an outage loses its running
attempt, as a real one would.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Any, TypeAlias

from fencepost.app.specs import schedule_spec
from fencepost.config import Settings
from fencepost.errors import UsageError
from fencepost.model.durations import Duration, parse_duration
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, Namespace, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.missed import MissedRange
from fencepost.model.quoting import quoted
from fencepost.model.run import RunRecord
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.times import read_time, to_utc_text
from fencepost.model.trigger import Trigger
from fencepost.ports.executor import Job
from fencepost.ports.run import Run
from fencepost.services.binding import bound_spec
from fencepost.stores.memory import MemoryStore
from fencepost.telemetry.logs import ROOT
from fencepost.testing.clock import VirtualClock
from fencepost.testing.engine import Engine
from fencepost.testing.ground import SHARDS
from fencepost.testing.simulation import Row, Simulation
from fencepost.testing.watching import Observer, Stub, Watched
from fencepost.triggers import stored_trigger, tzdata_version

Moment: TypeAlias = datetime | str
Took: TypeAlias = Duration | Callable[[datetime], Duration]

TICKS_MAX = 50_000
SPAN_MAX = timedelta(days=366)
PATIENCE_S = 60.0
NS: Namespace = DEFAULT_NAMESPACE
BEFORE = timedelta.resolution
EARLIER = timedelta(seconds=1)


class Away(StrEnum):
    """Which part is away in an outage."""

    ALL = "all"
    WORKERS = "workers"
    PLANNERS = "planners"


@dataclass(frozen=True)
class Outage:
    """From the first moment on, and back at the last."""

    since: datetime
    until: datetime
    away: Away


def simulate(
    schedule: ScheduleSpec | Trigger,
    since: Moment,
    until: Moment,
    *,
    outage: tuple[Moment, Moment] | Sequence[tuple[Moment, Moment]] = (),
    away: str = Away.ALL,
    duration: Took = 0,
    schedule_id: str = "simulated",
    job: JobSpec | None = None,
    calendars: Mapping[str, JsonObject] | None = None,
    **policies: Any,
) -> Simulation:
    """Every tick of a schedule from `since` to `until`, both of them included, and what became of it.

    `schedule` is a trigger, with policies as in `app.add_schedule` (`overlap=`, `catch_up=`, `spread=`…), or
    a whole spec. In an outage workers and planners are away, or only the one of them that `away` names.
    `duration` is how long a run takes, or a function from the fire time to that; it may raise for a run that
    fails. `job` brings retry, timeout and delivery.

    `print(simulate(Cron("0 2 * * *"), "2026-03-01", "2026-03-08", outage=("2026-03-03", "2026-03-05")))`
    """
    spec = _spec(schedule, policies)
    ends = _span(since, until)
    course = _Course(
        spec=spec,
        schedule_id=ScheduleId(schedule_id),
        since=ends[0],
        until=ends[1],
        outages=tuple(_outages(outage, away)),
        duration=duration if callable(duration) else _always(parse_duration(duration)),
        job=replace(job, name=spec.job) if job is not None else JobSpec(spec.job),
        calendars=dict(calendars or {}),
    )
    with ThreadPoolExecutor(1) as thread, _unheard():
        # A loop of its own, because the caller's may be running.
        return thread.submit(asyncio.run, course.run()).result()


@dataclass(frozen=True)
class _Course:
    spec: ScheduleSpec
    schedule_id: ScheduleId
    since: datetime
    until: datetime
    outages: tuple[Outage, ...]
    duration: Callable[[datetime], Duration]
    job: JobSpec
    calendars: Mapping[str, JsonObject]

    async def run(self) -> Simulation:
        clock = VirtualClock(self.since - EARLIER)
        store = MemoryStore(clock, SHARDS)
        spec = await self._deploy(store)
        self._refuse_too_many(spec)
        engine = self._engine(store, clock)
        await engine.start()
        for one in self.outages:
            await engine.advance_before(one.since)
            await _begin(engine, one.away)
            await engine.advance_to(min(one.until, self.until))
            engine.plans = engine.works = engine.reaps = True
        await engine.advance_to(self.until)
        return Simulation(self.since, self.until, tuple(await self._rows(store, spec)))

    async def _deploy(self, store: MemoryStore) -> ScheduleSpec:
        for name, definition in self.calendars.items():
            await store.calendars.put(NS, name, definition)
        spec = self.spec if self.spec.calendars else await bound_spec(store, NS, self.schedule_id, self.spec)
        await store.jobs.register(NS, [self.job])
        await store.schedules.put(NS, self.schedule_id, spec, tzdata=tzdata_version(), expected_version=0)
        return spec

    def _engine(self, store: MemoryStore, clock: VirtualClock) -> Engine:
        observer = Observer()

        async def work(run: Run) -> None:
            await clock.sleep(parse_duration(self.duration(run.fire_time)).total_seconds())

        observer.stubs[self.job.name] = Stub(work)
        bare = Job(self.job, _Nothing())
        jobs = {self.job.name: Job(self.job, Watched(bare, None, observer, clock))}
        queues = {self.job.queue, *([self.spec.queue] if self.spec.queue else [])}
        return Engine(store, clock, Settings(queues=tuple(sorted(queues))), jobs, observer, PATIENCE_S)

    def _refuse_too_many(self, spec: ScheduleSpec) -> None:
        times = stored_trigger(spec, self.schedule_id).fire_times(self.since - BEFORE, self.until)
        if sum(1 for _ in islice(times, TICKS_MAX + 1)) > TICKS_MAX:
            raise UsageError(f"simulate: more than {TICKS_MAX} ticks; take a shorter stretch")

    async def _rows(self, store: MemoryStore, spec: ScheduleSpec) -> Iterable[Row]:
        ends = self.since - BEFORE, self.until
        runs = await store.ledger.ticks(NS, self.schedule_id, *ends, None, TICKS_MAX)
        rows = [_row(run) for run in runs]
        known = {row.fire_time for row in rows}
        trigger = stored_trigger(spec, self.schedule_id)
        for gone in await store.ledger.missed_ranges(NS, self.schedule_id, *ends):
            rows += [_missed(gone, one) for one in _fire_times(trigger, gone) if one not in known]
        return sorted(rows, key=lambda row: row.fire_time)


class _Nothing:
    """No work at all: its stand-in is what takes the time."""

    stoppable = True

    def check(self, payload: JsonObject) -> None:
        return None

    async def execute(self, run: Run) -> str | None:
        return None


@contextmanager
def _unheard() -> Iterator[None]:
    """Drop what the services of a simulation log, unless the program has asked for their lines."""
    logger, silence = logging.getLogger(ROOT), logging.NullHandler()
    logger.addHandler(silence)
    try:
        yield
    finally:
        logger.removeHandler(silence)


async def _begin(engine: Engine, away: Away) -> None:
    """Begin an outage: the part that is away does nothing, and a worker's running attempts are lost with
    it."""
    if away is not Away.PLANNERS:
        await engine.crash()
        engine.works = False
    if away is not Away.WORKERS:
        engine.plans = False
    engine.reaps = away is not Away.ALL


def _spec(schedule: ScheduleSpec | Trigger, policies: Mapping[str, Any]) -> ScheduleSpec:
    if not isinstance(schedule, ScheduleSpec):
        return schedule_spec(job=JobName("work"), trigger=schedule, **policies)
    if policies:
        raise UsageError(f"simulate: the spec says it all already; leave out {', '.join(policies)}")
    return schedule


def _span(since: Moment, until: Moment) -> tuple[datetime, datetime]:
    first, last = read_time(since, UTC), read_time(until, UTC)
    if last < first:
        raise UsageError(f"simulate: until {to_utc_text(last)} is before since {to_utc_text(first)}")
    if last - first > SPAN_MAX:
        raise UsageError(f"simulate: expected at most {SPAN_MAX.days} days from since to until")
    return first, last


def _outages(given: Any, away: str) -> Iterable[Outage]:
    """One pair or several, in order and apart."""
    if away not in list(Away):
        raise UsageError(f"simulate: away {quoted(away)}: expected {', '.join(Away)}")
    pairs = [given] if len(given) == 2 and isinstance(given[0], datetime | str) else list(given)
    ends = sorted((read_time(first, UTC), read_time(last, UTC)) for first, last in pairs)
    before: datetime | None = None
    for first, last in ends:
        if last <= first or (before is not None and first < before):
            raise UsageError(
                f"simulate: outage {to_utc_text(first)} to {to_utc_text(last)}: "
                "expected a beginning before its end, and outages that do not overlap"
            )
        before = last
        yield Outage(first, last, Away(away))


def _always(length: timedelta) -> Callable[[datetime], Duration]:
    return lambda fire_time: length


def _fire_times(trigger: Trigger, gone: MissedRange) -> Iterable[datetime]:
    return trigger.fire_times(gone.first - BEFORE, gone.last)


def _row(run: RunRecord) -> Row:
    return Row(
        fire_time=run.fire_time,
        state=str(run.state),
        reason=run.reason,
        run_at=run.run_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        attempt=run.attempt,
    )


def _missed(gone: MissedRange, fire_time: datetime) -> Row:
    return Row(fire_time=fire_time, state="missed", reason=gone.reason, run_at=fire_time)
