"""The witness: sees every change of the ledger and checks the invariants as they happen and at the end."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from fencepost.core.lifecycle import ENDED, INITIAL, REPLAYS, may_move
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Epoch, Fence, RunKey, ScheduleId, Shard
from fencepost.model.plan import Plan, PlanReceipt
from fencepost.model.policies import Overlap
from fencepost.model.run import Hold, Origin, Outcome, Receipt, RunRecord, RunState
from fencepost.stores.memory.lanes import RunRow
from fencepost.stores.memory.tables import ScheduleRow, Tables
from fencepost.triggers import decode

REPLAYED = (Origin.REPLAY, Origin.BACKFILL)


@dataclass(slots=True)
class WatchedTables(Tables):
    """Tables that tell the witness of every run written and every change to one."""

    witness: Witness | None = None

    def insert(self, row: RunRow) -> None:
        if self.witness is not None:
            self.witness.saw_insert(self, row.record)
        Tables.insert(self, row)

    def change(self, row: RunRow, **changes: object) -> RunRecord:
        before = row.record
        after = Tables.change(self, row, **changes)
        if self.witness is not None:
            self.witness.saw_change(self, before, after)
        return after


@dataclass
class Witness:
    """What was seen, and what must hold of it."""

    keys: set[RunKey] = field(default_factory=set)
    fences_of_run: dict[RunKey, list[Fence]] = field(default_factory=lambda: defaultdict(list))
    fences_of_schedule: dict[ScheduleId, list[Fence]] = field(default_factory=lambda: defaultdict(list))
    epochs: dict[Shard, list[Epoch]] = field(default_factory=lambda: defaultdict(list))
    refused_writes: int = 0
    refused_reports: int = 0
    rescues: int = 0
    replays: int = 0
    origins: set[Origin] = field(default_factory=set)
    trace: hashlib.blake2b = field(default_factory=lambda: hashlib.blake2b(digest_size=16))

    def saw_insert(self, tables: Tables, record: RunRecord) -> None:
        assert record.run_key not in self.keys, f"I1: {record.run_key} was written twice"
        assert record.state in INITIAL, f"I6: {record.run_key} was born {record.state}"
        self.keys.add(record.run_key)
        self._note(tables, f"new {record.run_key} {record.epoch}")

    def saw_change(self, tables: Tables, before: RunRecord, after: RunRecord) -> None:
        replayed = (before.state, after.state) in REPLAYS and after.origin in REPLAYED
        if before.state is not after.state:
            assert replayed or may_move(before.state, after.state), (
                f"I6: {after.run_key} went from {before.state} to {after.state}"
            )
            self._note(tables, f"{after.run_key} {after.state} {after.fence}")
        assert replayed or after.fence >= before.fence, f"I5: the fence of {after.run_key} fell"
        self.replays += replayed
        self.origins.add(after.origin)
        if after.state is RunState.RUNNING and before.state is not RunState.RUNNING:
            self._saw_start(tables, after)
        if before.state is after.state is RunState.RUNNING and after.fence > before.fence:
            self.rescues += 1

    def saw_plans(self, plans: list[Plan], receipt: PlanReceipt) -> None:
        """Called with what the ledger made of a planning write, in the order in which it made it."""
        for plan in plans:
            if plan.cursor.shard not in receipt.stale:
                self.epochs[plan.cursor.shard].append(plan.epoch)
        self.refused_writes += len(receipt.stale)

    def saw_report(self, outcome: Outcome, receipt: Receipt, before: RunRecord | None) -> None:
        """Called with what the ledger made of a report, and with the run as it was just before."""
        ticket = outcome.ticket
        owner = None if before is None else (before.state, before.attempt, before.fence)
        mine = (RunState.RUNNING, ticket.attempt, ticket.fence)
        if receipt is Receipt.ACCEPTED:
            assert owner == mine, f"I5: a report of {mine} ended {ticket.run_key}, which was {owner}"
        else:
            assert owner != mine, f"{ticket.run_key}: a report of its own attempt was {receipt}"
            self.refused_reports += receipt is Receipt.REFUSED

    def _saw_start(self, tables: Tables, record: RunRecord) -> None:
        self.fences_of_run[record.run_key].append(record.fence)
        job = tables.jobs[record.namespace, record.job]
        tries = record.attempt - record.spent
        assert tries <= job.retry.max_attempts, f"I9: attempt {record.attempt} of {record.run_key}"
        assert record.held is Hold.NONE, f"{record.run_key} started although it was held: {record.held!r}"
        if record.schedule_id is None:
            return
        self.fences_of_schedule[record.schedule_id].append(record.fence)
        version = tables.version_of(record)
        assert version is not None
        if record.attempt == record.spent + 1:
            self._check_overlap(tables, record, version.spec.overlap)

    def _check_overlap(self, tables: Tables, record: RunRecord, policy: Overlap) -> None:
        """A first attempt begins beside fewer unfinished runs than may be at once."""
        assert record.schedule_id is not None
        most = policy.at_once_max
        beside = [
            row.record.run_key
            for row in tables.lane(record.namespace, record.schedule_id).open.values()
            if row.record.fence > 0 and row.record.run_key != record.run_key
        ]
        assert most is None or len(beside) < most, f"I7: {record.run_key} ({policy}) started beside {beside}"

    def _note(self, tables: Tables, what: str) -> None:
        self.trace.update(f"{tables.now().isoformat()} {what}\n".encode())

    def check_order(self) -> None:
        """I4 and I5 over everything that was seen."""
        for shard, epochs in self.epochs.items():
            fallen = [pair for pair in pairwise(epochs) if pair[0] > pair[1]]
            assert not fallen, f"I4: the epochs of shard {shard} fell: {fallen[:3]}"
        for name, fences in [*self.fences_of_run.items(), *self.fences_of_schedule.items()]:
            fallen_fences = [pair for pair in pairwise(fences) if pair[0] >= pair[1]]
            assert not fallen_fences, f"I5: the fences of {name} did not rise: {fallen_fences[:3]}"

    def check_complete(self, tables: Tables, through: datetime) -> int:
        """I2, I3 and the promise: each fire time in force has exactly one row, and that row has ended.

        Returns how many ticks were expected."""
        return sum(_check_schedule(tables, row, through) for row in tables.schedules.values())


def _check_schedule(tables: Tables, row: ScheduleRow, through: datetime) -> int:
    schedule = row.schedule
    runs = {
        one.record.run_key: one.record for one in tables.runs_of(schedule.namespace, schedule.schedule_id)
    }
    alive: dict[datetime, RunKey] = {}
    for record in runs.values():
        if record.state is not RunState.WITHDRAWN:
            assert record.fire_time not in alive, f"I3: {record.run_key} beside {alive[record.fire_time]}"
            alive[record.fire_time] = record.run_key
    expected = _expected(row, through)
    ranged = _check_ranges(tables, row, expected, alive)
    missing = sorted(expected.keys() - alive.keys() - ranged)
    assert not missing, f"I2: {schedule.schedule_id} lacks {len(missing)} ticks, first {missing[0]}"
    known = {moment for moment, key in alive.items() if _is_explained(runs[key])}
    surplus = sorted(moment for moment in alive.keys() - expected.keys() - known if moment <= through)
    assert not surplus, f"I3: {schedule.schedule_id} has ticks of no version: {surplus[:3]}"
    open_runs = [
        record for record in runs.values() if record.state not in ENDED and record.fire_time <= through
    ]
    assert not open_runs, f"unaccounted: {open_runs[0]}"
    return len(expected)


def _check_ranges(
    tables: Tables, row: ScheduleRow, expected: dict[datetime, int], alive: dict[datetime, RunKey]
) -> set[datetime]:
    """Each range counts exactly the fire times of its version that have no run of their own."""
    covered: set[datetime] = set()
    owner = row.schedule.namespace, row.schedule.schedule_id
    for one in (ranged.shown for ranged in tables.missed.get(owner, [])):
        inside = {
            moment
            for moment, version in expected.items()
            if version == one.version and one.first <= moment <= one.last and moment not in alive
        }
        assert len(inside) == one.count, f"the range {one} counts {one.count}, not {len(inside)}"
        assert not inside & covered, f"the range {one} overlaps another"
        covered |= inside
    return covered


def _is_explained(record: RunRecord) -> bool:
    """A tick outside every version: asked for by hand, or called off by name before its version ended."""
    return record.epoch == 0 or record.state in (RunState.CANCELLED, RunState.SKIPPED)


def _expected(row: ScheduleRow, through: datetime) -> dict[datetime, int]:
    """The fire times of every version while it was in force."""
    found: dict[datetime, int] = {}
    for version in row.versions:
        until = min(version.in_force_until or StoreTime(through), through)
        for moment in decode(version.spec.trigger).fire_times(version.in_force_from, until):
            found.setdefault(moment, version.version)
    return found
