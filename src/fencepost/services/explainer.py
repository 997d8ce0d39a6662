"""The explainer: gathers what is known of one tick; `core.explanation` makes sentences of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from fencepost.core.evidence import HORIZON_S, Evidence
from fencepost.core.expectation import tick_of, version_at
from fencepost.core.explanation import Explanation, tell
from fencepost.errors import InvalidTrigger, SearchExhausted, UnknownRun, UnknownSchedule, UsageError
from fencepost.model.audit import Entry, LogFilter
from fencepost.model.identifiers import JobName, Namespace, RunKey, ScheduleId, named_tick
from fencepost.model.plan import Tick
from fencepost.model.run import RunFilter, RunRecord
from fencepost.model.schedule import ScheduleVersion
from fencepost.ports.store import Store
from fencepost.services.lookups import schedule_id_of, versions_of
from fencepost.services.offload import Offload, inline
from fencepost.services.serving import jobs_unserved
from fencepost.triggers import Combinable, stored_trigger

RUNS_MAX = 100
ENTRIES_MAX = 200


class Explainer:
    """Why did this tick not run?"""

    def __init__(
        self,
        store: Store,
        namespace: Namespace,
        horizon_s: float = HORIZON_S,
        offload: Offload = inline,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._horizon_s = horizon_s
        self._offload = offload

    async def why(self, schedule_id: str, fire_time: datetime) -> Explanation:
        """The explanation of one fire time of a schedule, also of a removed one."""
        return tell(
            await self._of_tick(await schedule_id_of(self._store, self._namespace, schedule_id), fire_time)
        )

    async def why_latest(self, name: str) -> Explanation:
        """The explanation of the newest tick of a schedule, or the newest run of a job, that is not to
        come."""
        ledger, schedule_id = self._store.ledger, ScheduleId(name)
        now = await self._store.now()
        runs = [
            *await ledger.list(self._namespace, RunFilter(schedule_id=schedule_id, until=now, limit=1)),
            *await ledger.list(self._namespace, RunFilter(job=JobName(name), until=now, limit=1)),
        ]
        try:
            versions = await versions_of(self._store, self._namespace, name)
        except UnknownSchedule:
            if not runs:
                raise
            return await self.why_run(runs[0].run_key)
        asked_for = await self._offload(lambda: _latest(schedule_id, versions, now))
        latest = max(
            filter(None, (asked_for, *(one.fire_time for one in runs[:1] if one.schedule_id == name))),
            default=None,
        )
        if latest is None:
            raise UsageError(
                f"why {name}: none of its ticks has been due; see: fencepost schedules show {name}"
            )
        return await self.why(name, latest)

    async def why_run(self, run_key: str) -> Explanation:
        """The explanation behind a run key, also of a tick whose row is gone."""
        run = await self._store.ledger.get(self._namespace, RunKey(run_key))
        tick = named_tick(run_key) if run is None else (run.schedule_id, run.fire_time)
        if tick is not None and tick[0] is not None:
            return await self.why(tick[0], tick[1])
        if run is None:
            raise UnknownRun(f"run {run_key}: not found; see: fencepost runs list")
        return tell(await self._of_run(run))

    async def _of_tick(self, schedule_id: ScheduleId, fire_time: datetime) -> Evidence:
        ledger, namespace = self._store.ledger, self._namespace
        versions = await versions_of(self._store, self._namespace, schedule_id)
        just_before = fire_time - datetime.resolution
        runs = await ledger.ticks(namespace, schedule_id, just_before, fire_time, None, RUNS_MAX)
        version = version_at(versions, fire_time)
        tick, before, after = await self._offload(lambda: self._around(schedule_id, version, fire_time))
        ranges = await ledger.missed_ranges(namespace, schedule_id, just_before, fire_time)
        gates = await self._store.gates.closed(namespace)
        return Evidence(
            fire_time=fire_time,
            now=await self._store.now(),
            schedule_id=schedule_id,
            schedule=await self._store.schedules.get(namespace, schedule_id),
            versions=tuple(versions),
            version=version,
            tick=tick,
            before=before,
            after=after,
            runs=tuple(runs),
            attempts={run.run_key: await ledger.attempts(namespace, run.run_key) for run in runs},
            chains={run.run_key: await ledger.chain(namespace, run.run_key) for run in runs},
            missed=next((one for one in ranges if tick and one.first <= fire_time <= one.last), None),
            forgotten_before=await ledger.forgotten_before(),
            gate=next((one for one in gates if one.schedule_id == schedule_id), None),
            freezes=tuple(await self._store.freezes.all(namespace)),
            entries=await self._entries(schedule_id, *(run.run_key for run in runs)),
            workers=frozenset(one.node.node_id for one in await self._store.nodes.live()),
            unserved=await self._unserved(runs[-1].job if runs else version.spec.job if version else None),
            horizon_s=self._horizon_s,
        )

    async def _of_run(self, run: RunRecord) -> Evidence:
        """A run that was enqueued by hand, or by the end of another."""
        return Evidence(
            fire_time=run.fire_time,
            now=await self._store.now(),
            runs=(run,),
            attempts={run.run_key: await self._store.ledger.attempts(self._namespace, run.run_key)},
            chains={run.run_key: await self._store.ledger.chain(self._namespace, run.run_key)},
            freezes=tuple(await self._store.freezes.all(self._namespace)),
            entries=await self._entries(run.run_key),
            workers=frozenset(one.node.node_id for one in await self._store.nodes.live()),
            unserved=await self._unserved(run.job),
        )

    async def _unserved(self, job: JobName | None) -> JobName | None:
        return job if job in await jobs_unserved(self._store, self._namespace) else None

    def _around(
        self, schedule_id: ScheduleId, version: ScheduleVersion | None, fire_time: datetime
    ) -> tuple[Tick | None, datetime | None, datetime | None]:
        """What the version in force asks for then, and its nearest fire times."""
        if version is None:
            return None, None, None
        trigger = stored_trigger(version.spec, schedule_id)
        tick = tick_of(self._namespace, schedule_id, version, trigger, fire_time)
        return tick, *_neighbours(trigger, version, fire_time)

    async def _entries(self, *subjects: str) -> tuple[Entry, ...]:
        found: list[Entry] = []
        for subject in subjects:
            wanted = LogFilter(subject=subject, limit=ENTRIES_MAX)
            found += await self._store.audit_log.list(self._namespace, wanted)
        return tuple(sorted(found, key=lambda one: -one.number))


def _latest(schedule_id: ScheduleId, versions: Sequence[ScheduleVersion], now: datetime) -> datetime | None:
    """The newest fire time up to now that a version asks for; a search that is cut finds nothing."""
    found = []
    for one in versions:
        until = now if one.in_force_until is None else min(now, one.in_force_until)
        with suppress(InvalidTrigger):
            before = stored_trigger(one.spec, schedule_id).previous(until + datetime.resolution)
            found += [before] if before is not None and before > one.in_force_from else []
    return max(found, default=None)


def _neighbours(
    trigger: Combinable, version: ScheduleVersion, fire_time: datetime
) -> tuple[datetime | None, datetime | None]:
    """Within the version's time in force; a search that is cut finds nothing."""
    before: datetime | None = None
    after: datetime | None = None
    with suppress(InvalidTrigger):
        before = trigger.previous(fire_time)
    with suppress(SearchExhausted):
        after = trigger.next_after(fire_time)
    if before is not None and before <= version.in_force_from:
        before = None
    if after is not None and version.in_force_until is not None and after > version.in_force_until:
        after = None
    return before, after
