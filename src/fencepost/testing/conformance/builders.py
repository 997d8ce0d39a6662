"""Small things that most behaviours begin with: a schedule, some ticks, a claim, a judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from fencepost.model.claiming import ClaimRequest, End, Judge, ScheduleFacts, Start, Verdict
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    DEFAULT_QUEUE,
    Epoch,
    JobName,
    Namespace,
    NodeId,
    Queue,
    RunKey,
    ScheduleId,
    Shard,
    job_key,
    shard_of,
    tick_key,
)
from fencepost.model.job import PRIORITY_DEFAULT
from fencepost.model.json import JsonObject
from fencepost.model.leader import Registered
from fencepost.model.lease import Granted
from fencepost.model.missed import MissedTicks
from fencepost.model.plan import Cursor, Plan, PlanReceipt, Tick
from fencepost.model.rescue import Expired, Sweep, SweepTerms
from fencepost.model.run import Claim, NewRun, Outcome, Receipt, RunRecord, RunState, Ticket
from fencepost.model.schedule import Schedule, ScheduleSpec
from fencepost.ports.store import Store
from fencepost.testing.conformance.harness import StoreHarness

NS = DEFAULT_NAMESPACE
OTHER_NS = Namespace("tenant")
JOB, OTHER_JOB = JobName("report"), JobName("resize")
SCHEDULE, OTHER_SCHEDULE = ScheduleId("hourly"), ScheduleId("nightly")
ALICE, BOB = NodeId("alice-1"), NodeId("bob-1")
EPOCH = Epoch(1)
SWEEP_TERMS = SweepTerms(gap_max_s=15.0, grace_s=30.0)
FAR_S, MANY = 100_000.0, 100
TZDATA, NEWER_TZDATA = "2026a", "2026b"


def make_spec(job: JobName = JOB, every_s: int = 60, **fields: Any) -> ScheduleSpec:
    """A spec that differs from another exactly where the arguments do."""
    return ScheduleSpec(job=job, trigger={"v": 1, "kind": "every", "seconds": every_s}, **fields)


async def put(
    harness: StoreHarness,
    spec: ScheduleSpec | None = None,
    schedule_id: ScheduleId = SCHEDULE,
    *,
    namespace: Namespace = NS,
    tzdata: str = TZDATA,
) -> Schedule:
    """Create a schedule or edit it, whatever its version."""
    schedule = await harness.store.schedules.put(
        namespace, schedule_id, spec or make_spec(), tzdata=tzdata, expected_version=None
    )
    assert schedule is not None
    return schedule


def shard_for(harness: StoreHarness, schedule_id: ScheduleId = SCHEDULE, namespace: Namespace = NS) -> Shard:
    """The shard that a schedule of that id belongs to."""
    return shard_of(namespace, schedule_id, harness.shards)


def ids_on_two_shards(harness: StoreHarness) -> tuple[ScheduleId, ScheduleId]:
    """Two ids whose schedules have different leaders."""
    names = [ScheduleId(f"schedule-{number}") for number in range(MANY)]
    first = names[0]
    home = shard_for(harness, first)
    return first, next(name for name in names if shard_for(harness, name) != home)


async def read_cursor(
    harness: StoreHarness, schedule_id: ScheduleId = SCHEDULE, namespace: Namespace = NS
) -> Cursor:
    """The cursor of the latest version that the planner of the schedule's shard has to look at."""
    return max(await read_cursors(harness, schedule_id, namespace), key=lambda one: one.version)


async def read_cursors(
    harness: StoreHarness, schedule_id: ScheduleId = SCHEDULE, namespace: Namespace = NS
) -> list[Cursor]:
    """All cursors of a schedule that the planner of its shard has to look at."""
    shard = shard_for(harness, schedule_id, namespace)
    window = await harness.store.plans.window([shard], FAR_S, MANY)
    return [one for one in window.cursors if (one.namespace, one.schedule_id) == (namespace, schedule_id)]


