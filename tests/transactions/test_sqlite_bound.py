"""A job's transaction on SQLite, for which every other write waits: its bound, and what it cannot stop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import copy_context
from pathlib import Path

import apsw
import pytest

from fencepost.errors import StoreReplaced, TimedOut
from fencepost.model.run import Claim, RunState
from fencepost.ports.run import Run
from fencepost.services.run_context import LedgerRunContext
from fencepost.stores.sqlite import guest, opening
from fencepost.stores.sqlite.opening import connect
from tests.services.house import until
from tests.transactions.ground import Ground

INSERT = "INSERT INTO sent VALUES (%s, %s)"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
BOUND_S = 0.5
PATIENCE_S = 5.0
"""Half of the time for which a writer waits for the lock, and much more than anything here takes."""


def bounded(ground: Ground, claim: Claim) -> Run:
    return Run(claim, LedgerRunContext(ground.store, claim.ticket, BOUND_S))


@asynccontextmanager
async def locked(ground: Ground) -> AsyncIterator[None]:
    """Somebody else has the write lock."""
    other = apsw.Connection(ground.url.removeprefix("sqlite:///"))
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close(True)


async def test_at_the_bound_others_write_though_the_job_sleeps_in_its_block(on_sqlite: Ground) -> None:
    other = await on_sqlite.claimed("other")
    claim = await on_sqlite.claimed()
    run, entered, go = bounded(on_sqlite, claim), asyncio.Event(), asyncio.Event()

    async def job() -> None:
        async with run.transaction() as tx:
            await tx.execute(INSERT, ("x", 1))
            entered.set()
            await go.wait()
            await tx.execute(INSERT, ("y", 1))

    working = asyncio.create_task(job())
    await entered.wait()
    async with asyncio.timeout(PATIENCE_S):
        (pulse,) = await on_sqlite.store.ledger.pulse([other.ticket], 30.0)
    assert (pulse.owned, working.done()) == (True, False)
    go.set()
    with pytest.raises(TimedOut, match=r"more than 0\.5s"):
        await working
    assert (await on_sqlite.sent(), await on_sqlite.state(claim.run_key)) == ([], RunState.RUNNING)


async def test_a_job_that_blocks_the_event_loop_does_not_keep_the_lock(on_sqlite: Ground) -> None:
    run = bounded(on_sqlite, claim := await on_sqlite.claimed())
    other = apsw.Connection(on_sqlite.url.removeprefix("sqlite:///"))
    other.set_busy_timeout(round(PATIENCE_S * 1000))

    async def job() -> None:
        async with run.transaction() as tx:
            await tx.execute(INSERT, ("x", 1))
            # In this very thread: the loop stands still until somebody else could write.
            other.execute("INSERT INTO sent VALUES ('other', 1)")

    with pytest.raises(TimedOut):
        await job()
    other.close()
    assert await on_sqlite.sent() == [("other", 1)]
    assert await on_sqlite.state(claim.run_key) is RunState.RUNNING


async def test_a_statement_without_end_is_broken_off(on_sqlite: Ground) -> None:
    run = bounded(on_sqlite, await on_sqlite.claimed())
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(TimedOut):
            async with run.transaction() as tx:
                await tx.fetch(ENDLESS)


async def test_after_the_bound_the_drivers_own_connection_writes_nothing_either(on_sqlite: Ground) -> None:
    run = bounded(on_sqlite, claim := await on_sqlite.claimed())
    outside = copy_context()

    async def job() -> None:
        async with run.transaction() as tx:
            pulse = on_sqlite.store.ledger.pulse([claim.ticket], 30.0)
            await asyncio.create_task(pulse, context=outside)
            tx.connection.execute("INSERT INTO sent VALUES ('late', 1)")

    with pytest.raises(TimedOut):
        await job()
    assert await on_sqlite.sent() == []


async def test_another_job_has_its_transaction_though_the_thread_of_a_late_one_is_stuck(
    on_sqlite: Ground,
) -> None:
    late = bounded(on_sqlite, await on_sqlite.claimed("late"))
    next_one = on_sqlite.run(await on_sqlite.claimed("next"))
    entered, let_go = threading.Event(), threading.Event()

    def job() -> None:
        with late.transaction():
            entered.set()
            let_go.wait(60)

    working = asyncio.create_task(asyncio.to_thread(job))
    await until(entered.is_set)
    try:
        async with asyncio.timeout(PATIENCE_S), next_one.transaction() as tx:
            await tx.execute(INSERT, (next_one.key, 1))
    finally:
        let_go.set()
        with pytest.raises(TimedOut):
            await working
    assert await on_sqlite.sent() == [(next_one.key, 1)]


async def test_cancels_while_it_waits_for_the_lock_do_not_stall_the_loop(
    on_sqlite: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, waits = on_sqlite.run(await on_sqlite.claimed()), threading.Event()
    goes_on = guest.Guest._goes_on_waiting

    def seen(self: guest.Guest, waited: int) -> bool:
        waits.set()
        return goes_on(self, waited)

    monkeypatch.setattr(guest.Guest, "_goes_on_waiting", seen)
    async with locked(on_sqlite):
        working = asyncio.create_task(run.transaction().__aenter__())
        await until(waits.is_set)
        began = time.monotonic()
        for _ in range(2):
            working.cancel()
            await asyncio.sleep(0)
        await asyncio.wait({working})
        assert working.cancelled()
        assert time.monotonic() - began < PATIENCE_S
    async with run.transaction() as tx:
        await tx.execute(INSERT, ("x", 1))


async def test_a_cancel_while_it_connects_leaves_no_connection(
    on_sqlite: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = on_sqlite.run(await on_sqlite.claimed())
    connecting, go = threading.Event(), threading.Event()
    opened: list[apsw.Connection] = []

    def slow(path: Path) -> apsw.Connection:
        connecting.set()
        assert go.wait(60)
        opened.append(connect(path))
        return opened[0]

    monkeypatch.setattr(opening, "connect", slow)
    working = asyncio.create_task(run.transaction().__aenter__())
    await until(connecting.is_set)
    for _ in range(2):
        working.cancel()
        await asyncio.sleep(0)
    await asyncio.wait({working}, timeout=PATIENCE_S)
    assert working.cancelled()
    go.set()
    await until(lambda: bool(opened) and is_closed(opened[0]))


async def test_a_commit_into_a_file_that_was_removed_is_not_acknowledged(on_sqlite: Ground) -> None:
    transaction = on_sqlite.run(await on_sqlite.claimed()).transaction()
    await (await transaction.__aenter__()).execute(INSERT, ("x", 1))
    await asyncio.to_thread(Path(f"{on_sqlite.url.removeprefix('sqlite:///')}-wal").unlink)
    with pytest.raises(StoreReplaced, match="-wal was deleted or replaced"):
        await transaction.__aexit__(None, None, None)


def is_closed(connection: apsw.Connection) -> bool:
    try:
        return not connection.filename
    except apsw.ConnectionClosedError:
        return True
    except apsw.ThreadingViolationError:
        return False
