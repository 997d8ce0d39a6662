"""The accounting at the end: every tick that the schedules' histories call for, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, RunKey, tick_key
from fencepost.model.run import RunFilter, RunRecord, RunState
from fencepost.model.schedule import Schedule, ScheduleVersion
from fencepost.ports.store import Store
from fencepost.triggers import stored_trigger

ACCOUNT_MAX = 1_000_000
SCHEDULES_MAX = 1_000


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


def _ticks(schedule: Schedule, version: ScheduleVersion, now: datetime) -> Iterator[tuple[RunKey, datetime]]:
    until = min(now, version.in_force_until or now)
    trigger = stored_trigger(version.spec, schedule.schedule_id)
    for moment in trigger.fire_times(version.in_force_from, until):
        yield tick_key(schedule.schedule_id, moment, version.version), moment