def make_plan(
    cursor: Cursor,
    *fire_times: datetime,
    epoch: Epoch = EPOCH,
    delay_s: float = 0.0,
    tzdata: str = TZDATA,
    missed: tuple[MissedTicks, ...] = (),
) -> Plan:
    """The plan that writes these fire times, each due after its offset, and looks again at the last of
    them."""
    counted = [moment for one in missed for moment in one.fire_times]
    through = max([*fire_times, *counted, cursor.planned_through])
    ticks = tuple(Tick(one, one + timedelta(seconds=delay_s)) for one in fire_times)
    return Plan(cursor, epoch, ticks, through, next_fire_at=through, tzdata=tzdata, missed=missed)


async def register(store: Store, shard: Shard, epoch: int, holder: NodeId = ALICE) -> bool:
    """Offer a grant of that number to the ledger; whether it was accepted."""
    answers = await store.epochs.register({shard: Granted(Epoch(epoch))}, holder)
    return isinstance(answers[shard], Registered)


async def write(harness: StoreHarness, *plans: Plan) -> PlanReceipt:
    """Write plans as the leader of their shards."""
    for plan in plans:
        await register(harness.store, plan.cursor.shard, plan.epoch)
    return await harness.store.plans.write(plans)


async def write_missed(harness: StoreHarness, *missed: MissedTicks) -> PlanReceipt:
    """Plan ticks of `SCHEDULE` that are missed already."""
    return await write(harness, make_plan(await read_cursor(harness), missed=missed))


async def plan_ticks(
    harness: StoreHarness,
    *after_s: float,
    schedule_id: ScheduleId = SCHEDULE,
    namespace: Namespace = NS,
    delay_s: float = 0.0,
) -> list[RunKey]:
    """Plan ticks at these seconds from now; the keys, in the order of the arguments."""
    cursor = await read_cursor(harness, schedule_id, namespace)
    fire_times = [at(harness, seconds) for seconds in after_s]
    receipt = await write(harness, make_plan(cursor, *fire_times, delay_s=delay_s))
    assert receipt.runs_written == len(after_s), receipt
    return [tick_key(schedule_id, one, cursor.version) for one in fire_times]


async def due_ticks(harness: StoreHarness, *after_s: float, **where: Any) -> list[RunKey]:
    """Plan ticks and let the time of all of them come."""
    keys = await plan_ticks(harness, *after_s, **where)
    await harness.advance(max(after_s))
    return keys


def at(harness: StoreHarness, seconds: float) -> StoreTime:
    """The store's time this number of seconds from now."""
    return later(harness.now, seconds)


def by_hand(
    key: str,
    *,
    job: JobName = JOB,
    queue: Queue = DEFAULT_QUEUE,
    priority: int = PRIORITY_DEFAULT,
    run_at: datetime | None = None,
    payload: JsonObject | None = None,
) -> NewRun:
    """A run to enqueue under `job#key`."""
    return NewRun(job_key(job, key), job, payload or {}, queue, priority, run_at)


async def enqueue(
    harness: StoreHarness, *keys: str, namespace: Namespace = NS, **fields: Any
) -> list[RunKey]:
    """Enqueue new runs by hand."""
    runs = [by_hand(key, **fields) for key in keys]
    assert all(await harness.store.ledger.enqueue(namespace, runs))
    return [run.run_key for run in runs]


def claim_request(
    worker: NodeId = ALICE,
    *,
    queues: tuple[Queue, ...] = (DEFAULT_QUEUE,),
    jobs: tuple[JobName, ...] = (JOB, OTHER_JOB),
    alive_for_s: float = 30.0,
    namespace: Namespace = NS,
) -> ClaimRequest:
    """What a worker for both jobs of this suite asks for."""
    return ClaimRequest(worker, queues, jobs, alive_for_s, namespace)


async def claim(harness: StoreHarness, worker: NodeId = ALICE, limit: int = MANY) -> list[Claim]:
    """Claim what needs no verdict."""
    return list(await harness.store.ledger.claim_direct(claim_request(worker), limit))


