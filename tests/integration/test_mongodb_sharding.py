"""The store behind a router: how it is set up, whose clock it has, and that no transaction sees less than
what was acknowledged before by way of another router."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient

from fencepost.clock import SystemClock
from fencepost.drivers.mongodb.address import read_url
from fencepost.errors import InvalidSettings
from fencepost.leases.mongodb.opening import open_leases
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Shard
from fencepost.model.lease import Granted, HeldBy
from fencepost.model.run import RunState
from fencepost.model.tables import META, TERMS, TERMS_OF_SHARD
from fencepost.ports.rows import Transaction
from fencepost.stores import mongodb
from fencepost.stores.mongodb.job_transactions import MongoTransactions
from fencepost.stores.mongodb.rows import SNAPSHOT
from fencepost.stores.mongodb.sharding import commands
from fencepost.stores.mongodb.store import MongoStore
from fencepost.testing.conformance.builders import ALICE, BOB
from tests.cli.calls import called, called_json
from tests.servers.mongo_router import MongoRouter
from tests.servers.process import Address
from tests.transactions.ground import Ground

DATABASE = "sharding"
ROUTER = {"msg": "isdbgrid", "isWritablePrimary": True}
SPREAD = ["runs", "attempts", "steps", "run_logs", "run_links"]
IDLE_S = 60.0
SHARD = Shard(0)


@pytest.fixture
def routers(mongo_server: Address) -> Iterator[tuple[MongoRouter, MongoRouter]]:
    """Two, with a clock and an ear of their own."""
    with MongoClient[dict[str, Any]](mongo_server.url) as client:
        client.drop_database(DATABASE)
    with closing(MongoRouter(mongo_server)) as one, closing(MongoRouter(mongo_server)) as other:
        yield one, other


@pytest.fixture
async def stores(routers: tuple[MongoRouter, MongoRouter]) -> AsyncIterator[tuple[MongoStore, MongoStore]]:
    """One store, by way of two routers."""
    await mongodb.migrate(routers[0].url(DATABASE), shards=4)
    async with AsyncExitStack() as exits:
        opened = [await mongodb.open_store(router.url(DATABASE)) for router in routers]
        for store in opened:
            exits.push_async_callback(store.close)
        yield opened[0], opened[1]


@pytest.mark.parametrize(
    ("hello", "done", "sharded"),
    [
        (ROUTER, (), SPREAD),
        (ROUTER, ("runs", "steps"), ["attempts", "run_logs", "run_links"]),
        (ROUTER, SPREAD, []),
        ({"setName": "rs0", "isWritablePrimary": True}, (), []),
    ],
    ids=["new", "begun", "done", "replica set"],
)
def test_what_grows_is_sharded_by_its_key_where_there_are_shards(
    hello: dict[str, Any], done: tuple[str, ...], sharded: list[str]
) -> None:
    wanted = [{"shardCollection": f"shop.{name}", "key": {"_id": 1}} for name in sharded]
    assert commands(hello, "shop", done) == wanted


async def test_any_number_of_migrators_shard_once(routers: tuple[MongoRouter, MongoRouter]) -> None:
    router, url = routers[0], routers[0].url(DATABASE)
    await asyncio.gather(*(mongodb.migrate(url, shards=4) for _ in range(3)))
    assert router.sharded == set(SPREAD)
    assert await mongodb.migrate(url, shards=4) == []
    router.sharded.remove("steps")
    assert await mongodb.migrate(url, shards=4) == [f"sharding of {DATABASE}.steps"]


async def test_who_may_not_shard_is_told_what_to_have_done(routers: tuple[MongoRouter, MongoRouter]) -> None:
    router, url = routers[0], routers[0].url(DATABASE)
    router.may_shard = False
    with pytest.raises(InvalidSettings, match=r"run sh.shardCollection\('sharding.runs', {_id: 1}\)"):
        await mongodb.migrate(url, shards=4)
    await (await mongodb.open_store(url)).close()
    router.sharded = set(SPREAD)
    assert await mongodb.migrate(url, shards=4) == []


async def test_leases_of_the_store_are_not_judged_by_a_routers_clock(
    stores: tuple[MongoStore, MongoStore],
) -> None:
    one, other = (store.leases for store in stores)
    assert isinstance((await one.acquire([SHARD], ALICE, 30.0))[SHARD], Granted)
    held = (await other.acquire([SHARD], BOB, 30.0))[SHARD]
    assert isinstance(held, HeldBy)
    assert held.holder == ALICE


async def test_leases_alone_are_not_kept_behind_a_router(routers: tuple[MongoRouter, MongoRouter]) -> None:
    with pytest.raises(InvalidSettings, match="this is a mongos"):
        await open_leases(routers[0].url(DATABASE), clock=SystemClock())


def test_doctor_says_nothing_of_a_replica_set_that_it_does_not_see(
    routers: tuple[MongoRouter, MongoRouter], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jobs.toml").write_text('[jobs.one]\ncommand = ["true"]\n')
    monkeypatch.chdir(tmp_path)
    url = routers[0].url(DATABASE)
    assert f"applied sharding of {DATABASE}.runs\n" in called("migrate", "--store", url)
    assert warnings(url) == {}
    routers[0].sharded.remove("runs")
    assert warnings(url) == {"runs: on one shard of the cluster alone": "run: fencepost migrate"}


def warnings(url: str) -> dict[str, str]:
    found = called_json("doctor", "jobs.toml", "--only", "retention", "--store", url)
    return {one["reason"]: one["remedy"] for one in found["findings"] if one["severity"] == "warn"}


async def test_the_clock_is_not_the_routers(stores: tuple[MongoStore, MongoStore]) -> None:
    for store in stores:
        now = await store.rows.read(lambda tx: tx.now())
        assert abs(now - StoreTime(datetime.now(UTC))) < timedelta(minutes=10)


async def test_what_was_acknowledged_by_way_of_another_router_is_seen(
    stores: tuple[MongoStore, MongoStore],
) -> None:
    one, other = stores
    await one.rows.write(lambda tx: tx.put_if_absent(META, [{"name": "a", "value": ""}]))
    assert await other.rows.read(lambda tx: tx.find(META.at("a")))
    await one.rows.write(lambda tx: set_value(tx, "a", "new"))
    (seen,) = await other.rows.write(lambda tx: tx.find(META.at("a")))
    assert seen["value"] == "new"


async def set_value(tx: Transaction, name: str, value: str) -> None:
    await tx.change(META, [(row, {"value": value}) for row in await tx.lock(META.at(name))])


async def test_a_jobs_transaction_sees_the_claim_that_another_client_made(
    stores: tuple[MongoStore, MongoStore], routers: tuple[MongoRouter, MongoRouter]
) -> None:
    """The worker claims by way of one router, and the job's own client has another."""
    store, other = stores[0], routers[1].url(DATABASE)
    ground = Ground(other, store)
    elsewhere = MongoTransactions(store._rows, read_url(other, "store"))
    routers[1].sharded, routers[1].lags = set(SPREAD), True
    claim = await ground.claimed()
    async with elsewhere.begin(claim.ticket, complete=True, idle_max_s=IDLE_S):
        pass
    await elsewhere.close()
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


