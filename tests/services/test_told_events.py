"""What the services tell: each thing once, where the ledger has answered, and nothing that did not happen."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from fencepost.errors import PermanentFailure, StoreUnavailable
from fencepost.model.backfill import NewBackfill
from fencepost.model.identifiers import NodeId, ScheduleId
from fencepost.model.node import Node
from fencepost.model.policies import CatchUp, Overlap, OverlapKind
from fencepost.model.run import Origin, RunState
from fencepost.operations import backfills as backfill_operations
from fencepost.operations import jobs as job_operations
from fencepost.operations.control import Control
from fencepost.services.backfiller import Backfiller
from fencepost.services.node import NodeRunner, Surroundings
from fencepost.services.reaper import Reaper
from fencepost.telemetry import events
from fencepost.telemetry.events import Cause, Event, listen
from fencepost.testing.conformance.builders import register
from tests.services.conftest import Lines
from tests.services.house import LATEST, NS, START, Bench, House, PlanningNode, WorkingNode, make_job, until

E = TypeVar("E")


class Heard:
    """Every event of a test, in its order."""

    def __init__(self) -> None:
        self.all: list[Event] = []

    def of(self, kind: type[E]) -> list[E]:
        return [one for one in self.all if isinstance(one, kind)]

    def count(self, kind: type[Any], of: Callable[[Any], Any]) -> dict[Any, int]:
        return dict(Counter(of(one) for one in self.of(kind)))


@pytest.fixture
def heard() -> Iterator[Heard]:
    found = Heard()
    unlisten = listen(found.all.append)
    yield found
    unlisten()


async def leader(house: House, name: str = "alice") -> PlanningNode:
    node = PlanningNode(house, name)
    await node.elector.run_once()
    return node


async def test_a_leader_tells_of_its_leases_its_skew_and_its_plans(heard: Heard) -> None:
    house = House(shards=2)
    await house.put("beat", every_s=10)
    node = await leader(house)
    await node.planner.run_once()
    changes = heard.of(events.LeaseChanged)
    assert [(one.shard, one.gained, one.led) for one in changes] == [(0, True, 1), (1, True, 2)]
    assert sum(one.runs for one in heard.of(events.TicksPlanned)) == len(await house.runs())
    assert len(heard.of(events.SkewMeasured)) == 1
    await node.elector.resign()
    assert [(one.gained, one.led) for one in heard.of(events.LeaseChanged)[2:]] == [(False, 1), (False, 0)]


async def test_a_renewal_without_an_answer_is_told_for_each_shard_and_one_with_an_answer_is_not(
    heard: Heard,
) -> None:
    house = House(shards=2)
    node = await leader(house)
    await node.elector.run_once()
    assert not heard.of(events.RenewalFailed)
    house.store.fail_before("leases.renew")
    with pytest.raises(StoreUnavailable):
        await node.elector.run_once()
    assert [one.shard for one in heard.of(events.RenewalFailed)] == [0, 1]


async def test_a_stale_leader_is_told_as_a_duplicate_that_did_not_happen(heard: Heard) -> None:
    house = House(shards=1)
    await house.put("beat", every_s=10)
    node = await leader(house)
    await register(house.memory, house.shard_of("beat"), 9, NodeId("bob"))
    await node.planner.run_once()
    assert [one.epoch for one in heard.of(events.PlanRefused)] == [1]
    assert heard.count(events.DuplicateSuppressed, lambda one: one.cause) == {Cause.EPOCH: 1}
    assert sum(one.runs for one in heard.of(events.TicksPlanned)) == 0


async def test_a_clock_set_back_is_told_once_by_the_sweep(heard: Heard, lines: Lines) -> None:
    house = House()
    reaper, again = (Reaper(house.store, house.settings) for _ in range(2))
    await reaper.run_once()
    house.clock.set_back(3600)
    for one in (again, reaper, again):
        await one.run_once()
    assert heard.of(events.ClockSetBack) == [events.ClockSetBack("heartbeats", 3600.0)]
    (line,) = lines.about("rescues wait: the clock of the store was set back")
    assert line == {"last_sweep_s": -3600.0, "grace_s": house.settings.heartbeat_timeout_s}
    assert not lines.about("rescues wait: the store or the whole fleet was away")


async def test_an_absence_of_the_store_is_not_told_as_a_clock_set_back(heard: Heard) -> None:
    house = House()
    reaper = Reaper(house.store, house.settings)
    await reaper.run_once()
    house.clock.advance(59)
    await reaper.run_once()
    assert heard.of(events.RescuesWaited) == [events.RescuesWaited(59.0)]
    assert not heard.of(events.ClockSetBack)


async def test_ticks_that_are_missed_when_they_are_planned_are_told_by_their_number(heard: Heard) -> None:
    house = House()
    await house.put("beat", every_s=10, catch_up=LATEST)
    house.clock.advance(7200)
    node = await leader(house)
    await node.planner.run_once()
    ranges = await house.memory.ledger.missed_ranges(
        NS, ScheduleId("beat"), START, START + timedelta(hours=3)
    )
    assert sum(one.ticks for one in heard.of(events.TicksMissed)) == sum(one.count for one in ranges) > 100
    assert {one.job for one in heard.of(events.TicksMissed)} == {"report"}


async def test_a_run_that_fails_once_is_claimed_twice_and_ends_once(heard: Heard) -> None:
    house = House()
    results = iter([RuntimeError("first"), None])

    def work() -> None:
        error = next(results)
        if error is not None:
            raise error

    node = WorkingNode(house, make_job(work))
    await house.enqueue("1")
    await node.work()
    house.clock.advance(3600)
    await node.work()
    claims = heard.of(events.RunClaimed)
    assert [(one.claim.attempt, one.is_first) for one in claims] == [(1, True), (2, False)]
    assert [one.lag_s for one in claims] == [0.0, pytest.approx(3595, abs=6)]
    finished = heard.of(events.AttemptFinished)
    assert [(one.job, one.state) for one in finished] == [
        ("report", RunState.READY),
        ("report", RunState.SUCCEEDED),
    ]
    assert all(one.took_s is not None and one.took_s >= 0 for one in finished)
    assert [(one.job, one.state) for one in heard.of(events.RunEnded)] == [("report", RunState.SUCCEEDED)]


@pytest.mark.parametrize("lost", ["before", "after"])
async def test_a_report_whose_answer_was_lost_is_told_once(lost: str, heard: Heard) -> None:
    house = House()

    def work() -> None:
        raise PermanentFailure("no")

    node = WorkingNode(house, make_job(work))
    await house.enqueue("1")
    (house.store.fail_before if lost == "before" else house.store.fail_after)("ledger.finish")
    await node.worker.run_once()
    await until(lambda: not node.worker._tasks)
    with pytest.raises(StoreUnavailable):
        await node.reporter.run_once()
    assert not heard.of(events.AttemptFinished)
    await node.reported(0)
    assert [one.state for one in heard.of(events.AttemptFinished)] == [RunState.DEAD]
    assert [one.state for one in heard.of(events.RunEnded)] == [RunState.DEAD]


async def test_a_claim_whose_answer_was_lost_is_told_when_it_is_adopted(heard: Heard) -> None:
    house = House()
    node = WorkingNode(house, make_job(lambda: None))
    await house.enqueue("1")
    house.store.fail_after("ledger.claim_direct")
    with pytest.raises(StoreUnavailable):
        await node.worker.run_once()
    assert not heard.of(events.RunClaimed)
    await node.work()
    assert [one.adopted for one in heard.of(events.RunClaimed)] == [True]


async def test_a_straggler_is_told_as_a_duplicate_and_its_ending_is_not(heard: Heard) -> None:
    house = House()
    bench = Bench()
    node = WorkingNode(house, make_job(bench))
    await node.register()
    await house.enqueue("1")
    await node.worker.run_once()
    await until(lambda: bool(bench.begun))
    house.clock.advance(31)
    await node.reaper.run_once()
    assert [(one.job, one.state) for one in heard.of(events.RunRescued)] == [("report", RunState.READY)]
    bench.finish.set()
    await node.reported(0)
    assert heard.count(events.DuplicateSuppressed, lambda one: one.cause) == {Cause.FENCE: 1}
    assert not heard.of(events.AttemptFinished)
    assert not heard.of(events.RunEnded)


async def test_a_run_that_the_heartbeat_finds_lost_is_told_as_a_duplicate_once(heard: Heard) -> None:
    house = House()
    bench = Bench()
    node = WorkingNode(house, make_job(bench))
    await node.register()
    await house.enqueue("1")
    await node.worker.run_once()
    await until(lambda: bool(bench.begun))
    house.clock.advance(31)
    await node.reaper.run_once()
    await node.heartbeat.run_once()
    await until(lambda: not node.worker._tasks)
    await node.reporter.run_once()
    assert heard.count(events.DuplicateSuppressed, lambda one: one.cause) == {Cause.FENCE: 1}
    assert not heard.of(events.AttemptFinished)


async def test_a_run_that_is_given_up_with_its_worker_has_ended(heard: Heard) -> None:
    house = House()
    node = WorkingNode(house, make_job(Bench(), at_most_once=True))
    await node.register()
    await house.enqueue("1")
    await node.worker.run_once()
    house.clock.advance(31)
    await Reaper(house.store, house.settings).run_once()
    assert [(one.job, one.state) for one in heard.of(events.RunEnded)] == [("report", RunState.DEAD)]
    node.worker.interrupt()
    await node.reported(0)


@pytest.mark.parametrize("by", ["worker", "reaper"])
async def test_ticks_that_are_turned_down_are_told_once_by_every_judge(by: str, heard: Heard) -> None:
    house = House()
    await house.put("beat", every_s=10, catch_up=CatchUp("none", "5s"))
    await (await leader(house)).planner.run_once()
    node = WorkingNode(house, make_job(lambda: None))
    house.clock.advance(45)
    for _ in range(2):
        if by == "worker":
            await node.work()
        else:
            await node.reaper.run_once()
    ended = [one.run_key for one in await house.runs("beat") if one.state is RunState.MISSED]
    told = heard.of(events.TickTurnedDown)
    assert sorted(one.run_key for one in told) == sorted(ended)
    assert len(told) >= 3
    assert {(one.job, one.state, one.schedule_id) for one in told} == {("report", RunState.MISSED, "beat")}


async def test_a_tick_that_meets_another_is_told_as_skipped(heard: Heard) -> None:
    house = House()
    bench = Bench()
    await house.put("beat", every_s=10, overlap=Overlap(OverlapKind.SKIP))
    await (await leader(house)).planner.run_once()
    node = WorkingNode(house, make_job(bench))
    for _ in range(2):
        house.clock.advance(10)
        await node.worker.run_once()
    assert [one.state for one in heard.of(events.TickTurnedDown)] == [RunState.SKIPPED]
    bench.finish.set()
    await node.reported(0)


async def test_what_was_judged_in_a_call_without_an_answer_is_not_told(heard: Heard) -> None:
    house = House()
    await house.put("beat", every_s=10, catch_up=CatchUp("none", "5s"))
    await (await leader(house)).planner.run_once()
    house.clock.advance(45)
    house.store.fail_after("ledger.sweep_late")
    with pytest.raises(StoreUnavailable):
        await Reaper(house.store, house.settings).run_once()
    assert not heard.of(events.TickTurnedDown)


async def test_a_run_that_was_to_make_way_is_not_told_as_ended(heard: Heard) -> None:
    """The store leaves alone what is in a transaction of its own, and does not say which runs it stopped."""
    house, bench = House(), Bench()
    await house.put("beat", every_s=10, overlap=Overlap(OverlapKind.TERMINATE_OTHER))
    await (await leader(house)).planner.run_once()
    node = WorkingNode(house, make_job(bench))
    for _ in range(2):
        house.clock.advance(10)
        await node.worker.run_once()
    assert len(heard.of(events.RunClaimed)) == 2
    assert not heard.of(events.RunEnded)
    bench.finish.set()
    await node.reported(0)


async def test_one_outdated_plan_does_not_silence_what_the_others_missed(heard: Heard) -> None:
    house = House(shards=1)
    for name in ("beat", "edited"):
        await house.put(name, every_s=10, catch_up=LATEST)
    house.clock.advance(7200)
    node = await leader(house)

    async def edit() -> None:
        await house.put("edited", every_s=30, catch_up=LATEST)

    house.store.before["plans.write"].append(edit)
    await node.planner._round(node.leadership.grants(house.clock.monotonic()))
    assert {one.schedule_id for one in heard.of(events.TicksMissed)} == {"beat"}


async def test_a_worker_tells_which_jobs_it_works_for(heard: Heard) -> None:
    house = House()
    job = make_job(lambda: None)
    node = Node(NodeId("bob"), "host", 1, plans=False, works=True)
    around = Surroundings(
        house.store, house.store.leases, house.clock, lambda: 0.0, house.settings, {job.spec.name: job}
    )
    stop = asyncio.Event()
    stop.set()
    await NodeRunner(node, around).run(stop)
    assert [one.jobs for one in heard.of(events.JobsServed)] == [("report",)]


@pytest.mark.parametrize("by", ["node", "command"])
async def test_a_run_of_a_backfill_is_told_as_one_when_it_begins_by_any_writer(by: str, heard: Heard) -> None:
    house = House()
    await house.put("beat", every_s=10)
    house.clock.advance(65)
    control = Control(house.store, NS)
    until_ = START + timedelta(seconds=60)
    started = await backfill_operations.start(control, NewBackfill(ScheduleId("beat"), START, until_))
    if by == "node":
        await Backfiller(house.store, house.settings, house.clock).run_once()
    else:
        await backfill_operations.fill(control, started)
    node = WorkingNode(house, make_job(lambda: None))
    for _ in range(20):
        await node.work()
    written = [one.run_key for one in await house.runs("beat") if one.backfill_id == started.backfill_id]
    claimed = heard.of(events.RunClaimed)
    assert sorted(one.claim.run_key for one in claimed) == sorted(written)
    assert len(written) > 1
    assert {(one.claim.origin, one.was_awaited) for one in claimed} == {(Origin.BACKFILL, False)}


async def test_a_key_that_was_there_already_is_told_and_a_new_one_is_not(heard: Heard) -> None:
    house = House()
    await house.memory.jobs.register(NS, [make_job(lambda: None).spec])
    control = Control(house.store, NS)
    await job_operations.enqueue_run(control, "report", {}, key="1")
    assert not heard.of(events.DuplicateSuppressed)
    await job_operations.enqueue_run(control, "report", {}, key="1")
    (told,) = heard.of(events.DuplicateSuppressed)
    assert (told.cause, told.run_key) == (Cause.KEY, "report#1")


async def test_a_store_that_is_away_is_told_by_each_service_that_misses_it(heard: Heard) -> None:
    house = House()
    node = WorkingNode(house, make_job(lambda: None))
    house.store.fail_before("ledger.expired", times=2)
    await node.reaper._pass()
    await node.reaper._pass()
    await node.reaper._pass()
    assert [(one.service, one.failures) for one in heard.of(events.StoreMissed)] == [
        ("reaper", 1),
        ("reaper", 2),
    ]
