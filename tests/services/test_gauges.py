"""The gauges read the ledger while somebody listens, and say what it says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fencepost.core.completeness import OPEN_AFTER_S
from fencepost.errors import PermanentFailure, StoreUnavailable
from fencepost.model.audit import PROGRAM
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.run import RunState
from fencepost.operations.control import Control
from fencepost.services.gauges import REST_PER_READING, Gauges
from fencepost.telemetry.events import Event, LedgerMeasured, Share, listen
from tests.services.house import NS, Bench, House, PlanningNode, WorkingNode, make_job, until


@pytest.fixture
def heard() -> Iterator[list[LedgerMeasured]]:
    found: list[LedgerMeasured] = []

    def hear(event: Event) -> None:
        if isinstance(event, LedgerMeasured):
            found.append(event)

    unlisten = listen(hear)
    yield found
    unlisten()


def gauges(house: House) -> Gauges:
    return Gauges(house.store, house.settings, house.clock)


async def test_without_a_listener_the_store_is_not_asked() -> None:
    house = House()
    assert await gauges(house).run_once() == house.settings.gauges_every_s
    assert house.store.calls == []


async def test_an_empty_ledger_is_complete_and_owes_no_run(heard: list[LedgerMeasured]) -> None:
    house = House(shards=4)
    await gauges(house).run_once()
    (found,) = heard
    assert (found.accounted, found.queues) == ({}, {})
    assert (found.burn_rates, found.budget_left) == ({"1h": 0.0, "6h": 0.0}, 1.0)
    assert (found.dead, found.gates_closed, found.stuck) == (0, 0, 0)
    assert (found.shards, found.shards_unled, found.planners, found.workers) == (4, 4, 0, 0)


async def test_jobs_that_have_nothing_due_are_complete(heard: list[LedgerMeasured]) -> None:
    house = House()
    await WorkingNode(house, make_job(lambda: None)).register()
    await gauges(house).run_once()
    assert heard[0].accounted == {"report": Share(0, 0)}
    assert heard[0].accounted[make_job(lambda: None).spec.name].ratio == 1.0


async def test_what_the_ledger_says_is_told(heard: list[LedgerMeasured]) -> None:
    house = House(shards=2)

    def refuse() -> None:
        raise PermanentFailure("no")

    bench = Bench()
    node = WorkingNode(house, make_job(refuse), make_job(bench, "long"))
    await node.register()
    await house.enqueue("1")
    await house.enqueue("2", "long")
    await node.worker.run_once()
    await until(lambda: bool(bench.begun))
    await node.reported(1)
    for number in range(4):
        await house.enqueue(f"waits-{number}")
    house.clock.advance(OPEN_AFTER_S + 1)
    await PlanningNode(house, "alice").elector.run_once()
    await gauges(house).run_once()
    (found,) = heard
    assert found.accounted == {"report": Share(1, 5), "long": Share(0, 1)}
    assert found.complete == {"report": Share(0, 5), "long": Share(0, 1)}
    assert found.burn_rates == {"1h": 5.0, "6h": 5.0}
    assert found.budget_left == -4.0
    assert (found.dead, found.stuck) == (1, 1)
    (queue,) = found.queues.values()
    assert (queue.ready, queue.running, queue.oldest_s) == (4, 1, OPEN_AFTER_S + 1)
    assert (found.shards, found.shards_unled, found.planners) == (2, 0, 1)
    bench.finish.set()
    await node.reported(0)
    assert RunState.DEAD in await house.states()


async def test_what_became_due_a_moment_ago_spends_no_budget(heard: list[LedgerMeasured]) -> None:
    house = House()
    for number in range(15):
        await house.enqueue(f"fresh-{number}")
    house.clock.advance(OPEN_AFTER_S)
    await gauges(house).run_once()
    assert (heard[0].burn_rates, heard[0].budget_left) == ({"1h": 0.0, "6h": 0.0}, 1.0)


async def test_a_freeze_spends_no_budget(heard: list[LedgerMeasured]) -> None:
    house = House()
    await house.put("beat", every_s=10)
    planning = PlanningNode(house, "alice")
    await planning.elector.run_once()
    await planning.planner.run_once()
    control = Control(house.store, NS)
    await control.store.freezes.freeze(NS, Scope(ScopeKind.SCHEDULE, "beat"), PROGRAM)
    house.clock.advance(3 * OPEN_AFTER_S)
    await gauges(house).run_once()
    assert heard[0].budget_left == 1.0
    await control.store.freezes.thaw(NS, Scope(ScopeKind.SCHEDULE, "beat"), PROGRAM)
    await gauges(house).run_once()
    assert heard[1].budget_left < 0


async def test_shards_that_are_no_more_are_not_counted_as_led(heard: list[LedgerMeasured]) -> None:
    house = House(shards=4)
    await PlanningNode(house, "alice").elector.run_once()
    await house.store.epochs.reshard(2, NS, PROGRAM)
    await gauges(house).run_once()
    assert (heard[0].shards, heard[0].shards_unled) == (2, 0)


async def test_a_reading_that_takes_long_is_made_less_often(heard: list[LedgerMeasured]) -> None:
    house = House()
    slow = house.memory.ledger.attention

    async def attention(*arguments: object) -> object:
        house.clock.advance(6)
        return await slow(*arguments)  # type: ignore[arg-type]

    house.memory.ledger.attention = attention  # type: ignore[method-assign, assignment]
    assert await gauges(house).run_once() == pytest.approx(6 * REST_PER_READING)
    assert heard[0].took_s == pytest.approx(6)


async def test_a_store_that_is_away_tells_nothing(heard: list[LedgerMeasured]) -> None:
    house = House()
    house.store.fail_before("ledger.tally_by_job")
    with pytest.raises(StoreUnavailable):
        await gauges(house).run_once()
    assert not heard
