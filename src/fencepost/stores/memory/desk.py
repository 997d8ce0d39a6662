"""What people do to runs in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Namespace, RunKey, ScheduleId, tick_key
from fencepost.model.json import JsonObject
from fencepost.model.plan import Fate, Tick
from fencepost.model.run import REPLAYABLE, Hold, NewRun, Ordered, Origin, RunRecord, RunState
from fencepost.model.schedule import ScheduleState, ScheduleVersion
from fencepost.ports.signals import Topic
from fencepost.stores.desk_rows import BY_FATE
from fencepost.stores.memory.lanes import WAITING, RunRow
from fencepost.stores.memory.part import MemoryPart
from fencepost.stores.memory.tables import ScheduleRow
from fencepost.stores.memory.writing import NewRow, call_off, insert, new_tick, send_again


class MemoryDesk(MemoryPart):
    """The operators' part of `ports.ledger`."""

    async def enqueue(
        self, namespace: Namespace, runs: Sequence[NewRun], *, author: Author | None = None
    ) -> Sequence[bool]:
        fresh = [self._enqueue(namespace, run, author) for run in runs]
        if any(fresh):
            self._signals.hint(Topic.RUNS)
        return fresh

    async def trigger(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        fire_time: StoreTime,
        *,
        author: Author | None = None,
    ) -> RunKey | None:
        row = self._tables.schedules.get((namespace, schedule_id))
        if row is None or row.schedule.state is ScheduleState.REMOVED:
            return None
        version = row.schedule.version
        run_key = tick_key(schedule_id, fire_time, version)
        if (namespace, run_key) not in self._tables.runs:
            tick = Tick(fire_time, fire_time)
            insert(self._tables, new_tick(self._tables, row, version, tick, RunState.READY, Origin.MANUAL))
            after: JsonObject = {"run_key": run_key}
            self._tables.log(author, namespace, Action.SCHEDULE_TRIGGER, schedule_id, {}, after)
        self._signals.hint(Topic.RUNS)
        return run_key

    async def cancel(
        self, namespace: Namespace, run_key: RunKey, reason: str, *, author: Author | None = None
    ) -> RunRecord | None:
        found = await self.cancel_many(namespace, [run_key], reason, author=author)
        return found[run_key].run if found else None

    async def cancel_many(
        self, namespace: Namespace, run_keys: Sequence[RunKey], reason: str, *, author: Author | None = None
    ) -> Mapping[RunKey, Ordered]:
        names = [(namespace, run_key) for run_key in dict.fromkeys(run_keys)]
        rows = [self._tables.runs[name] for name in names if name in self._tables.runs]
        ended = []
        for row in rows:
            before = self._shown(row)
            if call_off(self._tables, row, reason):
                self._log_run(author, Action.RUN_CANCEL, before, row)
                ended += [row] if row.record.finished_at is not None else []
        self._ring(ended)
        return {row.record.run_key: Ordered(self._shown(row)) for row in rows}

    async def skip(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        row = self._tables.runs.get((namespace, run_key))
        if row is None:
            return None
        before = self._shown(row)
        if row.record.state in WAITING and row.record.fence == 0:
            self._tables.end(row, RunState.SKIPPED, author.reason)
            self._log_run(author, Action.RUN_SKIP, before, row)
            self._ring([row])
        return self._shown(row)

    async def hold(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        row = self._tables.runs.get((namespace, run_key))
        if row is None:
            return None
        before = self._shown(row)
        if row.record.state in WAITING and not row.record.held & Hold.OPERATOR:
            self._tables.change(row, held=row.record.held | Hold.OPERATOR)
            self._log_run(author, Action.RUN_HOLD, before, row)
        return self._shown(row)

    async def release(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        row = self._tables.runs.get((namespace, run_key))
        if row is None:
            return None
        before = self._shown(row)
        if row.record.state in WAITING and row.record.held & Hold.OPERATOR:
            run_at = max(row.record.run_at, self._tables.now())
            self._tables.change(row, held=row.record.held & ~Hold.OPERATOR, run_at=run_at)
            self._log_run(author, Action.RUN_RELEASE, before, row)
            self._signals.hint(Topic.RUNS)
        return self._shown(row)

    async def replay(
        self,
        namespace: Namespace,
        run_keys: Sequence[RunKey],
        every_s: float,
        author: Author,
        *,
        first_in_s: float = 0.0,
        only: frozenset[RunState] = REPLAYABLE,
    ) -> Sequence[RunKey]:
        now, sent = self._tables.now(), list[RunKey]()
        for run_key in run_keys:
            row = self._tables.runs.get((namespace, run_key))
            if row is None or row.stripped or row.record.state not in only:
                continue
            before = self._shown(row)
            run_at = later(now, first_in_s + len(sent) * every_s)
            send_again(self._tables, row, run_at, Origin.REPLAY, None)
            self._log_run(author, Action.RUN_REPLAY, before, row)
            sent.append(run_key)
        if sent:
            self._signals.hint(Topic.RUNS)
        return sent

    async def plan_by_name(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        version: int,
        ticks: Sequence[Tick],
        author: Author | None,
        *,
        fate: Fate = Fate.PLANNED,
    ) -> Sequence[RunKey]:
        row = self._tables.schedules.get((namespace, schedule_id))
        if row is None or not 1 <= version <= len(row.versions):
            return []
        written = []
        for tick in ticks:
            if self._accounts_for(row, version, tick) or not _governs(row.versions[version - 1], tick):
                continue
            new = new_tick(self._tables, row, version, tick, RunState.PLANNED, Origin.LIVE)
            self._seal(insert(self._tables, new), fate, author)
            written.append(new.run_key)
        if written:
            row.touch()
            self._signals.hint(Topic.RUNS)
        return written

    def _seal(self, row: RunRow, fate: Fate, author: Author | None) -> None:
        """A tick that was written by name, and what becomes of it."""
        match fate:
            case Fate.HELD:
                self._tables.change(row, held=row.record.held | Hold.OPERATOR)
            case Fate.SKIPPED:
                self._tables.end(row, RunState.SKIPPED, None if author is None else author.reason)
        self._log_run(author, BY_FATE[fate], None, row)

    def _accounts_for(self, row: ScheduleRow, version: int, tick: Tick) -> bool:
        """Whether the ledger says already what becomes of a fire time, or keeps its key."""
        owner = row.schedule.namespace, row.schedule.schedule_id
        lane, key = self._tables.lane(*owner), tick_key(owner[1], tick.fire_time, version)
        return (
            tick.fire_time in lane.taken
            or key in lane.runs
            or self._tables.range_at(owner, tick.fire_time) is not None
        )

    def _enqueue(self, namespace: Namespace, run: NewRun, author: Author | None) -> bool:
        if (namespace, run.run_key) in self._tables.runs:
            return False
        now = self._tables.now()
        run_at = run.run_at or now
        new = NewRow(
            namespace=namespace,
            run_key=run.run_key,
            schedule_id=None,
            job=run.job,
            version=0,
            fire_time=run_at,
            run_at=run_at,
            state=RunState.PLANNED if run_at > now else RunState.READY,
            queue=run.queue,
            priority=run.priority,
            payload=run.payload,
        )
        self._log_run(author, Action.RUN_ENQUEUE, None, insert(self._tables, new))
        return True


def _governs(version: ScheduleVersion, tick: Tick) -> bool:
    """Whether a fire time lies in the version's time in force."""
    until = version.in_force_until
    return version.in_force_from < tick.fire_time and (until is None or tick.fire_time <= until)
