"""I10 on MongoDB: what a job writes with its session and the success marker are one commit, or neither is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient
from pymongo.errors import OperationFailure

from fencepost import Fencepost
from fencepost.drivers.mongodb.opening import disconnect
from fencepost.errors import RunLost, UnfitConnection, UsageError
from fencepost.model.run import Hold, Outcome, Receipt, RunState
from fencepost.stores import mongodb
from fencepost.stores.mongodb import job_transactions
from fencepost.testing.conformance.builders import NS
from fencepost.testing.conformance.operators import holds
from fencepost.testing.conformance.parking import one_runs_two_wait
from tests.conformance.on_mongodb import SHARDS, empty, open_mongodb
from tests.transactions.ground import Ground

WAIT_S = 60


class MongoGround(Ground):
    """A store with a collection `sent` of the user's own beside the ledger."""

    async def sent(self) -> list[tuple[str, int]]:
        async with AsyncMongoClient[dict[str, Any]](self.url) as client:
            found = await client.get_default_database()["sent"].find().to_list()
        return [(one["run_key"], one["fence"]) for one in found]


@pytest.fixture
async def ground(mongo_store_url: str) -> AsyncIterator[MongoGround]:
    await mongodb.migrate(mongo_store_url, shards=SHARDS)
    with MongoClient[dict[str, Any]](mongo_store_url) as client:
        client.get_default_database()["sent"].delete_many({})
    empty(mongo_store_url)
    opened = MongoGround(mongo_store_url, await mongodb.open_store(mongo_store_url))
    yield opened
    await opened.store.close()


@pytest.fixture
async def client(ground: MongoGround) -> AsyncIterator[AsyncMongoClient[dict[str, Any]]]:
    """The user's own."""
    async with AsyncMongoClient[dict[str, Any]](ground.url) as opened:
        yield opened


async def send(tx: Any, key: str, fence: int) -> None:
    await tx.database["sent"].insert_one({"run_key": key, "fence": fence}, session=tx.session)


async def test_what_the_job_wrote_and_the_marker_are_there_together(ground: MongoGround) -> None:
    run = ground.run(claim := await ground.claimed())
    async with run.transaction() as tx:
        await send(tx, run.key, run.fence)
        assert await ground.sent() == []
    assert await ground.sent() == [(run.key, run.fence)]
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


async def test_a_job_that_fails_leaves_neither(ground: MongoGround) -> None:
    run = ground.run(claim := await ground.claimed())

    async def job() -> None:
        async with run.transaction() as tx:
            await send(tx, run.key, run.fence)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await job()
    assert (await ground.sent(), await ground.state(claim.run_key)) == ([], RunState.RUNNING)
    async with run.transaction() as tx:
        await send(tx, run.key, 2)
    assert await ground.sent() == [(run.key, 2)]


async def test_an_attempt_that_lost_its_run_does_not_even_begin(ground: MongoGround) -> None:
    stale = await ground.claimed(alive_for_s=0.0)
    heir = await ground.superseded(stale)
    with pytest.raises(RunLost):
        async with ground.run(stale).transaction() as tx:
            await send(tx, stale.run_key, stale.fence)
    async with ground.run(heir).transaction() as tx:
        await send(tx, heir.run_key, heir.fence)
    assert await ground.sent() == [(heir.run_key, heir.fence)]


async def test_while_it_is_open_no_rescue_takes_the_run_and_heartbeats_pass_it_by(
    ground: MongoGround,
) -> None:
    claim = await ground.claimed(alive_for_s=0.0)
    run = ground.run(claim)
    async with run.transaction() as tx:
        await send(tx, run.key, run.fence)
        (pulse,) = await ground.store.ledger.pulse([claim.ticket], 30.0)
        assert pulse.owned
        with pytest.raises(AssertionError):
            await ground.superseded(claim)
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


