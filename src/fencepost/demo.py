"""The demo: six schedules that show what the ledger is for, a watcher of their ticks, and an accounting."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fencepost.app import Fencepost
from fencepost.model.clocks import StoreTime, since
from fencepost.model.identifiers import Namespace, RunKey, tick_key
from fencepost.model.job import Retry
from fencepost.model.run import RunFilter, RunRecord, RunState
from fencepost.model.schedule import Schedule, ScheduleVersion
from fencepost.ports.run import Run
from fencepost.ports.store import Store
from fencepost.services.service import Service
from fencepost.triggers import Cron, Every, stored_trigger

WATCH_EVERY_S = 0.5
WATCH_BACK = timedelta(minutes=5)
WATCH_MAX = 1_000
ACCOUNT_MAX = 1_000_000
SCHEDULES_MAX = 1_000
SLOW_S = 3.0

# It fires at a time that Berlin's clocks skip once a year and show twice once a year.
NIGHTLY = "nightly"


def build(store: str) -> Fencepost:
    """An application that notices a crash within seconds."""
    app = Fencepost(store, heartbeat_every_s=1, heartbeat_timeout_s=3, reap_every_s=1, grace_s=5)
    app.job("heartbeat", schedule=Every("1s"))(_heartbeat)
    app.job("report", schedule=Every("5s"), catch_up="latest", spread="2s")(_report)
    app.job("minutely", schedule=Cron("* * * * *", tz="Europe/Berlin"))(_report)
    app.job(NIGHTLY, schedule=Cron("30 2 * * *", tz="Europe/Berlin"), spread="10m")(_report)
    app.job("flaky", schedule=Every("4s"), retry=Retry(3, base="500ms", cap="1s"))(_flaky)
    app.job("slow", schedule=Every("2s"), overlap="skip")(_slow)
    return app


async def _heartbeat() -> None:
    """The plainest of jobs."""


def _report(run: Run) -> str:
    return f"report for {run.fire_time:%H:%M:%S}, the last one was for {run.previous or 'nobody'}"


async def _flaky(run: Run) -> None:
    """Fails at the first attempt of every other tick."""
    if run.attempt == 1 and run.fire_time.timestamp() // 4 % 2:
        raise ConnectionError("the other side hung up")


async def _slow() -> None:
    """Outlasts its own period, so that the ticks in between are skipped."""
    await asyncio.sleep(SLOW_S)


class Watcher(Service):
    """Shows each tick once it has ended or failed, in the order in which that happened."""

    name = "watcher"

    def __init__(
        self, store: Store, namespace: Namespace, start: StoreTime, show: Callable[[RunRecord], None]
    ) -> None:
        super().__init__()
        self._store = store
        self._namespace = namespace
        self._start = start
        self._show = show
        self._shown: set[tuple[RunKey, int, RunState]] = set()

    async def run_once(self) -> float:
        wanted = RunFilter(since=await self._store.now() - WATCH_BACK, limit=WATCH_MAX)
        found = await self._store.ledger.list(self._namespace, wanted)
        fresh = [run for run in found if self._is_news(run)]
        for run in sorted(fresh, key=lambda run: run.finished_at or run.run_at):
            self._show(run)
        self._shown = {_mark(run) for run in found} & (self._shown | {_mark(run) for run in fresh})
        return WATCH_EVERY_S

    def _is_news(self, run: RunRecord) -> bool:
        waits_again = run.state is RunState.READY and run.attempt > 0
        ended = run.finished_at is not None and run.finished_at >= self._start
        return (waits_again or ended) and _mark(run) not in self._shown


@dataclass
class Accounting:
    """Every tick that the schedules' histories call for, against what the ledger says of it."""

    expected: int = 0
    states: Counter[RunState] = field(default_factory=Counter)
    unplanned: int = 0
    lost: int = 0
    doubled: int = 0

    def __str__(self) -> str:
        unended = (RunState.PLANNED, RunState.READY, RunState.RUNNING)
        waiting = self.unplanned + sum(self.states[state] for state in unended)
        ended = (RunState.SUCCEEDED, RunState.SKIPPED, RunState.MISSED, RunState.DEAD)
        said = ", ".join(f"{self.states[state]} {state}" for state in ended)
        return (
            f"accounting: {self.expected} ticks expected, {said}, {waiting} waiting; "
            f"lost {self.lost}, doubled {self.doubled}"
        )


async def account(store: Store, namespace: Namespace, now: StoreTime) -> Accounting:
    """The whole life of the store, up to now."""
    total = Accounting()
    for schedule in await store.schedules.page(namespace, None, SCHEDULES_MAX):
        versions = await store.schedules.history(namespace, schedule.schedule_id)
        expected = {key: moment for one in versions for key, moment in _ticks(schedule, one, now)}
        wanted = RunFilter(schedule_id=schedule.schedule_id, until=now, limit=ACCOUNT_MAX)
        runs = await store.ledger.list(namespace, wanted)
        _add(total, schedule, expected, [run for run in runs if run.state is not RunState.WITHDRAWN])
    return total


def _add(
    total: Accounting, schedule: Schedule, expected: dict[RunKey, datetime], runs: list[RunRecord]
) -> None:
    missing = expected.keys() - {run.run_key for run in runs}
    unplanned = sum(expected[key] > schedule.planned_through for key in missing)
    total.expected += len(expected)
    total.states.update(run.state for run in runs if run.run_key in expected)
    total.unplanned += unplanned
    total.lost += len(missing) - unplanned
    total.doubled += len(runs) - len({run.fire_time for run in runs})


def lateness_ms(run: RunRecord) -> float | None:
    """How long after its due time the last attempt began."""
    return None if run.started_at is None else since(run.run_at, run.started_at) / timedelta(milliseconds=1)


def _ticks(schedule: Schedule, version: ScheduleVersion, now: datetime) -> Iterator[tuple[RunKey, datetime]]:
    until = min(now, version.in_force_until or now)
    trigger = stored_trigger(version.spec, schedule.schedule_id)
    for moment in trigger.fire_times(version.in_force_from, until):
        yield tick_key(schedule.schedule_id, moment, version.version), moment


def _mark(run: RunRecord) -> tuple[RunKey, int, RunState]:
    return run.run_key, run.attempt, run.state
