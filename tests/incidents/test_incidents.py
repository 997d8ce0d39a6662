"""The incidents of the field, each under its own name: what happened to others must not happen here.

Real services over the store in memory, with a clock that is moved by hand, so that each incident is the same
every time.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from fencepost.errors import StoreUnavailable
from fencepost.model.backfill import FillMode, NewBackfill
from fencepost.model.identifiers import JobName, ScheduleId
from fencepost.model.policies import CatchUp, Overlap
from fencepost.model.run import RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations import backfills as backfill_operations
from fencepost.operations import pausing
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.services.deployer import Deployer
from fencepost.services.janitor import Janitor
from fencepost.triggers import Cron, Every
from tests.services.house import (
    NS,
    START,
    Bench,
    House,
    PlanningNode,
    WorkingNode,
    make_job,
    until,
)

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


class Mailbox:
    """What the jobs did to the world: one letter for each execution."""

    def __init__(self) -> None:
        self.letters: list[str] = []

    async def send(self, run: object) -> None:
        self.letters.append(run.key)  # type: ignore[attr-defined]


async def leader(house: House, name: str = "alice") -> PlanningNode:
    node = PlanningNode(house, name)
    await node.elector.run_once()
    return node


async def worker(house: House, work: object, **options: int) -> WorkingNode:
    node = WorkingNode(house, make_job(work, **options))  # type: ignore[arg-type]
    await node.register()
    return node


async def settle(node: WorkingNode) -> None:
    """Claim until nothing more begins: what is admitted to catch-up starts with the pass after."""
    for _ in range(500):
        before = node.reporter.settled
        await node.reaper.run_once()
        await node.work()
        if node.reporter.settled == before:
            return
    raise AssertionError("the work does not come to an end")


async def test_a_stale_leader_does_not_fire_everything_twice_for_days() -> None:
    """A leader that was cut off from the others kept on scheduling beside its successor."""
    house, mail = House(), Mailbox()
    await house.put("billing", every_s=60)
    stale = await leader(house, "stale")
    node = await worker(house, mail.send)
    grants = dict(stale.leadership.grants(house.clock.monotonic()))
    house.clock.advance(30)
    fresh = PlanningNode(house, "fresh")
    for _ in range(3 * 24):
        await fresh.elector.run_once()
        await fresh.planner.run_once()
        window = await house.memory.plans.window(sorted(grants), 60, 500)
        plans = [*filter(None, stale.planner._plans(window, grants, []))]
        if plans:
            assert (await house.memory.plans.write(plans)).runs_written == 0
        await settle(node)
        house.clock.advance(5)
    assert mail.letters, "nothing ran at all"
    assert max(Counter(mail.letters).values()) == 1
    fired = [letter.split("#")[1] for letter in mail.letters]
    assert len(fired) == len(set(fired))


@pytest.mark.parametrize("away_s", [45.0, 10 * MINUTE, DAY])
async def test_a_new_leader_does_not_forget_the_gap(away_s: float) -> None:
    """A scheduler kept its clock in memory, and after a failover began from the present."""
    house, mail = House(), Mailbox()
    await house.put("billing", every_s=300, catch_up=CatchUp("sequential", "2d"))
    first = await leader(house, "first")
    await first.planner.run_once()
    node = await worker(house, mail.send)
    house.clock.advance(away_s)
    await (await leader(house, "second")).planner.run_once()
    await settle(node)
    expected = list(Every(300).fire_times(START, START + timedelta(seconds=away_s)))
    assert sorted(letter.split("#")[1] for letter in mail.letters) == [
        one.strftime("%Y-%m-%dT%H:%M:%SZ") for one in expected
    ]


@pytest.mark.parametrize("mode", ["none", "latest", "sequential"])
@pytest.mark.parametrize("gone", ["planners", "workers"])
async def test_sixteen_missed_ticks_are_not_fired_at_once_after_a_stall(mode: str, gone: str) -> None:
    """After fifteen seconds of silence a library fired all sixteen missed ticks in parallel."""
    house, bench = House(), Bench()
    await house.put("beat", every_s=1, catch_up=CatchUp(mode, "1m"))
    planner = await leader(house)
    node = await worker(house, bench)
    if gone == "workers":
        await planner.planner.run_once()
    house.clock.advance(15.5)
    await planner.elector.run_once()
    await planner.planner.run_once()
    for _ in range(3):
        await node.reaper.run_once()
        await node.worker.run_once()
    await until(lambda: bench.now == 1)
    assert bench.most == 1
    bench.finish.set()
    await node.reported(0)


async def test_pruned_evidence_does_not_let_a_tick_fire_again() -> None:
    """Old dedup rows were deleted, and a node that lagged one period inserted the tick anew."""
    house, mail = House(retention_s=HOUR), Mailbox()
    await house.put("billing", every_s=600, catch_up=CatchUp("sequential", "30d"))
    planner = await leader(house)
    node = await worker(house, mail.send)
    lagging = await house.memory.plans.window(sorted(planner.shards), 3600, 500)
    for _ in range(40):
        await planner.elector.run_once()
        await planner.planner.run_once()
        await settle(node)
        house.clock.advance(300)
    janitor = Janitor(house.store, house.settings)
    await janitor.run_once()
    assert len(await house.runs("billing")) < len(mail.letters), "nothing was pruned"
    await planner.elector.run_once()
    grants = planner.leadership.grants(house.clock.monotonic())
    for plan in filter(None, planner.planner._plans(lagging, grants, [])):
        await house.memory.plans.write([plan])
    await (await leader(house, "another")).planner.run_once()
    backfills = Control(house.memory, NS)
    asked = NewBackfill(ScheduleId("billing"), START, house.clock.wall(), FillMode.MISSED)
    await backfill_operations.fill(backfills, await backfill_operations.start(backfills, asked))
    await settle(node)
    assert max(Counter(mail.letters).values()) == 1


async def test_neither_unpausing_nor_an_edit_fires_by_surprise() -> None:
    """A job that was unsuspended after months ran at once, and another ran when its spec was changed."""
    house, mail = House(), Mailbox()
    await house.put("nightly", every_s=600)
    planner = await leader(house)
    node = await worker(house, mail.send)
    verbs = Control(house.memory, NS)
    await planner.planner.run_once()
    await pausing.pause(verbs, "nightly")
    house.clock.advance(45 * DAY + 1)
    await pausing.resume(verbs, "nightly")
    await planner.elector.run_once()
    await planner.planner.run_once()
    await settle(node)
    assert mail.letters == []
    current = await verbs.schedule("nightly")
    slower = ScheduleSpec(JobName("report"), trigger=Every(900).to_json())
    await schedule_operations.edit(verbs, "nightly", slower, current.version)
    await planner.planner.run_once()
    await settle(node)
    assert mail.letters == []


async def test_a_job_with_a_long_interval_is_not_starved_by_frequent_deploys() -> None:
    """Each restart counted the interval from anew, and a daily job never ran between hourly deploys."""
    house, mail = House(), Mailbox()
    spec = ScheduleSpec(JobName("report"), trigger=Every("1d").to_json())
    node = await worker(house, mail.send)
    for hour in range(72):
        planner = await leader(house, f"deploy-{hour}")
        jobs = {"report": make_job(mail.send).spec}
        await Deployer(house.memory, NS, jobs, {ScheduleId("daily"): spec}).start()
        await planner.planner.run_once()
        await settle(node)
        await planner.elector.resign()
        house.clock.advance(HOUR)
        late = await leader(house, f"late-{hour}")
        await late.planner.run_once()
        await settle(node)
        await late.elector.resign()
    assert [letter.split("#")[1] for letter in mail.letters] == [
        "2026-03-02T00:00:00Z",
        "2026-03-03T00:00:00Z",
        "2026-03-04T00:00:00Z",
    ]


async def test_a_fold_of_the_clocks_does_not_fire_a_daily_job_twice() -> None:
    """At the end of summer time half past two came twice, and so did the job."""
    house, mail = House(), Mailbox()
    house.clock.advance((datetime(2026, 10, 24, 12, tzinfo=UTC) - START).total_seconds())
    trigger = Cron("30 2 * * *", tz="Europe/Berlin")
    await house.put_spec("daily", ScheduleSpec(JobName("report"), trigger=trigger.to_json()))
    node = await worker(house, mail.send)
    planner = await leader(house)
    for _ in range(2 * 24 * 12):
        await planner.elector.run_once()
        await planner.planner.run_once()
        await settle(node)
        house.clock.advance(300)
    assert [letter.split("#")[1] for letter in mail.letters] == [
        "2026-10-25T00:30:00Z",
        "2026-10-26T01:30:00Z",
    ]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_error_while_publishing_does_not_lose_the_tick(when: str) -> None:
    """The schedule was moved on first; then the publish failed, and nobody ever looked back."""
    house, mail = House(), Mailbox()
    await house.put("billing", every_s=60)
    planner = await leader(house)
    node = await worker(house, mail.send)
    getattr(house.store, f"fail_{when}")("plans.write")
    with pytest.raises(StoreUnavailable):
        await planner.planner.run_once()
    await planner.planner.run_once()
    house.clock.advance(60)
    await settle(node)
    assert [letter.split("#")[1] for letter in mail.letters] == ["2026-03-01T12:01:00Z"]


async def test_a_zombie_does_not_finish_its_successors_attempt() -> None:
    """A worker woke up after its run had been given to another, and completed it for both."""
    house, first, second = House(), Bench(), Bench()
    zombie, successor = await worker(house, first), await worker(house, second)
    run_key = await house.enqueue("invoice")
    await zombie.worker.run_once()
    await until(lambda: first.now == 1)
    house.clock.advance(31)
    await successor.reaper.run_once()
    await successor.worker.run_once()
    await until(lambda: second.now == 1)
    held = await house.run(run_key)
    first.finish.set()
    await zombie.reported(0)
    after = await house.run(run_key)
    assert (after.state, after.fence) == (RunState.RUNNING, held.fence)
    second.finish.set()
    await successor.reported(0)
    assert (await house.run(run_key)).state is RunState.SUCCEEDED


async def test_a_busy_loop_does_not_starve_the_heartbeat() -> None:
    """A job that computed in the event loop looked dead, and was started a second time beside itself."""
    house = House()
    beats: list[float] = []
    blocked, seen = threading.Event(), threading.Event()

    async def busy(run: object) -> None:
        blocked.set()
        assert seen.wait(10), "no heartbeat came while the loop was busy"

    node = await worker(house, busy)
    await house.enqueue("compute")

    def beat() -> None:
        assert blocked.wait(10)
        asyncio.run(node.heartbeat.run_once())
        beats.append(len(node.active))
        seen.set()

    heart = threading.Thread(target=beat)
    heart.start()
    await node.work()
    heart.join()
    assert beats == [1]


async def test_a_terminated_run_cannot_report_over_its_successor() -> None:
    """The newer tick took over, and then the old one came back and overwrote what it had done."""
    house, bench = House(), Bench()
    await house.put("sync", every_s=60, overlap=Overlap.TERMINATE_OTHER)
    planner = await leader(house)
    node = await worker(house, bench)
    await planner.planner.run_once()
    house.clock.advance(60)
    await node.worker.run_once()
    await until(lambda: bench.now == 1)
    await planner.elector.run_once()
    await planner.planner.run_once()
    house.clock.advance(60)
    await node.worker.run_once()
    await until(lambda: bench.now == 2)
    old, new = (await house.runs("sync"))[:2]
    assert (old.state, new.state) == (RunState.CANCELLED, RunState.RUNNING)
    bench.finish.set()
    await node.reported(0)
    old, new = (await house.runs("sync"))[:2]
    assert (old.state, new.state) == (RunState.CANCELLED, RunState.SUCCEEDED)


async def test_the_fences_of_a_schedule_rise_through_all_of_it() -> None:
    house, mail = House(), Mailbox()
    await house.put("beat", every_s=5)
    planner = await leader(house)
    node = await worker(house, mail.send)
    for _ in range(20):
        await planner.elector.run_once()
        await planner.planner.run_once()
        house.clock.advance(5)
        await settle(node)
    fences = [one.fence for one in await house.runs("beat") if one.fence]
    assert len(fences) >= 20
    assert all(one < other for one, other in pairwise(fences))
