"""The runs of one schedule in memory, with what a verdict asks about kept at hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from fencepost.model.claiming import FINISHED_KEPT
from fencepost.model.identifiers import RunKey
from fencepost.model.policies import OF_LAST_MAX
from fencepost.model.run import Attempt, Hold, Origin, RunRecord, RunState, Ticket
from fencepost.model.run_log import LoggedChunk, LogPlace

START_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC)
WAITING = frozenset({RunState.PLANNED, RunState.READY})


@dataclass(slots=True)
class RunRow:
    """A run: its record, and what only the store needs."""

    record: RunRecord
    alive_until: datetime = START_OF_TIME
    stripped: bool = False
    slot: str | None = None
    """What it counts for, where its job has limits."""
    attempts: list[Attempt] = field(default_factory=list)
    steps: dict[str, str] = field(default_factory=dict)
    log: dict[LogPlace, LoggedChunk] = field(default_factory=dict)

    def is_of(self, ticket: Ticket) -> bool:
        """Whether the ticket's attempt is the run's latest, and nobody has taken the run from it."""
        return (self.record.attempt, self.record.fence) == (ticket.attempt, ticket.fence)

    def strip(self) -> None:
        """Let go what the attempts left."""
        self.stripped, self.attempts, self.steps, self.log = True, [], {}, {}


@dataclass(slots=True)
class Latest:
    """The runs that ended last, so many of them, the latest end first."""

    most: int
    records: list[RunRecord] = field(default_factory=list)

    def add(self, record: RunRecord) -> None:
        """Take in a run that has ended."""
        self.records.append(record)
        self.records.sort(key=_finish_order, reverse=True)
        del self.records[self.most :]


@dataclass(slots=True)
class Lane:
    """The runs of one schedule."""

    runs: dict[RunKey, RunRow] = field(default_factory=dict)
    open: dict[RunKey, RunRow] = field(default_factory=dict)
    parked: dict[RunKey, RunRow] = field(default_factory=dict)
    limited: dict[RunKey, RunRow] = field(default_factory=dict)
    """Ticks that wait for the limits of their job and for nothing else."""
    taken: dict[datetime, set[RunKey]] = field(default_factory=dict)
    """The runs of each fire time that were not withdrawn."""
    finished: Latest = field(default_factory=lambda: Latest(FINISHED_KEPT))
    caught_up: Latest = field(default_factory=lambda: Latest(OF_LAST_MAX))
    last_success: datetime | None = None

    def note(self, row: RunRow) -> None:
        """Take in a run as it is now."""
        record, key = row.record, row.record.run_key
        ended_before = key in self.runs and key not in self.open
        self.runs[key] = row
        self._note_taken(record)
        self.parked.pop(key, None)
        self.limited.pop(key, None)
        if record.finished_at is None:
            self.open[key] = row
            if record.held == Hold.PARKED:
                self.parked[key] = row
            if record.held in (Hold.LIMITED, Hold.PACED) and is_tick(record):
                self.limited[key] = row
        else:
            self.open.pop(key, None)
        if ended_before:
            self._recount()
        elif record.finished_at is not None:
            self._note_end(record)

    def unfinished(self) -> list[RunRow]:
        """Runs that were begun and have not ended, oldest fire time first."""
        return [row for row in by_fire_time(self.open) if row.record.fence > 0]

    def first_parked(self) -> RunRow | None:
        """The tick whose turn is next."""
        return min(self.parked.values(), key=_place, default=None)

    def first_limited(self) -> RunRow | None:
        """The first of those that wait for the limits of their job."""
        return min(self.limited.values(), key=_place, default=None)

    def forget(self, run_key: RunKey) -> None:
        """One of its runs, which has ended, was removed."""
        record = self.runs.pop(run_key).record
        here = self.taken.get(record.fire_time, set())
        here.discard(run_key)
        if not here:
            self.taken.pop(record.fire_time, None)
        counted = record in self.finished.records or record in self.caught_up.records
        if counted or record.fire_time == self.last_success:
            self._recount()

    def _note_taken(self, record: RunRecord) -> None:
        here = self.taken.setdefault(record.fire_time, set())
        here.discard(record.run_key)
        if record.state is not RunState.WITHDRAWN:
            here.add(record.run_key)
        if not here:
            del self.taken[record.fire_time]

    def _note_end(self, record: RunRecord) -> None:
        if record.fence > 0:
            self.finished.add(record)
            if record.origin is Origin.CATCH_UP:
                self.caught_up.add(record)
        if record.state is RunState.SUCCEEDED:
            self.last_success = max(record.fire_time, self.last_success or record.fire_time)

    def _recount(self) -> None:
        """A run that had ended was changed: what is kept of ended runs is gathered anew."""
        self.finished, self.caught_up = Latest(FINISHED_KEPT), Latest(OF_LAST_MAX)
        self.last_success = None
        for row in self.runs.values():
            if row.record.finished_at is not None:
                self._note_end(row.record)


def by_fire_time(rows: dict[RunKey, RunRow]) -> list[RunRow]:
    """Oldest fire time first."""
    return sorted(rows.values(), key=_place)


def is_tick(record: RunRecord) -> bool:
    """Whether it belongs to a schedule and nobody has begun it."""
    return record.schedule_id is not None and record.fence == 0


def withdrawable(row: RunRow, boundary: datetime) -> bool:
    """Whether an edit at the boundary takes this run back."""
    return row.record.state is RunState.PLANNED and row.record.fire_time > boundary


def _place(row: RunRow) -> tuple[datetime, str]:
    return row.record.fire_time, row.record.run_key


def _finish_order(record: RunRecord) -> tuple[datetime, str]:
    assert record.finished_at is not None
    return record.finished_at, record.run_key
