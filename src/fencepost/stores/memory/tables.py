"""The rows of the store in memory, and the few things every part needs of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from fencepost.clock import Clock
from fencepost.model.audit import Action, Author, Entry
from fencepost.model.backfill import BackfillState, NewBackfill
from fencepost.model.calendar import CalendarRecord
from fencepost.model.clocks import STEP_MIN_S, StoreTime, is_from_the_future
from fencepost.model.freeze import Freeze, Scope
from fencepost.model.identifiers import (
    DEFAULT_QUEUE,
    Epoch,
    Fence,
    JobName,
    Namespace,
    NodeId,
    Queue,
    RunKey,
    ScheduleId,
    Shard,
)
from fencepost.model.job import PRIORITY_DEFAULT, JobSpec
from fencepost.model.json import JsonObject, JsonValue
from fencepost.model.leader import LeaderRecord, Refusal, Term
from fencepost.model.limits import JobLimit
from fencepost.model.missed import MissedRange
from fencepost.model.node import Node, NodeReport
from fencepost.model.run import Hold, RunRecord, RunState
from fencepost.model.schedule import Schedule, ScheduleSpec, ScheduleVersion
from fencepost.stores.memory.access_tables import AccessRows, AnswerRows
from fencepost.stores.memory.lanes import START_OF_TIME, WAITING, Lane, RunRow, by_fire_time, is_tick

Owner = tuple[Namespace, ScheduleId]


@dataclass(slots=True)
class CursorRow:
    """How far one version is planned, by which zone rules, where it ends, and when to look again."""

    planned_through: datetime
    next_fire_at: datetime | None
    tzdata: str
    until: datetime | None = None
    touched: int = 0

    def may_plan(self, fire_time: datetime) -> bool:
        """Whether it has not come by this fire time yet, and will."""
        ends_before = self.until is not None and self.until < fire_time
        return self.next_fire_at is not None and self.planned_through < fire_time and not ends_before


@dataclass(slots=True)
class ScheduleRow:
    """A schedule with its versions and their cursors, both by version less one.

    `uses` are the calendars that it uses, with the revision that its latest version was written with.
    """

    schedule: Schedule
    versions: list[ScheduleVersion]
    cursors: list[CursorRow]
    uses: dict[str, int]

    def shown(self) -> Schedule:
        """The schedule with the mark of its latest version."""
        return replace(self.schedule, planned_through=self.cursors[-1].planned_through)

    def touch(self) -> None:
        """Ticks were written beside the planner, whose plans in flight are to be dropped."""
        for cursor in self.cursors:
            cursor.touched += cursor.next_fire_at is not None


@dataclass(slots=True)
class RangeRow:
    """A range of missed ticks; `through` is how far the cursor had come when it was last added to."""

    shown: MissedRange
    through: datetime

    def covers(self, fire_time: datetime) -> bool:
        return self.shown.first <= fire_time <= self.shown.last


@dataclass(slots=True)
class GateRow:
    """The gate of a schedule, closed while `closed_at` says since when."""

    closed_at: StoreTime | None = None
    reason: str = ""
    opened_at: datetime = START_OF_TIME
    let_through: datetime = START_OF_TIME
    """The newest fire time that an operator let through."""


@dataclass(slots=True)
class LimitRow:
    """The state of a job's rate: how far ahead it is used up, and when it lets the next one go."""

    paid_until: StoreTime | None = None
    next_at: StoreTime | None = None


@dataclass(slots=True)
class BackfillRow:
    """A backfill; `next_run_at` is when its next run may be due."""

    namespace: Namespace
    asked: NewBackfill
    filled_through: datetime
    created_at: StoreTime
    next_run_at: datetime
    state: BackfillState = BackfillState.ACTIVE


@dataclass(slots=True)
class LeaseRow:
    """A shard's lease."""

    holder: NodeId | None
    epoch: Epoch
    expires_at: datetime
    ttl_s: float = 0.0
    set_back_s: float = 0.0

    def ahead_s(self, now: datetime) -> float:
        """How far in the future it was granted or renewed; 0 where it was not."""
        ahead_s = (self.expires_at - now).total_seconds() - self.ttl_s
        return ahead_s if self.holder is not None and ahead_s > STEP_MIN_S else 0.0


