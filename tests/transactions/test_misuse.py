"""What jobs do wrong with transactions, or meet with their connections, and what must not come of it."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from fencepost import Fencepost
from fencepost.errors import RunLost, StoreUnavailable, TimedOut, UnfitConnection, UsageError
from fencepost.model.identifiers import RunKey
from fencepost.model.rescue import Rescue
from fencepost.model.run import Outcome, Receipt, RunState
from fencepost.ports.run import Run
from fencepost.services.run_context import LedgerRunContext
from tests.transactions.drivers import ON_POSTGRES
from tests.transactions.ground import Ground

INSERT = "INSERT INTO sent VALUES (%s, %s)"

postgres = pytest.mark.postgres


async def test_a_transaction_inside_another_is_refused_instead_of_waiting_for_itself(ground: Ground) -> None:
    run = ground.run(claim := await ground.claimed())
    async with run.transaction() as tx:
        with pytest.raises(UsageError, match="open already"):
            run.transaction()
        await tx.execute(INSERT, (run.key, 1))
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


@pytest.mark.parametrize("ending", ["ROLLBACK", "COMMIT"])
async def test_a_job_that_ends_the_transaction_by_itself_has_not_succeeded(
    ground: Ground, ending: str
) -> None:
    run = ground.run(claim := await ground.claimed())

    async def job() -> None:
        async with run.transaction() as tx:
            await tx.execute(INSERT, (run.key, 1))
            await tx.execute(ending)

    with pytest.raises(UsageError, match="inside the block"):
        await job()
    assert await ground.state(claim.run_key) is RunState.RUNNING


@postgres
async def test_a_job_that_begins_another_transaction_in_its_place_has_not_succeeded(
    on_postgres: Ground,
) -> None:
    run = on_postgres.run(claim := await on_postgres.claimed())

    async def job() -> None:
        async with run.transaction() as tx:
            await tx.connection.execute("ROLLBACK; BEGIN")

    with pytest.raises(UsageError, match="inside the block"):
        await job()
    assert await on_postgres.state(claim.run_key) is RunState.RUNNING


async def test_an_async_job_that_writes_with_instead_of_async_with_is_told(ground: Ground) -> None:
    run = ground.run(await ground.claimed())
    with pytest.raises(UsageError, match="async with"), run.transaction():
        raise AssertionError("the block must not be entered")


@postgres
async def test_nothing_that_one_job_has_set_is_there_for_the_next(on_postgres: Ground) -> None:
    first = on_postgres.run(await on_postgres.claimed("1"))
    async with first.transaction() as tx:
        await tx.execute("SET search_path TO nowhere")
        await tx.execute("SET statement_timeout TO 12345")
        await tx.execute("SELECT pg_advisory_lock(7)")
    second = on_postgres.run(await on_postgres.claimed("2"))
    async with second.transaction() as tx:
        assert "nowhere" not in await tx.fetch_value("SHOW search_path")
        assert await tx.fetch_value("SHOW statement_timeout") == "0"
        assert (
            await tx.fetch_value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7")
            == 0
        )


@postgres
async def test_a_run_whose_transaction_was_rolled_back_does_not_look_silent(on_postgres: Ground) -> None:
    silent = await on_postgres.claimed(alive_for_s=0.0)

    async def job() -> None:
        async with on_postgres.run(silent).transaction():
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await job()
    rescue = Rescue(silent.ticket, RunState.READY, "silent")
    assert list(await on_postgres.store.ledger.rescue([rescue])) == [Receipt.REFUSED]


@postgres
async def test_a_caller_that_stalls_after_complete_in_does_not_keep_its_run_for_ever(
    on_postgres: Ground,
) -> None:
    from psycopg import AsyncConnection

    run = on_postgres.run(await on_postgres.claimed())
    async with await AsyncConnection.connect(on_postgres.url) as connection:
        await run.complete_in(connection)
        shown = await (await connection.execute("SHOW idle_in_transaction_session_timeout")).fetchone()
        assert shown == ("5s",)
        await connection.rollback()
        shown = await (await connection.execute("SHOW idle_in_transaction_session_timeout")).fetchone()
        assert shown == ("0",)


@postgres
async def test_rows_come_as_the_ledger_needs_them_whatever_the_callers_row_factory(
    on_postgres: Ground,
) -> None:
    import psycopg
    from psycopg.rows import dict_row

    run = on_postgres.run(claim := await on_postgres.claimed())
    with psycopg.connect(on_postgres.url, row_factory=dict_row) as connection:
        run.complete_in(connection)
        connection.commit()
    assert await on_postgres.state(claim.run_key) is RunState.SUCCEEDED


def committing_one_by_one(url: str) -> Any:
    import psycopg

    return psycopg.connect(url, autocommit=True)


def alchemical_autocommit(url: str) -> Any:
    from sqlalchemy import NullPool, create_engine

    address = f"postgresql+psycopg://{url.partition('://')[2]}"
    return create_engine(address, connect_args={"autocommit": True}, poolclass=NullPool).connect()


@postgres
@pytest.mark.parametrize(
    ("opened", "said"),
    [
        (committing_one_by_one, "not in a transaction"),
        (alchemical_autocommit, "autocommit"),
    ],
)
async def test_a_connection_that_holds_nothing_together_is_refused(
    on_postgres: Ground, opened: Callable[[str], Any], said: str
) -> None:
    run = on_postgres.run(await on_postgres.claimed())
    connection = opened(on_postgres.url)
    try:
        with pytest.raises(UnfitConnection, match=said):
            run.complete_in(connection)
    finally:
        connection.close()


@postgres
async def test_a_connection_in_pipeline_mode_is_refused(on_postgres: Ground) -> None:
    import psycopg

    run = on_postgres.run(await on_postgres.claimed())
    with (
        psycopg.connect(on_postgres.url) as connection,
        connection.pipeline(),
        pytest.raises(UnfitConnection, match="pipeline mode"),
    ):
        run.complete_in(connection)


@postgres
async def test_a_connection_to_a_database_without_a_ledger_is_refused_in_one_line(
    on_postgres: Ground, empty_postgres_url: str
) -> None:
    import psycopg

    app = Fencepost(on_postgres.url)
    app.job("report")(lambda: None)
    with psycopg.connect(empty_postgres_url) as connection:
        with pytest.raises(UnfitConnection, match="no ledger in its database"):
            app.enqueue_in(connection, "report")
        connection.rollback()
    app.retire()


@postgres
async def test_django_does_not_take_a_spoiled_block_for_committed(on_postgres: Ground) -> None:
    stale = await on_postgres.claimed(alive_for_s=0.0)
    await on_postgres.superseded(stale)
    told: list[str] = []
    async with ON_POSTGRES["django"](on_postgres.url) as hand:
        hand.connection.on_commit(lambda: told.append("committed"))
        with pytest.raises(RunLost):
            on_postgres.run(stale).complete_in(hand.connection)
        await hand.commit()
    assert told == []


async def test_what_a_plain_function_enqueues_with_its_tx_needs_no_await(ground: Ground) -> None:
    run = ground.run(await ground.claimed())
    app = Fencepost(ground.url)
    app.job("report")(lambda: None)

    def job() -> str:
        with run.transaction() as tx:
            app.enqueue("report", key="0", connection=tx)  # type: ignore[unused-coroutine]
            return app.enqueue_in(tx, "report", key="1")

    keys = RunKey("report#0"), RunKey(await asyncio.to_thread(job))
    assert [(await ground.record(one)).state for one in keys] == [RunState.READY, RunState.READY]
    app.retire()


async def test_what_an_attempt_left_open_when_it_timed_out_is_broken_off(ground: Ground) -> None:
    """Its thread cannot be killed; its transaction can, and nobody waits for it."""
    claim = await ground.claimed()
    run_context = LedgerRunContext(ground.store, claim.ticket, 30.0)
    run = Run(claim, run_context)
    entered, let_go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def job() -> None:
        with run.transaction() as tx:
            tx.execute(INSERT, (run.key, 1))
            loop.call_soon_threadsafe(entered.set)
            let_go.wait(60)

    working = asyncio.create_task(asyncio.to_thread(job))
    await entered.wait()
    assert run_context.is_in_doubt
    run_context.abandon()
    late = Outcome(claim.ticket, RunState.READY, error="TimedOut", retry_in_s=0.0)
    assert list(await ground.store.ledger.finish([late])) == [Receipt.ACCEPTED]
    let_go.set()
    with pytest.raises((StoreUnavailable, UsageError, TimedOut)):
        await working
    assert (await ground.sent(), await ground.state(claim.run_key)) == ([], RunState.READY)
