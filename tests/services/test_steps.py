"""A recorded step is not done again; one that could not be recorded is."""

from __future__ import annotations

import asyncio
import threading
from contextlib import nullcontext
from typing import Any, cast

import pytest

from fencepost.errors import RunLost, StepRefused, StoreUnavailable
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import JobName, NodeId
from fencepost.model.rescue import Rescue
from fencepost.model.run import Claim, Outcome, RunState
from fencepost.ports.run import Run
from fencepost.services import steps
from fencepost.services.run_context import LedgerRunContext, LedgerTransaction
from fencepost.services.steps import RECORD_TRIES_MAX, RESULT_BYTES_MAX, STEPS_MAX, Steps
from tests.services.house import NS, House, WorkingNode, make_job


async def begin(house: House, key: str | None = "1") -> Claim:
    """The next attempt of a run."""
    if key is not None:
        await house.enqueue(key)
    claim_request = ClaimRequest(NodeId("worker-1"), house.settings.queues, (JobName("report"),), 30)
    (claim,) = await house.memory.ledger.claim_direct(claim_request, 1)
    return claim


async def try_again(house: House, claim: Claim) -> Claim:
    """The attempt fails and the run is tried again."""
    outcome = Outcome(claim.ticket, RunState.READY, error="boom", retry_in_s=0.0)
    await house.memory.ledger.finish([outcome])
    return await begin(house, None)


class Shop:
    """Counts what it charges."""

    def __init__(self) -> None:
        self.charged = 0

    def charge(self) -> dict[str, Any]:
        self.charged += 1
        return {"id": self.charged, "parts": (1, 2)}

    async def charge_slowly(self) -> dict[str, Any]:
        await asyncio.sleep(0)
        return self.charge()


CHARGED = {"id": 1, "parts": [1, 2]}


async def test_a_step_is_not_done_again_by_the_next_attempt() -> None:
    house, shop = House(), Shop()
    first = await begin(house)
    assert await Steps(house.store, first.ticket).once("charge", shop.charge) == CHARGED
    second = await try_again(house, first)
    assert await Steps(house.store, second.ticket).once("charge", shop.charge) == CHARGED
    assert shop.charged == 1


async def test_a_step_may_be_async() -> None:
    house, shop = House(), Shop()
    claim = await begin(house)
    assert await Steps(house.store, claim.ticket).once("charge", shop.charge_slowly) == CHARGED


async def test_two_steps_of_one_name_do_not_differ() -> None:
    house, shop = House(), Shop()
    mine = Steps(house.store, (await begin(house)).ticket)
    both = await asyncio.gather(*(mine.once("charge", shop.charge_slowly) for _ in range(5)))
    assert both == [CHARGED] * 5
    assert shop.charged == 1
    assert len(house.store.arguments("steps.recorded")) == 1


async def test_a_crash_between_the_step_and_its_record_does_it_again() -> None:
    house, shop = House(), Shop()
    first = await begin(house)
    held = house.store.hold("steps.record")
    crashing = asyncio.create_task(Steps(house.store, first.ticket).once("charge", shop.charge))
    await held.reached.wait()
    crashing.cancel()
    await asyncio.wait({crashing})
    second = await try_again(house, first)
    assert (await Steps(house.store, second.ticket).once("charge", shop.charge))["id"] == 2
    assert shop.charged == 2


async def test_a_record_whose_answer_was_lost_does_not_do_the_step_again() -> None:
    house, shop = House(), Shop()
    first = await begin(house)
    house.store.fail_after("steps.record")
    assert await Steps(house.store, first.ticket).once("charge", shop.charge) == CHARGED
    assert shop.charged == 1


async def test_a_store_that_stays_away_does_not_hold_a_step_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(steps, "RECORD_FIRST_REST_S", 0.0)
    house, shop = House(), Shop()
    first = await begin(house)
    house.store.fail_before("steps.record", RECORD_TRIES_MAX)
    with pytest.raises(StoreUnavailable):
        await Steps(house.store, first.ticket).once("charge", shop.charge)
    assert shop.charged == 1


async def test_a_zombie_does_not_record() -> None:
    house, shop = House(), Shop()
    first = await begin(house)
    zombie = Steps(house.store, first.ticket)
    house.clock.advance(31)
    await house.memory.ledger.rescue([Rescue(first.ticket, RunState.READY, "silent")])
    second = await begin(house, None)
    with pytest.raises(RunLost, match="later attempt"):
        await zombie.once("charge", shop.charge)
    assert await house.memory.steps.recorded(NS, second.run_key) == {}


async def test_a_step_that_fails_is_not_recorded() -> None:
    house, shop = House(), Shop()
    mine = Steps(house.store, (await begin(house)).ticket)

    def fail() -> None:
        raise ConnectionError("no line")

    with pytest.raises(ConnectionError):
        await mine.once("charge", fail)
    assert await mine.once("charge", shop.charge) == CHARGED


