"""What a worker takes first: weights among queues, limits of jobs, and no spinning for what must wait."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

from fencepost.model.claiming import ClaimRequest, Head, Outlook
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import JobName, NodeId, Queue, RunKey, job_key
from fencepost.model.limits import JobLimit
from fencepost.model.run import NewRun, RunState
from fencepost.services.claiming import Kind, Looks, share_room
from fencepost.services.prefetch import MOMENT_S
from tests.services.house import NS, START, Bench, House, WorkingNode, make_job, until

MAIL, IMAGES = Queue("mail"), Queue("images")


async def fill(house: House, queue: Queue, count: int, priority: int = 2) -> None:
    job = JobName("report")
    runs = [NewRun(job_key(job, f"{queue}-{n}"), job, {}, queue, priority) for n in range(count)]
    await house.memory.ledger.enqueue(NS, runs)


async def open_node(house: House, bench: Bench, limit: JobLimit | None = None) -> WorkingNode:
    job = make_job(bench)
    node = WorkingNode(house, replace(job, spec=replace(job.spec, open_payload=True, limit=limit)))
    await node.register()
    return node


async def running(house: House) -> Counter[Queue]:
    return Counter(one.queue for one in await house.memory.ledger.running(NS, 100))


async def test_the_room_is_shared_by_weight_and_not_by_who_came_first() -> None:
    house = House(queues="mail:3,images:1", concurrency=8)
    node = await open_node(house, Bench())
    await fill(house, IMAGES, 50)
    await fill(house, MAIL, 50)
    await node.worker.run_once()
    assert await running(house) == {MAIL: 6, IMAGES: 2}


async def test_what_one_queue_does_not_use_is_not_left_idle() -> None:
    house = House(queues="mail:3,images:1", concurrency=8)
    node = await open_node(house, Bench())
    await fill(house, IMAGES, 50)
    await fill(house, MAIL, 1)
    assert await node.worker.run_once() == 0.0
    await node.worker.run_once()
    assert await running(house) == {MAIL: 1, IMAGES: 7}


async def test_an_old_run_of_the_last_priority_does_not_wait_behind_fresh_ones_for_ever() -> None:
    house = House(concurrency=1, ageing_s=60)
    node = await open_node(house, Bench())
    old = await house.enqueue("old", priority=4)
    house.clock.advance(200)
    await house.enqueue("fresh", priority=1)
    await node.worker.run_once()
    assert (await house.run(old)).state is RunState.RUNNING


async def test_an_old_pile_does_not_go_first_as_a_whole_where_one_runs_at_a_time() -> None:
    house = House(concurrency=1, ageing_s=60)
    bench = Bench()
    node = await open_node(house, bench)
    for number in range(9):
        await house.enqueue(f"old-{number}", priority=4)
    house.clock.advance(1_000)
    fresh = await house.enqueue("fresh", priority=1)
    bench.finish.set()
    for _ in range(2):
        await node.worker.run_once()
        await until(lambda: node.worker.busy == 0)
    assert (await house.run(fresh)).state is not RunState.READY


async def test_an_old_pile_does_not_take_all_from_fresh_work_of_another_kind() -> None:
    old, fresh = Head(4, START - timedelta(hours=1)), Head(1, START)
    outlook = Outlook(StoreTime(START), (old,), (fresh,), (), None)
    settings = House(ageing_s=60).settings
    turns: Counter[Queue] = Counter()
    assert share_room(outlook, 1, {}, settings, turns).kinds() == [Kind.DIRECT, Kind.TICK]
    turns[old.queue] += 1
    assert share_room(outlook, 1, {}, settings, turns).kinds() == [Kind.TICK, Kind.DIRECT]


async def test_what_was_seen_is_good_for_a_moment_while_there_is_more_of_it() -> None:
    house, looks = House(), Looks()
    claim_request = ClaimRequest(NodeId("alice"), (MAIL,), (JobName("report"),), 30.0)
    other = replace(claim_request, queues=(IMAGES,))
    for asked, now_s in (
        (claim_request, 0.0),
        (claim_request, MOMENT_S * 0.9),
        (claim_request, MOMENT_S),
        (other, MOMENT_S),
    ):
        await looks.look(house.store.ledger, asked, now_s)
    assert looked(house) == 3
    looks.forget()
    await looks.look(house.store.ledger, other, MOMENT_S)
    assert looked(house) == 4


async def test_a_worker_that_has_room_left_looks_again() -> None:
    house = House(concurrency=2)
    node = await open_node(house, Bench())
    await house.enqueue("one")
    await node.worker.run_once()
    assert (await running(house)).total() == looked(house) == 1
    await house.enqueue("two", priority=1)
    await node.worker.run_once()
    assert (await running(house)).total() == looked(house) == 2


def looked(house: House) -> int:
    """How often the ledger was asked what waits."""
    return [name for name, _ in house.store.calls].count("ledger.outlook")


async def test_what_waits_for_a_slot_does_not_spin_the_worker() -> None:
    house = House(concurrency=5)
    node = await open_node(house, Bench(), limit=JobLimit(1))
    for key in "abc":
        await house.enqueue(key)
    rests = [await node.worker.run_once() for _ in range(4)]
    assert (await running(house)).total() == 1
    assert rests[-1] == house.settings.poll_s


async def test_what_waits_for_the_rate_does_not_spin_the_worker() -> None:
    house = House(concurrency=5)
    node = await open_node(house, Bench(), limit=JobLimit(rate="30/m"))
    for key in "abc":
        await house.enqueue(key)
    rests = [await node.worker.run_once() for _ in range(4)]
    assert (await running(house)).total() == 1
    assert rests[-1] == 2.0


async def test_a_lost_worker_does_not_keep_its_slot() -> None:
    house = House(concurrency=5)
    node = await open_node(house, Bench(), limit=JobLimit(1))
    for key in "ab":
        await house.enqueue(key)
    for _ in range(3):
        await node.worker.run_once()
    house.clock.advance(31)
    await node.reaper.run_once()
    waiting = await house.run(RunKey("report#b"))
    await node.worker.run_once()
    assert waiting.state is RunState.READY
    assert (await house.run(waiting.run_key)).state is RunState.RUNNING