async def claim_with(harness: StoreHarness, judge: Judge) -> list[Claim]:
    """Claim ticks under that judge."""
    return list(await harness.store.ledger.claim_ticks(claim_request(), MANY, judge))


async def claim_one(harness: StoreHarness, key: str = "one", worker: NodeId = ALICE) -> Claim:
    """Enqueue a run by hand and claim it."""
    await enqueue(harness, key)
    (claimed,) = await claim(harness, worker)
    return claimed


async def start_ticks(harness: StoreHarness, worker: NodeId = ALICE, limit: int = MANY) -> list[Claim]:
    """Claim every due tick."""
    return list(await harness.store.ledger.claim_ticks(claim_request(worker), limit, start_all))


async def start_tick(harness: StoreHarness, after_s: float = 60) -> Claim:
    """Make a tick of `SCHEDULE`, let its time come and start it."""
    await put(harness)
    await due_ticks(harness, after_s)
    (claimed,) = await start_ticks(harness)
    return claimed


def success(ticket: Ticket, **fields: Any) -> Outcome:
    """The attempt went well."""
    return Outcome(ticket, RunState.SUCCEEDED, **fields)


def death(ticket: Ticket, error: str = "boom", **fields: Any) -> Outcome:
    """The attempt failed for good."""
    return Outcome(ticket, RunState.DEAD, error=error, **fields)


def retry(ticket: Ticket, in_s: float = 0.0, error: str = "boom", **fields: Any) -> Outcome:
    """The attempt failed and the run shall be tried again."""
    return Outcome(ticket, RunState.READY, error=error, retry_in_s=in_s, **fields)


def not_begun(ticket: Ticket) -> Outcome:
    """The worker gives the run back."""
    return Outcome(ticket, RunState.READY, "handed back before it began", retry_in_s=0.0, begun=False)


async def finish(harness: StoreHarness, outcome: Outcome) -> Receipt:
    """Report one outcome."""
    (receipt,) = await harness.store.ledger.finish([outcome])
    return receipt


async def sweep(harness: StoreHarness, limit: int = MANY) -> Sweep:
    """What a reaper finds."""
    return await harness.store.ledger.expired(limit, SWEEP_TERMS)


async def expired(harness: StoreHarness, limit: int = MANY) -> list[Expired]:
    """The silent runs that a reaper finds."""
    return list((await sweep(harness, limit)).expired)


async def read(harness: StoreHarness, run_key: RunKey, namespace: Namespace = NS) -> RunRecord:
    """A run that is known to be there."""
    record = await harness.store.ledger.get(namespace, run_key)
    assert record is not None
    return record


async def states(harness: StoreHarness, *keys: RunKey) -> list[RunState]:
    """How the ledger shows these runs."""
    return [(await read(harness, key)).state for key in keys]


def start_all(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
    """A judge that lets everything run, first things first."""
    return [Start(tick.run_key) for tick in facts.due[: max(room, 0)]]


def leave_all(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
    """A judge that cannot make up its mind."""
    return []


def end_all(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
    """A judge that lets nothing run."""
    return [End(tick.run_key, RunState.MISSED, "too late") for tick in facts.due]


@dataclass
class Witness:
    """A judge that starts nothing and remembers all that it was asked."""

    facts: list[ScheduleFacts] = field(default_factory=list)
    times: list[StoreTime] = field(default_factory=list)
    rooms: list[int] = field(default_factory=list)

    def __call__(self, facts: ScheduleFacts, now: StoreTime, room: int) -> Sequence[Verdict]:
        self.facts.append(facts)
        self.times.append(now)
        self.rooms.append(room)
        return []

    @property
    def due(self) -> set[RunKey]:
        """Every tick that was put before the judge."""
        return {tick.run_key for facts in self.facts for tick in facts.due}


def close_to(one: float, other: float, within: float = 0.001) -> bool:
    """Whether two lengths of time are the same but for rounding."""
    return abs(timedelta(seconds=one - other)) <= timedelta(seconds=within)