async def test_no_connection_of_a_transaction_outlives_the_store(
    ground: MongoGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, leave = list[AsyncMongoClient[Any]](), disconnect

    async def leave_slowly(client: AsyncMongoClient[Any]) -> None:
        await asyncio.sleep(0.1)
        await leave(client)
        left.append(client)

    monkeypatch.setattr(job_transactions, "IDLE_MAX", 0)
    monkeypatch.setattr(job_transactions, "disconnect", leave_slowly)
    async with ground.run(await ground.claimed()).transaction():
        pass
    assert not left
    await ground.store.close()
    assert len(left) == 1


async def test_a_transaction_that_ends_after_the_store_was_closed_leaves_no_connection(
    ground: MongoGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = asyncio.Queue[AsyncMongoClient[Any]]()

    async def leave(client: AsyncMongoClient[Any]) -> None:
        await disconnect(client)
        left.put_nowait(client)

    monkeypatch.setattr(job_transactions, "disconnect", leave)
    run = ground.run(await ground.claimed())
    transactions = ground.store.transactions
    assert isinstance(transactions, job_transactions.MongoTransactions)
    async with run.transaction() as tx:
        await transactions.close()
    assert await asyncio.wait_for(left.get(), WAIT_S) is tx.connection.client


async def test_several_transactions_of_one_run(ground: MongoGround) -> None:
    run = ground.run(claim := await ground.claimed())
    for number in (1, 2):
        async with run.transaction(complete=False) as tx:
            await send(tx, run.key, number)
    assert await ground.state(claim.run_key) is RunState.RUNNING
    async with run.transaction() as tx:
        await send(tx, run.key, 3)
    assert len(await ground.sent()) == 3
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


async def test_a_job_that_is_cancelled_in_a_call_leaves_nothing_and_harms_no_other(
    ground: MongoGround,
) -> None:
    run = ground.run(claim := await ground.claimed())
    inside = asyncio.Event()

    async def job() -> None:
        async with run.transaction() as tx:
            await send(tx, run.key, 1)
            inside.set()
            while True:
                await send(tx, run.key, 2)

    working = asyncio.create_task(job())
    await asyncio.wait_for(inside.wait(), WAIT_S)
    working.cancel()
    await asyncio.wait({working}, timeout=WAIT_S)
    assert working.cancelled()
    assert await ground.sent() == []
    outcome = Outcome(claim.ticket, RunState.SUCCEEDED)
    assert list(await ground.store.ledger.finish([outcome])) == [Receipt.ACCEPTED]


async def test_what_the_worker_breaks_off_is_not_committed(ground: MongoGround) -> None:
    run = ground.run(await ground.claimed())

    async def job() -> None:
        async with run.transaction() as tx:
            await send(tx, run.key, 1)
            tx.abort()
            for _ in range(WAIT_S * 10):
                await send(tx, run.key, 2)
                await asyncio.sleep(0.1)

    with pytest.raises(OperationFailure):
        await job()
    assert await ground.sent() == []


async def test_a_transaction_of_a_job_speaks_no_sql(ground: MongoGround) -> None:
    run = ground.run(await ground.claimed())
    with pytest.raises(UsageError, match=r"session=tx\.session"):
        async with run.transaction() as tx:
            await tx.execute("INSERT INTO sent VALUES (1)")


async def test_a_run_is_completed_in_the_users_own_transaction(
    ground: MongoGround, client: AsyncMongoClient[dict[str, Any]]
) -> None:
    run = ground.run(claim := await ground.claimed())
    database = client.get_default_database()
    async with client.start_session() as session, await session.start_transaction():
        await database["sent"].insert_one({"run_key": run.key, "fence": run.fence}, session=session)
        await run.complete_in(session)
        assert await ground.state(claim.run_key) is RunState.RUNNING
    assert await ground.sent() == [(run.key, run.fence)]
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


async def test_a_run_is_completed_by_a_driver_that_blocks(ground: MongoGround) -> None:
    run = ground.run(claim := await ground.claimed())

    def job() -> None:
        client = MongoClient[dict[str, Any]](ground.url)
        with client, client.start_session() as session, session.start_transaction():
            sent = client.get_default_database()["sent"]
            sent.insert_one({"run_key": run.key, "fence": run.fence}, session=session)
            run.complete_in(session)

    await asyncio.to_thread(job)
    assert await ground.sent() == [(run.key, run.fence)]
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


async def test_who_lost_the_run_cannot_commit(
    ground: MongoGround, client: AsyncMongoClient[dict[str, Any]]
) -> None:
    stale = await ground.claimed(alive_for_s=0.0)
    heir = await ground.superseded(stale)
    database = client.get_default_database()
    async with client.start_session() as session:
        await session.start_transaction()
        await database["sent"].insert_one({"run_key": "one", "fence": stale.fence}, session=session)
        with pytest.raises(RunLost):
            await ground.run(stale).complete_in(session)
        assert not session.in_transaction
    assert await ground.sent() == []
    assert (await ground.record(heir.run_key)).fence == heir.fence


async def test_what_is_enqueued_in_a_transaction_is_there_with_its_commit(
    ground: MongoGround, client: AsyncMongoClient[dict[str, Any]]
) -> None:
    app = Fencepost(ground.url)

    @app.job()
    async def mail(to: int) -> None: ...

    async with client.start_session() as session:
        await session.start_transaction()
        gone = await app.enqueue("mail", to=1, connection=session)
        await session.abort_transaction()
        await session.start_transaction()
        kept = await app.enqueue("mail", to=2, connection=session)
        assert await ground.store.ledger.get(NS, kept) is None
        await session.commit_transaction()
    assert await ground.store.ledger.get(NS, gone) is None
    assert (await ground.record(kept)).payload == {"to": 2}


async def test_two_that_enqueue_the_same_key_are_told_to_try_again(
    ground: MongoGround, client: AsyncMongoClient[dict[str, Any]]
) -> None:
    app = Fencepost(ground.url)

    @app.job()
    async def mail() -> None: ...

    async with client.start_session() as session:
        await session.start_transaction()
        await client.get_default_database()["sent"].find_one({}, session=session)
        await app.enqueue("mail", key="one")
        with pytest.raises(OperationFailure) as told:
            await app.enqueue("mail", key="one", connection=session)
        assert told.value.has_error_label("TransientTransactionError")
    await app.close()


async def test_a_session_without_a_transaction_is_refused(
    ground: MongoGround, client: AsyncMongoClient[dict[str, Any]]
) -> None:
    run = ground.run(await ground.claimed())
    async with client.start_session() as session:
        with pytest.raises(UnfitConnection, match="start_transaction"):
            await run.complete_in(session)


async def test_a_database_without_a_ledger_is_refused(
    ground: MongoGround, client: AsyncMongoClient[dict[str, Any]]
) -> None:
    app = Fencepost(ground.url.replace("/store_", "/elsewhere_"))

    @app.job()
    async def mail() -> None: ...

    async with client.start_session() as session:
        await session.start_transaction()
        with pytest.raises(UnfitConnection, match="is no ledger of this release"):
            await app.enqueue("mail", connection=session)


async def test_the_tick_that_waited_for_its_turn_is_due_after_the_commit(mongo_store_url: str) -> None:
    """Without the reaper's look, which is the net."""
    harness = await open_mongodb(mongo_store_url)
    claimed, first, second = await one_runs_two_wait(harness)
    async with harness.store.transactions.begin(claimed.ticket, complete=True, idle_max_s=WAIT_S):
        assert await holds(harness, first, second) == [Hold.PARKED, Hold.PARKED]
    assert await holds(harness, first, second) == [Hold.NONE, Hold.PARKED]
    await harness.close()