@dataclass(slots=True)
class NodeRow:
    """A node of the fleet."""

    node: Node
    started_at: StoreTime
    alive_until: datetime
    report: NodeReport
    reported_at: StoreTime
    draining: bool = False

    def is_alive(self, now: StoreTime) -> bool:
        return self.alive_until > now and not is_from_the_future(self.reported_at, now)


@dataclass(slots=True)
class Tables:
    """Everything, under one clock."""

    clock: Clock
    shards: int
    incarnation: str = "1-memory"
    older: str | None = None
    jobs: dict[tuple[Namespace, JobName], JobSpec] = field(default_factory=dict)
    schedules: dict[Owner, ScheduleRow] = field(default_factory=dict)
    calendars: dict[tuple[Namespace, str], CalendarRecord] = field(default_factory=dict)
    revisions: dict[tuple[Namespace, str], int] = field(default_factory=dict)
    """The last revision of each calendar that ever was, also of those that are gone."""
    runs: dict[tuple[Namespace, RunKey], RunRow] = field(default_factory=dict)
    lanes: dict[Owner, Lane] = field(default_factory=dict)
    waiting: dict[tuple[Namespace, RunKey], RunRow] = field(default_factory=dict)
    running: dict[tuple[Namespace, RunKey], RunRow] = field(default_factory=dict)
    missed: dict[Owner, list[RangeRow]] = field(default_factory=dict)
    gates: dict[Owner, GateRow] = field(default_factory=dict)
    limits: dict[tuple[Namespace, JobName], LimitRow] = field(default_factory=dict)
    rung: bool = False
    """Whether a slot became free for somebody who waits, and nobody has been told yet."""
    freezes: dict[tuple[Namespace, Scope], Freeze] = field(default_factory=dict)
    backfills: dict[int, BackfillRow] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    access: AccessRows = field(default_factory=AccessRows)
    answers: AnswerRows = field(default_factory=dict)
    leases: dict[Shard, LeaseRow] = field(default_factory=dict)
    leaders: dict[Shard, LeaderRecord] = field(default_factory=dict)
    terms: list[Term] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    nodes: dict[NodeId, NodeRow] = field(default_factory=dict)
    fence: int = 0
    forgotten_before: datetime | None = None
    swept_at: StoreTime | None = None
    """When a reaper last looked for silent runs."""

    def now(self) -> StoreTime:
        return StoreTime(self.clock.wall())

    def next_fence(self) -> Fence:
        self.fence += 1
        return Fence(self.fence)

    def insert(self, row: RunRow) -> None:
        """Add a run that is not there yet."""
        record = row.record
        self.runs[record.namespace, record.run_key] = row
        self._index(row)

    def change(self, row: RunRow, **changes: object) -> RunRecord:
        """Give a run new values; the record itself is immutable."""
        ran = row.record.state is RunState.RUNNING
        row.record = replace(row.record, **changes)  # type: ignore[arg-type]
        self._index(row)
        if ran and row.record.state is not RunState.RUNNING and row.slot is not None:
            self.rung |= fill_slot(self, row.record.namespace, row.record.job, row.slot) > 0
        return row.record

    def drop(self, row: RunRow) -> None:
        """Remove a run."""
        record = row.record
        del self.runs[record.namespace, record.run_key]
        if record.schedule_id is not None:
            self.lane(record.namespace, record.schedule_id).forget(record.run_key)

    def end(
        self, row: RunRow, state: RunState, reason: str | None, error: str | None = None, **more: object
    ) -> None:
        """Account for a run for good; nothing holds it any more."""
        assert state not in (*WAITING, RunState.RUNNING)
        ended = {"state": state, "reason": reason, "error": error, "finished_at": self.now()}
        self.change(row, **ended, held=Hold.NONE, **more)

    def log(
        self,
        author: Author | None,
        namespace: Namespace,
        action: Action,
        subject: str,
        before: Mapping[str, JsonValue],
        after: Mapping[str, JsonValue],
    ) -> None:
        """Leave an entry, where there is an author."""
        if author is not None:
            number = len(self.entries) + 1
            entry = Entry(number, namespace, self.now(), author, action, subject, {**before}, {**after})
            self.entries.append(entry)

    def runs_of(self, namespace: Namespace, schedule_id: ScheduleId) -> list[RunRow]:
        """The runs of one schedule, oldest fire time first."""
        return by_fire_time(self.lane(namespace, schedule_id).runs)

    def lane(self, namespace: Namespace, schedule_id: ScheduleId) -> Lane:
        """The runs of one schedule, with what is known of them."""
        return self.lanes.setdefault((namespace, schedule_id), Lane())

    def payload_of(self, record: RunRecord) -> JsonObject:
        """A tick's payload is that of its schedule's version; a run by hand carries its own."""
        version = self.version_of(record)
        return record.payload if version is None else version.spec.payload

    def version_of(self, record: RunRecord) -> ScheduleVersion | None:
        """The version that planned a tick."""
        if record.schedule_id is None:
            return None
        return self.schedules[record.namespace, record.schedule_id].versions[record.version - 1]

    def place_of(self, namespace: Namespace, spec: ScheduleSpec) -> tuple[Queue, int]:
        """The queue and the priority of a spec's runs: its own, or else those of its job."""
        job = self.jobs.get((namespace, spec.job))
        queue = spec.queue or (job.queue if job else DEFAULT_QUEUE)
        return queue, spec.priority or (job.priority if job else PRIORITY_DEFAULT)

    def hold_of(self, namespace: Namespace, schedule_id: ScheduleId) -> Hold:
        """What a run of the schedule is written with."""
        row = self.schedules.get((namespace, schedule_id))
        return Hold.FROZEN if row is not None and row.schedule.frozen else Hold.NONE

    def limit_of(self, namespace: Namespace, job: JobName) -> JobLimit | None:
        """What a job may do at most."""
        spec = self.jobs.get((namespace, job))
        return None if spec is None else spec.limit

    def running_of(self, namespace: Namespace, job: JobName) -> Counter[str]:
        """How many runs of a limited job run, by slot."""
        mine = (row for (owner, _), row in self.running.items() if owner == namespace)
        return Counter(row.slot for row in mine if row.record.job == job and row.slot is not None)

    def range_at(self, owner: Owner, fire_time: datetime) -> RangeRow | None:
        """The missed range in which a fire time lies."""
        return next((one for one in self.missed.get(owner, []) if one.covers(fire_time)), None)

    def _index(self, row: RunRow) -> None:
        key = row.record.namespace, row.record.run_key
        self.waiting.pop(key, None)
        self.running.pop(key, None)
        if row.record.state in WAITING:
            self.waiting[key] = row
        elif row.record.state is RunState.RUNNING:
            self.running[key] = row
        if row.record.schedule_id is not None:
            self.lane(row.record.namespace, row.record.schedule_id).note(row)


def fill_slot(tables: Tables, namespace: Namespace, job: JobName, slot: str) -> int:
    """As many of those that wait for a slot as there is place for get into line again; how many."""
    limit = tables.limit_of(namespace, job)
    if limit is None or limit.concurrency is None:
        return 0
    waiting = [
        row
        for row in tables.waiting.values()
        if row.record.held == Hold.LIMITED and (row.record.namespace, row.record.job) == (namespace, job)
    ]
    mine = sorted((row for row in waiting if row.slot == slot), key=_turn)
    free = max(0, limit.concurrency - tables.running_of(namespace, job)[slot])
    for row in mine[:free]:
        tables.change(row, held=Hold.NONE if is_tick(row.record) else Hold.PACED)
    return len(mine[:free])


def _turn(row: RunRow) -> tuple[int, datetime, str]:
    return row.record.priority, row.record.run_at, row.record.run_key
