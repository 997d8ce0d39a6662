"""Who may say that an attempt succeeded: its return, or, once the marker is handed over, the commit."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from fencepost import Run
from fencepost.model.run import RunState
from fencepost.testing.conformance.builders import NS
from tests.chaos.fleet import eventually
from tests.services.house import until
from tests.transactions.drivers import Hand
from tests.transactions.ground import Ground
from tests.transactions.hands import Hands, awaited_driver

INSERT = "INSERT INTO sent VALUES (%s, %s)"
LOCKED_S = 3.0
"""Less than the ledger itself waits for a row."""


async def test_a_return_after_a_rolled_back_marker_is_no_success(ground: Ground) -> None:
    opened = awaited_driver(ground)

    async def job(run: Run) -> str:
        async with opened(ground.url) as hand:
            await hand.insert(run.key, run.fence)
            await run.complete_in(hand.connection)
            await hand.rollback()
        return "done"

    run_key = await Hands(ground, job).do()
    record = await ground.record(run_key)
    assert (record.state, await ground.sent()) == (RunState.READY, [])
    assert record.error is not None
    assert record.error.startswith("NotCommitted")
    (attempt,) = await ground.store.ledger.attempts(NS, run_key)
    assert attempt.outcome == "failed"


async def test_a_return_after_a_committed_marker_is_one_success(ground: Ground) -> None:
    opened = awaited_driver(ground)

    async def job(run: Run) -> None:
        async with opened(ground.url) as hand:
            await hand.insert(run.key, run.fence)
            await run.complete_in(hand.connection, {"sent": 1})
            await hand.commit()

    run_key = await Hands(ground, job).do()
    assert (await ground.state(run_key), len(await ground.sent())) == (RunState.SUCCEEDED, 1)
    (attempt,) = await ground.store.ledger.attempts(NS, run_key)
    assert attempt.output == '{"sent": 1}'


async def test_an_error_after_the_commit_does_not_undo_the_success(ground: Ground) -> None:
    async def job(run: Run) -> None:
        async with run.transaction() as tx:
            await tx.execute(INSERT, (run.key, run.fence))
        raise ConnectionError("the mail server is away")

    hands = Hands(ground, job)
    run_key = await hands.do()
    record = await ground.record(run_key)
    assert (record.state, record.error, record.attempt) == (RunState.SUCCEEDED, None, 1)
    assert len(await ground.sent()) == 1
    assert (hands.reporter.settled, len(hands.active)) == (1, 0)


async def test_an_error_after_a_committed_marker_of_ones_own_does_not_undo_the_success(
    ground: Ground,
) -> None:
    opened = awaited_driver(ground)

    async def job(run: Run) -> None:
        async with opened(ground.url) as hand:
            await run.complete_in(hand.connection)
            await hand.commit()
        raise ConnectionError("the mail server is away")

    run_key = await Hands(ground, job).do()
    assert await ground.state(run_key) is RunState.SUCCEEDED


async def test_an_error_inside_of_the_transaction_leaves_nothing_and_is_tried_again(ground: Ground) -> None:
    async def job(run: Run) -> None:
        async with run.transaction() as tx:
            await tx.execute(INSERT, (run.key, run.fence))
            raise ConnectionError("no")

    run_key = await Hands(ground, job).do()
    record = await ground.record(run_key)
    assert (record.state, await ground.sent()) == (RunState.READY, [])
    assert record.error == "ConnectionError: no"


async def test_a_job_may_go_on_without_a_transaction_that_failed(ground: Ground) -> None:
    """Nothing was handed over, so its return says that it succeeded."""

    async def job(run: Run) -> str:
        try:
            async with run.transaction() as tx:
                await tx.execute("INSERT INTO nowhere VALUES (%s)", (1,))
        except Exception:
            return "without"
        return "with"

    run_key = await Hands(ground, job).do()
    assert await ground.state(run_key) is RunState.SUCCEEDED
    (attempt,) = await ground.store.ledger.attempts(NS, run_key)
    assert attempt.output == "without"


@pytest.mark.parametrize("own", [False, True], ids=["the-ledgers", "its-own"])
async def test_a_heartbeat_does_not_stop_a_run_whose_transaction_has_committed(
    ground: Ground, own: bool
) -> None:
    """The run has ended, so it is nobody's any more; what its function does after that is its own."""
    opened, committed, go = awaited_driver(ground), asyncio.Event(), asyncio.Event()
    ended: list[str] = []

    async def job(run: Run) -> None:
        if own:
            async with opened(ground.url) as hand:
                await run.complete_in(hand.connection)
                await hand.commit()
        else:
            async with run.transaction() as tx:
                await tx.execute(INSERT, (run.key, run.fence))
        committed.set()
        await go.wait()
        ended.append("cancelled" if run.cancelled else "in peace")

    hands = Hands(ground, job)
    (run_key,) = await hands.begin("one")
    await asyncio.wait_for(committed.wait(), 30)
    await hands.heartbeat.run_once()
    go.set()
    await hands.reported()
    assert (ended, await ground.state(run_key)) == (["in peace"], RunState.SUCCEEDED)


@pytest.mark.postgres
async def test_a_report_in_doubt_does_not_hold_up_others_while_its_row_is_locked(on_postgres: Ground) -> None:
    """A job may return and leave its transaction open: nobody else is to wait for it."""
    ground, opened, go = on_postgres, awaited_driver(on_postgres), asyncio.Event()
    left_open, exits = list[Hand](), AsyncExitStack()

    async def job(run: Run) -> None:
        if run.key.endswith("#locked"):
            left_open.append(hand := await exits.enter_async_context(opened(ground.url)))
            await run.complete_in(hand.connection)
        else:
            await go.wait()

    hands = Hands(ground, job)
    locked, other = await hands.begin("locked", "other")
    async with hands.reporting():
        await until(lambda: len(hands.worker._tasks) == 1)
        await until(lambda: hands.reporter.backlog == 1)
        go.set()

        async def is_reported() -> bool:
            return await ground.state(other) is RunState.SUCCEEDED

        await eventually(is_reported, "the other is reported", LOCKED_S)
        assert hands.reporter.backlog == 1
        await left_open[0].commit()
        await asyncio.wait_for(hands.reporter.done(), 30)
    assert await ground.state(locked) is RunState.SUCCEEDED
    await exits.aclose()


@pytest.mark.postgres
@pytest.mark.parametrize("end", ["commit", "rollback"])
async def test_what_a_job_left_open_is_told_by_how_it_ends(on_postgres: Ground, end: str) -> None:
    """The report in doubt waits for the row, and finds it as the transaction left it."""
    ground, opened = on_postgres, awaited_driver(on_postgres)
    left_open, exits = list[Hand](), AsyncExitStack()

    async def job(run: Run) -> None:
        left_open.append(hand := await exits.enter_async_context(opened(ground.url)))
        await run.complete_in(hand.connection)

    hands = Hands(ground, job)
    (run_key,) = await hands.begin("one")
    await until(lambda: not hands.worker._tasks)
    async with hands.reporting():
        await getattr(left_open[0], end)()
        await asyncio.wait_for(hands.reporter.done(), 30)
    wanted = RunState.SUCCEEDED if end == "commit" else RunState.READY
    assert await ground.state(run_key) is wanted
    await exits.aclose()
