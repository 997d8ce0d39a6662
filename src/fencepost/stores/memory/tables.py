"""The rows of the store in memory, and the few things every part needs of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from fencepost.clock import Clock
from fencepost.model.calendar import CalendarRecord
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import (
    Epoch,
    Fence,
    JobName,
    Namespace,
    NodeId,
    RunKey,
    ScheduleId,
    Shard,
)
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.node import Node
from fencepost.model.run import Attempt, RunRecord, RunState
from fencepost.model.schedule import Schedule, ScheduleVersion

START_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC)
WAITING = frozenset({RunState.PLANNED, RunState.READY})


@dataclass(slots=True)
class RunRow:
    """A run: its record, and what only the store needs."""

    record: RunRecord
    alive_until: datetime = START_OF_TIME
    stripped: bool = False
    attempts: list[Attempt] = field(default_factory=list)


@dataclass(slots=True)
class CursorRow:
    """How far one version is planned, by which zone rules, where it ends, and when to look again."""

    planned_through: datetime
    next_fire_at: datetime | None
    tzdata: str
    until: datetime | None = None


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


@dataclass(slots=True)
class Lane:
    """The runs of one schedule, with what a verdict asks about kept at hand."""

    runs: dict[RunKey, RunRow] = field(default_factory=dict)
    open: dict[RunKey, RunRow] = field(default_factory=dict)
    taken: dict[datetime, RunKey] = field(default_factory=dict)
    """The fire times that have a run which was not withdrawn."""
    last_finished: RunRecord | None = None
    last_success: datetime | None = None

    def note(self, row: RunRow) -> None:
        """Take in a run as it is now."""
        record = row.record
        self.runs[record.run_key] = self.open[record.run_key] = row
        if record.state is not RunState.WITHDRAWN:
            self.taken[record.fire_time] = record.run_key
        elif self.taken.get(record.fire_time) == record.run_key:
            del self.taken[record.fire_time]
        if record.finished_at is None:
            return
        del self.open[record.run_key]
        if record.fence > 0:
            last = self.last_finished
            if last is None or _finish_order(last) < _finish_order(record):
                self.last_finished = record
        if record.state is RunState.SUCCEEDED:
            self.last_success = max(record.fire_time, self.last_success or record.fire_time)

    def without(self, run_key: RunKey) -> Lane:
        """The lane after one of its runs was forgotten."""
        lane = Lane()
        for key, row in self.runs.items():
            if key != run_key:
                lane.note(row)
        return lane


@dataclass(slots=True)
class LeaseRow:
    """A shard's lease."""

    holder: NodeId | None
    epoch: Epoch
    expires_at: datetime


@dataclass(slots=True)
class NodeRow:
    """A node of the fleet."""

    node: Node
    started_at: StoreTime
    alive_until: datetime
    skew_s: float


@dataclass(slots=True)
class Tables:
    """Everything, under one clock."""

    clock: Clock
    shards: int
    jobs: dict[tuple[Namespace, JobName], JobSpec] = field(default_factory=dict)
    schedules: dict[tuple[Namespace, ScheduleId], ScheduleRow] = field(default_factory=dict)
    calendars: dict[tuple[Namespace, str], CalendarRecord] = field(default_factory=dict)
    revisions: dict[tuple[Namespace, str], int] = field(default_factory=dict)
    """The last revision of each calendar that ever was, also of those that are gone."""
    runs: dict[tuple[Namespace, RunKey], RunRow] = field(default_factory=dict)
    lanes: dict[tuple[Namespace, ScheduleId], Lane] = field(default_factory=dict)
    waiting: dict[tuple[Namespace, RunKey], RunRow] = field(default_factory=dict)
    running: dict[tuple[Namespace, RunKey], RunRow] = field(default_factory=dict)
    leases: dict[Shard, LeaseRow] = field(default_factory=dict)
    epochs: dict[Shard, Epoch] = field(default_factory=dict)
    nodes: dict[NodeId, NodeRow] = field(default_factory=dict)
    fence: int = 0

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
        row.record = replace(row.record, **changes)  # type: ignore[arg-type]
        self._index(row)
        return row.record

    def drop(self, row: RunRow) -> None:
        """Remove a run."""
        record = row.record
        del self.runs[record.namespace, record.run_key]
        if record.schedule_id is not None:
            lane = self.lane(record.namespace, record.schedule_id)
            self.lanes[record.namespace, record.schedule_id] = lane.without(record.run_key)

    def end(self, row: RunRow, state: RunState, reason: str | None, error: str | None = None) -> None:
        """Account for a run for good."""
        assert state not in (*WAITING, RunState.RUNNING)
        self.change(row, state=state, reason=reason, error=error, finished_at=self.now())

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


def by_fire_time(rows: dict[RunKey, RunRow]) -> list[RunRow]:
    """Oldest fire time first."""
    return sorted(rows.values(), key=lambda row: (row.record.fire_time, row.record.run_key))


def _finish_order(record: RunRecord) -> tuple[datetime, str]:
    assert record.finished_at is not None
    return record.finished_at, record.run_key


def withdrawable(row: RunRow, boundary: datetime) -> bool:
    """Whether an edit at the boundary takes this run back."""
    return row.record.state is RunState.PLANNED and row.record.fire_time > boundary