@pytest.mark.parametrize("blocking", [False, True], ids=["async", "blocking"])
async def test_a_users_own_transaction_sees_the_claim_that_the_worker_made(
    stores: tuple[MongoStore, MongoStore], routers: tuple[MongoRouter, MongoRouter], blocking: bool
) -> None:
    other = routers[1].url(DATABASE)
    routers[1].sharded, routers[1].lags = set(SPREAD), True
    ground = Ground(other, stores[0])
    run = ground.run(claim := await ground.claimed())
    if blocking:
        with MongoClient[dict[str, Any]](other) as plain, plain.start_session() as session:
            session.with_transaction(run.complete_in, read_concern=SNAPSHOT)
    else:
        async with AsyncMongoClient[dict[str, Any]](other) as client, client.start_session() as awaited:
            await awaited.with_transaction(run.complete_in, read_concern=SNAPSHOT)
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


@pytest.mark.parametrize("reverse", [False, True])
async def test_the_first_rows_of_several_ranges_are_not_looked_up(
    stores: tuple[MongoStore, MongoStore], reverse: bool
) -> None:
    """A router refuses that within a transaction."""
    terms = [
        {"shard": shard, "epoch": epoch, "holder": "a", "since": datetime(2026, 1, 1, tzinfo=UTC)}
        for shard in range(3)
        for epoch in range(1, 6)
    ]
    wanted = TERMS_OF_SHARD.each((shard,) for shard in range(4))

    async def find(tx: Transaction) -> list[tuple[int, int]]:
        await tx.put_if_absent(TERMS, terms)
        return [(one["shard"], one["epoch"]) for one in await tx.find(wanted, limit=2, reverse=reverse)]

    firsts = (5, 4) if reverse else (1, 2)
    assert await stores[0].rows.write(find) == [(shard, epoch) for shard in range(3) for epoch in firsts]
