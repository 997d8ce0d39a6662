"""`run.transaction()`: the job's writes and the success marker are there together, or neither is."""

import asyncio
import threading
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import pytest

from fencepost.clock import SystemClock
from fencepost.config import Settings
from fencepost.errors import RunLost, StoreUnavailable, TimedOut, UsageError
from fencepost.model.rescue import Rescue
from fencepost.model.run import Outcome, Receipt, RunState
from fencepost.ports.run import Run
from fencepost.services.run_context import LedgerRunContext
from fencepost.wiring import open_store
from tests.integration.waiting import PAUSE_S, TRIES, until
from tests.transactions.ground import Ground

INSERT = "INSERT INTO sent VALUES (%s, %s)"


async def test_what_the_job_wrote_and_the_marker_are_there_together(ground: Ground) -> None:
    run = ground.run(claim := await ground.claimed())
    async with run.transaction() as tx:
        assert await tx.execute(INSERT, (run.key, run.fence)) == 1
        assert await ground.sent() == []
    assert await ground.sent() == [(run.key, run.fence)]
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


async def test_a_job_that_fails_leaves_neither(ground: Ground) -> None:
    run = ground.run(claim := await ground.claimed())

    async def job() -> None:
        async with run.transaction() as tx:
            await tx.execute(INSERT, (run.key, run.fence))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await job()
    assert (await ground.sent(), await ground.state(claim.run_key)) == ([], RunState.RUNNING)


async def test_an_attempt_that_lost_its_run_does_not_even_begin(ground: Ground) -> None:
    stale = await ground.claimed(alive_for_s=0.0)
    heir = await ground.superseded(stale)
    with pytest.raises(RunLost):
        async with ground.run(stale).transaction() as tx:
            await tx.execute(INSERT, (stale.run_key, stale.fence))
    async with ground.run(heir).transaction() as tx:
        await tx.execute(INSERT, (heir.run_key, heir.fence))
    assert await ground.sent() == [(heir.run_key, heir.fence)]


async def test_a_run_is_completed_once(ground: Ground) -> None:
    run = ground.run(await ground.claimed())
    async with run.transaction() as tx:
        await tx.execute(INSERT, (run.key, 1))
    with pytest.raises(RunLost):
        async with run.transaction() as tx:
            await tx.execute(INSERT, (run.key, 2))
    assert await ground.sent() == [(run.key, 1)]


async def test_a_transaction_that_does_not_complete_is_one_of_several(ground: Ground) -> None:
    run = ground.run(claim := await ground.claimed())
    for number in (1, 2):
        async with run.transaction(complete=False) as tx:
            await tx.execute(INSERT, (run.key, number))
    assert await ground.state(claim.run_key) is RunState.RUNNING
    async with run.transaction() as tx:
        await tx.execute(INSERT, (run.key, 3))
    assert len(await ground.sent()) == 3
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


async def test_statements_read_alike_on_every_store(ground: Ground) -> None:
    run = ground.run(await ground.claimed())
    async with run.transaction() as tx:
        await tx.execute_many(INSERT, [("a", 1), ("b", 2), ("c", 3)])
        named = {"least": 2}
        rows = await tx.fetch("SELECT * FROM sent WHERE fence >= %(least)s ORDER BY fence", named)
        assert [dict(row) for row in rows] == [{"run_key": "b", "fence": 2}, {"run_key": "c", "fence": 3}]
        assert await tx.fetch_one("SELECT fence FROM sent WHERE run_key = %s", ("z",)) is None
        assert await tx.fetch_value("SELECT count(*) FROM sent WHERE run_key LIKE '%%' || %s", ("a",)) == 1
        assert await tx.fetch_value("SELECT 10 % 3") == 1
        assert await tx.execute("UPDATE sent SET fence = 9 WHERE fence > %s", (1,)) == 2
        with pytest.raises(UsageError, match="2 places for 1"):
            await tx.execute(INSERT, ("a",))
        with pytest.raises(UsageError, match="no parameter 'x'"):
            await tx.fetch("SELECT %(x)s", {"y": 1})


async def test_a_moment_is_kept_and_found_again(ground: Ground) -> None:
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    run = ground.run(await ground.claimed())
    kind = "text" if ground.url.startswith("sqlite") else "timestamptz"
    async with run.transaction(complete=False) as tx:
        await tx.execute(f"CREATE TABLE months (month {kind})")
        await tx.execute("INSERT INTO months VALUES (%s)", (moment,))
        assert await tx.fetch_value("SELECT count(*) FROM months WHERE month = %s", (moment,)) == 1


async def test_the_runs_result_is_the_ledgers_business_when_a_report_comes_later(ground: Ground) -> None:
    """A worker that did not hear of the commit reports a failure; the success stands."""
    run = ground.run(claim := await ground.claimed())
    async with run.transaction() as tx:
        await tx.execute(INSERT, (run.key, 1))
    late = Outcome(claim.ticket, RunState.READY, error="no answer", retry_in_s=0.0)
    assert list(await ground.store.ledger.finish([late])) == [Receipt.REPEATED]
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


@pytest.mark.postgres
async def test_a_run_in_its_transaction_is_not_rescued_and_does_not_stop_other_heartbeats(
    on_postgres: Ground,
) -> None:
    ground = on_postgres
    silent = await ground.claimed("silent", alive_for_s=0.0)
    other = await ground.claimed("other")
    async with ground.run(silent).transaction() as tx:
        await tx.execute(INSERT, ("x", 1))
        ledger = ground.store.ledger
        assert list(await ledger.rescue([Rescue(silent.ticket, RunState.READY, "silent")])) == [
            Receipt.REFUSED
        ]
        pulses = await ledger.pulse([silent.ticket, other.ticket], 30.0)
        assert [one.owned for one in pulses] == [True, True]
    assert await ground.state(silent.run_key) is RunState.SUCCEEDED