@pytest.mark.parametrize(
    ("result", "complaint"),
    [
        (object(), "not JSON"),
        (float("nan"), "not JSON"),
        ({1, 2}, "not JSON"),
        ("x" * RESULT_BYTES_MAX, "bytes, at most"),
    ],
)
async def test_a_result_that_cannot_be_kept_is_not_recorded(result: object, complaint: str) -> None:
    house = House()
    claim = await begin(house)
    with pytest.raises(StepRefused, match=complaint):
        await Steps(house.store, claim.ticket).once("charge", lambda: result)
    assert await house.memory.steps.recorded(NS, claim.run_key) == {}


async def test_a_result_that_cannot_be_kept_is_not_tried_again() -> None:
    """The step was done: another attempt would do it once more."""
    house, done = House(), []

    def charge() -> object:
        done.append(1)
        return object()

    async def work(run: Run) -> None:
        await run.once("charge", charge)

    node = WorkingNode(house, make_job(work))
    await node.register()
    run_key = await house.enqueue("1")
    await node.work()
    run = await house.run(run_key)
    assert (run.state, len(done)) == (RunState.DEAD, 1)
    assert run.error is not None
    assert run.error.startswith('StepRefused: step "charge" was done, and its result is not JSON')


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\nb", 7])
async def test_a_name_that_cannot_be_kept_is_refused_before_the_step(name: Any) -> None:
    house, shop = House(), Shop()
    with pytest.raises(StepRefused):
        await Steps(house.store, (await begin(house)).ticket).once(name, shop.charge)
    assert shop.charged == 0


async def test_steps_do_not_grow_without_bound() -> None:
    house, shop = House(), Shop()
    first = await begin(house)
    mine = Steps(house.store, first.ticket)
    for number in range(STEPS_MAX):
        await mine.once(f"step {number}", shop.charge)
    with pytest.raises(StepRefused, match="100 recorded steps"):
        await mine.once("one more", shop.charge)
    assert shop.charged == STEPS_MAX
    assert (await mine.once("step 7", shop.charge))["id"] == 8


async def test_a_step_inside_itself_does_not_wait_for_ever() -> None:
    house = House()
    mine = Steps(house.store, (await begin(house)).ticket)

    async def inner() -> Any:
        return await mine.once("charge", lambda: 1)

    with pytest.raises(StepRefused, match="itself"):
        await mine.once("charge", inner)


async def test_a_step_inside_another_is_recorded_too() -> None:
    house = House()
    claim = await begin(house)
    mine = Steps(house.store, claim.ticket)

    async def inner() -> Any:
        return [await mine.once("inner", lambda: 1)]

    assert await mine.once("outer", inner) == [1]
    assert await house.memory.steps.recorded(NS, claim.run_key) == {"inner": "1", "outer": "[1]"}


async def test_a_step_of_a_plain_job_is_not_done_in_the_loop() -> None:
    house, where = House(), []
    claim = await begin(house)
    run = Run(claim, LedgerRunContext(house.store, claim.ticket, 5.0))

    def step() -> str:
        where.append(threading.current_thread())
        return "done"

    def job() -> list[Any]:
        return [run.once("charge", step), run.once("charge", step), threading.current_thread()]

    first, again, thread = await asyncio.to_thread(job)
    assert (first, again, where) == ("done", "done", [thread])
    assert thread is not threading.current_thread()


@pytest.mark.parametrize("error", [ConnectionError("no line"), StopIteration(), KeyError("x")])
async def test_a_step_that_fails_in_a_thread_does_not_hang_it(error: Exception) -> None:
    house = House()
    claim = await begin(house)
    run = Run(claim, LedgerRunContext(house.store, claim.ticket, 5.0))

    def step() -> None:
        raise error

    def job() -> Any:
        with pytest.raises((type(error), RuntimeError)):
            run.once("charge", step)
        return run.once("charge", lambda: 2)

    async with asyncio.timeout(10):
        assert await asyncio.to_thread(job) == 2


async def test_a_plain_job_may_have_an_async_step() -> None:
    house, shop = House(), Shop()
    claim = await begin(house)
    run = Run(claim, LedgerRunContext(house.store, claim.ticket, 5.0))
    assert await asyncio.to_thread(run.once, "charge", shop.charge_slowly) == CHARGED


async def test_a_step_inside_a_transaction_is_refused_before_it_is_done() -> None:
    """The transaction has the run locked: the record would wait for it, and it for the record."""
    house, shop = House(), Shop()
    claim = await begin(house)
    run_context = LedgerRunContext(house.store, claim.ticket, 5.0)
    run, opened = Run(claim, run_context), nullcontext()
    async with LedgerTransaction(run_context, cast("Any", opened), complete=False):
        with pytest.raises(StepRefused, match="before the transaction"):
            await run.once("charge", shop.charge)
    assert shop.charged == 0
    assert await run.once("charge", shop.charge) == CHARGED


async def test_a_refused_name_does_not_hang_a_thread() -> None:
    house, shop = House(), Shop()
    claim = await begin(house)
    run = Run(claim, LedgerRunContext(house.store, claim.ticket, 5.0))
    with pytest.raises(StepRefused):
        await asyncio.to_thread(run.once, "", shop.charge)
