"""A worker that stops while a claim is on its way, and runs that are stopped before their first step."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.model.run import RunState
from fencepost.services.active import StopCause
from tests.services.house import Bench, House, WorkingNode, make_job


async def test_a_claim_on_its_way_is_not_left_behind_by_a_stop() -> None:
    """Its runs are this worker's already; left alone they would wait for their rescue, one attempt poorer."""
    house = House()
    done: list[str] = []

    async def report() -> None:
        done.append("once")

    node = WorkingNode(house, make_job(report))
    await node.register()
    key = await house.enqueue("a")
    held = house.store.hold_answer("ledger.claim_direct")
    claiming = asyncio.create_task(node.worker.run_once())
    await held.reached.wait()

    stopping = asyncio.create_task(node.worker.stop(grace_s=5))
    await asyncio.sleep(0)
    assert not stopping.done()
    held.go.set()
    await asyncio.gather(claiming, stopping)
    await node.reported(0)

    assert done == ["once"]
    assert (await house.run(key)).state is RunState.SUCCEEDED


async def test_a_stopping_worker_does_not_claim() -> None:
    house = House()

    async def report() -> None:
        raise AssertionError("must not run")

    node = WorkingNode(house, make_job(report))
    await node.register()
    key = await house.enqueue("a")
    await node.worker.stop(grace_s=1)
    await node.worker.run_once()
    assert (await house.run(key)).state is RunState.READY


@pytest.mark.parametrize(
    ("cause", "state"),
    [
        (StopCause.REQUESTED, RunState.CANCELLED),
        (StopCause.SHUTDOWN, RunState.READY),
        (StopCause.LOST, RunState.RUNNING),
    ],
)
async def test_a_run_that_is_stopped_before_its_first_step_is_not_kept_alive_for_ever(
    cause: StopCause, state: RunState
) -> None:
    house, bench = House(), Bench()
    node = WorkingNode(house, make_job(bench))
    await node.register()
    key = await house.enqueue("a")
    await node.worker.run_once()
    (active,) = node.active
    active._stop(cause)
    await node.reported(0)
    assert (bench.begun, len(node.active), node.worker.busy) == ([], 0, 0)
    assert (await house.run(key)).state is state
