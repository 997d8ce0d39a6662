"""Small histories by hand: a ledger that does what it is told, with a pen that writes everything down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fencepost.config import Settings
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    DEFAULT_QUEUE,
    Epoch,
    Fence,
    JobName,
    NodeId,
    RunKey,
    ScheduleId,
    job_key,
    tick_key,
)
from fencepost.model.job import JobSpec, Retry
from fencepost.model.json import JsonObject
from fencepost.model.message import Reply, Route
from fencepost.model.missed import MissedRange
from fencepost.model.policies import CatchUp, Overlap
from fencepost.model.run import Hold, Origin, Receipt, RunRecord, RunState, Ticket
from fencepost.model.schedule import ScheduleSpec, ScheduleVersion
from fencepost.model.times import to_utc_text
from tests.history.model import (
    Change,
    Effect,
    Fault,
    Halt,
    History,
    PlanSent,
    PlanWrite,
    Pulse,
    Registration,
    Report,
)

START = datetime(2026, 3, 29, 0, 0, tzinfo=UTC)
BEAT = timedelta(seconds=20)
SETTINGS = Settings(heartbeat_timeout_s=30, heartbeat_every_s=5, reap_every_s=5)
MINUTELY: JsonObject = {"v": 1, "kind": "every", "interval": "1m", "anchor": "1970-01-01T00:00:00Z"}
JOBS = (
    JobSpec(JobName("work"), retry=Retry(3, "10s", "1m")),
    JobSpec(JobName("once"), at_most_once=True),
    JobSpec(JobName("sent"), retry=Retry(3, "10s", "1m"), message=Route("sent", Reply.RESULT)),
)


def at_minutes(*minutes: float) -> JsonObject:
    """A trigger that fires so many minutes after the start."""
    times = [to_utc_text(START + timedelta(minutes=one)) for one in minutes]
    return {"v": 1, "kind": "at", "times": [*times]}


class Pen:
    """Writes a history down as it is told; its clock stands still unless somebody waits."""

    def __init__(self) -> None:
        self.history = History(SETTINGS, jobs={one.name: one for one in JOBS})
        self.now = START
        self._rows: dict[str, RunRecord] = {}
        self._versions: dict[ScheduleId, list[ScheduleVersion]] = {}
        self._epochs: dict[int, int] = {}
        self._holders: dict[tuple[int, int], str] = {}
        self._fence = 0
        self._newest: dict[str, int] = {}

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def wait_until(self, minute: float) -> None:
        """So many minutes after the start."""
        self.now = START + timedelta(minutes=minute)

    def lead(self, holder: str, epoch: int, shard: int = 0) -> None:
        self.history.registrations.append(Registration(self.now, shard, epoch, holder))
        self._epochs[shard] = epoch
        self._holders[shard, epoch] = holder

    def write_plan(self, epoch: int | None = None, shard: int = 0) -> None:
        """A planning write; under an epoch that is not the shard's it is refused."""
        known = self._epochs[shard]
        node = self._holders[shard, epoch or known]
        self.history.plans_sent.append(PlanSent(self.now, node, shard, epoch or known, True, False))
        accepted = epoch in (None, known)
        self.history.plan_writes.append(PlanWrite(self.now, shard, epoch or known, accepted))

    def schedule(
        self,
        name: str,
        trigger: JsonObject = MINUTELY,
        overlap: Overlap = Overlap.SKIP,
        job: str = "work",
        catch_up: CatchUp | None = None,
    ) -> None:
        """A new schedule, or a new version of one, in force from now on."""
        versions = self._versions.setdefault(ScheduleId(name), [])
        self._end_version(name)
        spec = ScheduleSpec(JobName(job), trigger, overlap=overlap, catch_up=catch_up or CatchUp())
        versions.append(ScheduleVersion(len(versions) + 1, spec, StoreTime(self.now), "2026a"))
        self.history.versions = {key: tuple(value) for key, value in self._versions.items()}

    def stop(self, name: str) -> None:
        """Somebody pauses or removes it: the version in force ends now."""
        self.history.halts.append(Halt(ScheduleId(name), self.now, self.now))
        self._end_version(name)

    def _end_version(self, name: str) -> None:
        versions = self._versions[ScheduleId(name)]
        if versions and versions[-1].in_force_until is None:
            versions[-1] = replace(versions[-1], in_force_until=StoreTime(self.now))
        self.history.versions = {key: tuple(value) for key, value in self._versions.items()}

    def plan(self, name: str, minute: float, **more: Any) -> str:
        """A tick so many minutes after the start, as the planner or (without an epoch) somebody writes it."""
        version = self._versions[ScheduleId(name)][-1]
        fire_time = START + timedelta(minutes=minute)
        key = tick_key(ScheduleId(name), fire_time, version.version)
        given: dict[str, Any] = {"epoch": Epoch(self._epochs.get(0, 0)), **more}
        return self._insert(key, ScheduleId(name), version.spec.job, fire_time, version.version, given)

    def enqueue(self, name: str) -> str:
        """A run by hand, due at once, and confirmed."""
        key = job_key(JobName("work"), name)
        self._insert(key, None, JobName("work"), self.now, 0, {"state": RunState.READY})
        self.history.acknowledged.append(key)
        return key

    def start(self, key: str) -> None:
        run = self._rows[key]
        self._fence += 1
        self.change(
            key,
            state=RunState.RUNNING,
            attempt=run.attempt + 1,
            fence=Fence(self._fence),
            worker=NodeId("worker"),
            started_at=StoreTime(self.now),
            first_started_at=run.first_started_at if run.fence else StoreTime(self.now),
            held=run.held & ~Hold.PARKED,
            reason=None,
        )
        self.beat(key)

    def work(self, key: str, seconds: float) -> None:
        """Let time pass with a heart that beats."""
        until = self.now + timedelta(seconds=seconds)
        while until - self.now > BEAT:
            self.wait(BEAT.total_seconds())
            self.beat(key)
        self.now = until

    def beat(self, key: str) -> None:
        run = self._rows[key]
        until = self.now + timedelta(seconds=SETTINGS.heartbeat_timeout_s)
        self.history.pulses.append(Pulse(self.now, key, run.fence, until))

    def effect(self, key: str, run: RunRecord | None = None) -> None:
        """What the attempt does outside arrives; that of an earlier one, where a row of then is given."""
        run = run or self._rows[key]
        sink = run.schedule_id or run.run_key
        taken = run.fence >= self._newest.get(sink, 0)
        self._newest[sink] = max(run.fence, self._newest.get(sink, 0))
        self.history.effects.append(Effect(self.now, key, run.attempt, run.fence, taken))

    def report(self, run: RunRecord, receipt: Receipt) -> None:
        """What a worker says of the attempt that it had when the row was as given."""
        ticket = Ticket(run.namespace, run.run_key, run.attempt, run.fence)
        self.history.reports.append(Report(self.now, ticket, receipt, self._rows.get(run.run_key)))

    def arrive(self, identity: str) -> None:
        """A message of an intake, and its run."""
        self.history.arrived[identity] = self.enqueue(f"orders/{identity}")

    def publish(self, key: str) -> None:
        self.history.published.add(key)

    def handle(self, key: str) -> None:
        """A processor does the attempt, and says so."""
        run = self._rows[key]
        self.history.handled.append(Effect(self.now, key, run.attempt, run.fence, True))
        self.history.replies.add((key, run.attempt, run.fence, RunState.SUCCEEDED.value))

    def succeed(self, key: str) -> None:
        self.effect(key)
        self.report(self._rows[key], Receipt.ACCEPTED)
        self.end(key, RunState.SUCCEEDED)

    def fail(self, key: str, wait_s: float, reason: str = "waits for a retry") -> None:
        self.report(self._rows[key], Receipt.ACCEPTED)
        run_at = self.now + timedelta(seconds=wait_s)
        self.change(key, state=RunState.READY, reason=reason, run_at=run_at, worker=None)

    def rescue(self, key: str, state: RunState = RunState.READY, reason: str = "rescued: silence") -> None:
        """As the store in memory does it: the fence first."""
        self._fence += 1
        self.change(key, fence=Fence(self._fence))
        if state is RunState.READY:
            self.change(key, state=state, reason=reason, run_at=self.now, worker=None)
        else:
            self.end(key, state, reason)

    def terminate(self, key: str, by: str) -> None:
        self._fence += 1
        self.end(key, RunState.CANCELLED, f"terminated by {by}", fence=Fence(self._fence))

    def end(self, key: str, state: RunState, reason: str | None = None, **more: Any) -> None:
        self.change(
            key, state=state, reason=reason, finished_at=StoreTime(self.now), **{"held": Hold.NONE, **more}
        )

    def replay(self, key: str, origin: Origin = Origin.REPLAY) -> None:
        self.change(
            key,
            state=RunState.READY,
            reason=None,
            error=None,
            fence=Fence(0),
            run_at=self.now,
            started_at=None,
            finished_at=None,
            first_started_at=None,
            worker=None,
            cancel_requested=False,
            origin=origin,
            blocked_by=None,
            attempts_before_replay=self._rows[key].attempt,
        )

    def change(self, key: str, **changes: Any) -> None:
        before = self._rows[key]
        self._rows[key] = replace(before, **changes)
        self.history.changes.append(Change(self.now, before, self._rows[key]))

    def prune(self, key: str) -> None:
        self.history.changes.append(Change(self.now, self._rows.pop(key), None))

    def miss(self, name: str, first: float, last: float, count: int) -> None:
        """A range of missed ticks."""
        version = self._versions[ScheduleId(name)][-1].version
        begins, ends = (START + timedelta(minutes=one) for one in (first, last))
        counted = MissedRange(DEFAULT_NAMESPACE, ScheduleId(name), version, begins, ends, count, "too late")
        self.history.ranges = [*self.history.ranges, counted]

    def fault(self, kind: str, lasts_s: float = 0.0) -> None:
        self.history.faults.append(Fault(kind, self.now, self.now + timedelta(seconds=lasts_s)))

    def row(self, key: str) -> RunRecord:
        return self._rows[key]

    def close(self, minute: float) -> History:
        """Ticks are expected up to this minute; ten minutes later it is over."""
        self.history.through = self.history.quiet_since = START + timedelta(minutes=minute)
        self.history.ended_at = self.history.through + timedelta(minutes=10)
        return self.history

    def _insert(
        self,
        key: RunKey,
        schedule_id: ScheduleId | None,
        job: JobName,
        fire_time: datetime,
        version: int,
        more: Mapping[str, Any],
    ) -> str:
        given: dict[str, Any] = {"state": RunState.PLANNED, "epoch": Epoch(0), **more}
        self._rows[key] = RunRecord(
            namespace=DEFAULT_NAMESPACE,
            run_key=key,
            schedule_id=schedule_id,
            job=job,
            fire_time=fire_time,
            version=version,
            reason=None,
            attempt=0,
            fence=Fence(0),
            run_at=fire_time,
            started_at=None,
            finished_at=None,
            worker=None,
            error=None,
            queue=DEFAULT_QUEUE,
            priority=2,
            payload={},
            **given,
        )
        self.history.changes.append(Change(self.now, None, self._rows[key]))
        return key