@pytest.mark.postgres
async def test_a_run_that_goes_on_after_a_long_transaction_does_not_look_silent(on_postgres: Ground) -> None:
    silent = await on_postgres.claimed(alive_for_s=0.0)
    async with on_postgres.run(silent).transaction(complete=False) as tx:
        await tx.execute(INSERT, ("x", 1))
    rescue = Rescue(silent.ticket, RunState.READY, "silent")
    assert list(await on_postgres.store.ledger.rescue([rescue])) == [Receipt.REFUSED]


@pytest.mark.postgres
async def test_a_transaction_left_idle_is_ended_by_the_server(on_postgres: Ground) -> None:
    claim = await on_postgres.claimed()
    run = Run(claim, LedgerRunContext(on_postgres.store, claim.ticket, 0.2))

    async def job() -> None:
        async with run.transaction() as tx:
            await tx.execute(INSERT, ("x", 1))
            backend = await tx.fetch_value("SELECT pg_backend_pid()")
            await until(lambda: is_gone(on_postgres.url, backend))

    with pytest.raises(StoreUnavailable):
        await job()
    assert (await on_postgres.sent(), await on_postgres.state(claim.run_key)) == ([], RunState.RUNNING)


async def is_gone(url: str, backend: int) -> bool:
    """Whether the server has ended that session of its own."""
    connection = await asyncpg.connect(url)
    try:
        sql = "SELECT NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = $1)"
        return bool(await connection.fetchval(sql, backend))
    finally:
        await connection.close()


async def test_a_transaction_on_sqlite_cannot_hold_all_others_up(on_sqlite: Ground) -> None:
    claim = await on_sqlite.claimed()
    run = Run(claim, LedgerRunContext(on_sqlite.store, claim.ticket, 0.2))

    async def job() -> None:
        async with run.transaction() as tx:
            for number in range(TRIES):
                await tx.execute(INSERT, ("x", number))
                await asyncio.sleep(PAUSE_S)

    with pytest.raises(TimedOut, match="every other write waits for it"):
        await job()
    assert (await on_sqlite.sent(), await on_sqlite.state(claim.run_key)) == ([], RunState.RUNNING)


async def test_on_sqlite_a_block_does_not_wait_for_itself(on_sqlite: Ground) -> None:
    run = on_sqlite.run(claim := await on_sqlite.claimed())
    async with run.transaction() as tx:
        with pytest.raises(UsageError, match="connection=tx"):
            await on_sqlite.store.ledger.pulse([claim.ticket], 30.0)
        await tx.execute(INSERT, (run.key, run.fence))
    await on_sqlite.store.ledger.pulse([claim.ticket], 30.0)
    assert await on_sqlite.sent() == [(run.key, run.fence)]


async def test_on_sqlite_the_same_database_under_another_name_is_known(
    on_sqlite: Ground, tmp_path: Path
) -> None:
    run = on_sqlite.run(claim := await on_sqlite.claimed())
    linked = tmp_path / "linked"
    linked.symlink_to(tmp_path)
    other = await open_store(Settings(store=f"sqlite:///{linked / 'ledger.db'}"), SystemClock())
    async with run.transaction(complete=False):
        with pytest.raises(UsageError, match="connection=tx"):
            await other.ledger.pulse([claim.ticket], 30.0)
    await other.close()


async def test_on_sqlite_a_block_of_a_plain_function_does_not_either(on_sqlite: Ground) -> None:
    run = on_sqlite.run(claim := await on_sqlite.claimed())
    loop = asyncio.get_running_loop()

    def pulse() -> object:
        work = on_sqlite.store.ledger.pulse([claim.ticket], 30.0)
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    def job() -> None:
        with run.transaction(complete=False), pytest.raises(UsageError, match="connection=tx"):
            pulse()
        pulse()

    await asyncio.to_thread(job)


async def test_a_plain_function_has_the_same_in_its_thread(ground: Ground) -> None:
    run = ground.run(claim := await ground.claimed())

    def job() -> int:
        with run.transaction() as tx:
            tx.execute(INSERT, (run.key, run.fence))
            return int(tx.fetch_value("SELECT count(*) FROM sent"))

    assert await asyncio.to_thread(job) == 1
    assert await ground.sent() == [(run.key, run.fence)]
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


async def test_a_step_of_a_plain_function_is_done_in_its_own_thread(ground: Ground) -> None:
    run = ground.run(claim := await ground.claimed())
    homes: list[int] = []

    def step() -> int:
        homes.append(threading.get_ident())
        return 7

    def job() -> tuple[int, int, int]:
        return run.once("step", step), run.once("step", step), threading.get_ident()

    first, second, home = await asyncio.to_thread(job)
    assert (first, second, homes) == (7, 7, [home])
    again = ground.run(claim)
    assert await again.once("step", lambda: 8) == 7


async def test_a_step_of_a_plain_function_that_fails_is_not_recorded(ground: Ground) -> None:
    run = ground.run(await ground.claimed())

    def job() -> int:
        with pytest.raises(ZeroDivisionError):
            run.once("step", lambda: 1 // 0)
        return int(run.once("step", lambda: 9))

    assert await asyncio.to_thread(job) == 9
