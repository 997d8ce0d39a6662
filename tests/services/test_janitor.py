"""What is old goes, a batch at a time, and no key comes back."""

from __future__ import annotations

import pytest

from fencepost.config import Settings
from fencepost.errors import InvalidSettings, PermanentFailure
from fencepost.model.idempotency import KEPT_S
from fencepost.model.identifiers import NodeId
from fencepost.model.node import Node, NodeReport
from fencepost.model.run import RunState
from fencepost.model.tables import NODES
from fencepost.services.janitor import Janitor
from tests.rows import rows_of
from tests.services.house import NS, House, PlanningNode, WorkingNode, make_job

HOUR_S = 3600.0


async def quiet() -> None: ...


async def fail() -> None:
    raise PermanentFailure("no")


async def test_a_retention_that_forgets_too_soon_is_refused_at_the_start() -> None:
    house = House(retention_s=60)
    with pytest.raises(InvalidSettings, match="at least 3600 s"):
        Janitor(house.store, house.settings)


async def test_old_ticks_go_in_batches_and_young_ones_stay() -> None:
    house = House(retention_s=HOUR_S, tidy_batch_max=4)
    await house.put("beat", every_s=10)
    planner = await leader(house)
    house.clock.advance(60)
    await planner.elector.run_once()
    await planner.planner.run_once()
    worker = WorkingNode(house, make_job(quiet))
    await worker.work()
    assert len(await house.runs()) == 12

    janitor = Janitor(house.store, house.settings)
    assert await janitor.run_once() == 5 * house.settings.tidy_every_s, "nothing was to be removed"
    house.clock.advance(HOUR_S + 1)
    rests = [await janitor.run_once() for _ in range(2)]
    assert rests == [0.0, house.settings.tidy_every_s]
    assert await house.states() == [RunState.READY] * 6


async def test_dead_runs_stay_for_longer_than_the_others() -> None:
    house = House(retention_s=HOUR_S, dead_retention_s=3 * HOUR_S)
    assert house.settings.dead_retention_s < Settings().dead_retention_s == 90 * 24 * HOUR_S
    key = await house.enqueue("dead")
    worker = WorkingNode(house, make_job(fail))
    await worker.work()
    assert await house.states() == [RunState.DEAD]
    janitor = Janitor(house.store, house.settings)
    left = []
    for _ in range(2):
        house.clock.advance(2 * HOUR_S)
        await janitor.run_once()
        left.append(len(await house.memory.ledger.attempts(NS, key)))
    assert left == [1, 0]


async def test_kept_answers_do_not_pile_up_behind_quiet_runs() -> None:
    house = House(tidy_batch_max=4)
    for number in range(6):
        await house.memory.answers.begin(NS, "t1", str(number), "x", 60)
    house.clock.advance(KEPT_S)
    janitor = Janitor(house.store, house.settings)
    assert [await janitor.run_once() for _ in range(2)] == [0.0, house.settings.tidy_every_s]
    assert await house.memory.answers.sweep(0, 10) == 0


async def test_a_forgotten_tick_is_not_planned_again() -> None:
    house = House(retention_s=HOUR_S)
    await house.put("beat", every_s=10)
    planner = await leader(house)
    house.clock.advance(60)
    worker = WorkingNode(house, make_job(quiet))
    await worker.work()
    last = (await house.runs())[-1].fire_time
    house.clock.advance(HOUR_S + 1)
    await Janitor(house.store, house.settings).run_once()
    assert await house.runs() == []

    await planner.elector.run_once()
    await planner.planner.run_once()
    assert all(one.fire_time > last for one in await house.runs())


async def test_the_key_of_a_run_by_hand_is_never_forgotten() -> None:
    house = House(retention_s=HOUR_S)
    worker = WorkingNode(house, make_job(quiet))
    run_key = await house.enqueue("once")
    await worker.work()
    house.clock.advance(HOUR_S + 1)
    await Janitor(house.store, house.settings).run_once()
    await house.enqueue("once")
    assert (await house.run(run_key)).state is RunState.SUCCEEDED
    await worker.work()
    assert (await house.run(run_key)).attempt == 1


async def test_nodes_that_died_long_ago_are_struck_off() -> None:
    house = House()
    await house.memory.nodes.beat(Node(NodeId("gone"), "host", 1, plans=True, works=True), NodeReport(), 10)
    janitor = Janitor(house.store, house.settings)
    house.clock.advance(HOUR_S)
    await janitor.run_once()
    assert [row["node_id"] for row in rows_of(house.memory, NODES)] == ["gone"]
    house.clock.advance(11)
    await janitor.run_once()
    assert not rows_of(house.memory, NODES)


async def leader(house: House) -> PlanningNode:
    node = PlanningNode(house, "planner")
    await node.elector.run_once()
    await node.planner.run_once()
    return node
