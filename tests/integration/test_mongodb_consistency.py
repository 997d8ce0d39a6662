"""What the store promises of a replica set, with a server that fails where it is told to: nothing counts
before a majority has it, a claim sees one snapshot, an unknown commit is no commit, and what happened while
the change stream was broken is not missed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from fencepost.errors import StoreUnavailable
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import DEFAULT_NAMESPACE as NS
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, NodeId, RunKey
from fencepost.model.node import Node, NodeReport
from fencepost.model.run import NewRun, Outcome, RunFilter, RunState
from fencepost.ports.signals import Topic
from fencepost.stores.mongodb import MongoStore, migrate, open_store
from fencepost.stores.mongodb.documents import Document
from fencepost.stores.mongodb.read_batch import BatchAnswer, ReadBatch
from fencepost.stores.mongodb.rows import COMMITS_MAX
from fencepost.stores.mongodb.transaction import COUNTERS, FENCES, SIGNALS
from tests.conformance.on_mongodb import empty
from tests.integration.test_mongodb_failover import answered
from tests.servers.mongodb import MongoReplicaSet, fail_point

pytestmark = pytest.mark.timeout(300)

JOB = JobName("report")
KEY = RunKey("report#1")
RUN = NewRun(KEY, JOB, {}, DEFAULT_QUEUE, 2)
NODE = Node(NodeId("alice"), "host", 1, plans=True, works=True)
PATIENCE_S = 60.0
ASKED_WITH_CONCERN = {"command.readConcern.level": {"$exists": True}}
"""Questions, and of what is done in a transaction the first."""
HISTORY_LOST = 286
"""With this answer the driver does not resume a stream."""


@pytest.fixture
async def store(mongo_store_url: str) -> AsyncIterator[MongoStore]:
    await migrate(mongo_store_url, shards=8)
    empty(mongo_store_url)
    opened = await open_store(mongo_store_url)
    yield opened
    await opened.close()
    with MongoClient[dict[str, Any]](mongo_store_url) as client:
        # A transaction whose commit was cut off stays open for a minute, and is in the way of the next test.
        client.admin.command("killAllSessions", [])


@pytest.fixture
async def replicated(mongo_replica_set: MongoReplicaSet) -> AsyncIterator[MongoStore]:
    url = mongo_replica_set.url.replace("/?", f"/consistency_{uuid4().hex}?")
    await answered(lambda: migrate(url, shards=8))
    empty(url)
    opened = await open_store(url)
    yield opened
    await opened.close()


@pytest.mark.proof
async def test_what_no_majority_has_is_neither_acknowledged_nor_shown(
    mongo_replica_set: MongoReplicaSet, replicated: MongoStore
) -> None:
    """About 25 s: a call that no majority confirms is given up after its time."""
    with mongo_replica_set.replication_stopped():
        with pytest.raises(StoreUnavailable):
            await replicated.ledger.enqueue(NS, [RUN])
        with pytest.raises(StoreUnavailable):
            await replicated.ledger.enqueue(NS, [RUN])
        assert await replicated.ledger.get(NS, KEY) is None
    await answered(lambda: replicated.ledger.enqueue(NS, [RUN]))
    assert await answered(lambda: replicated.ledger.get(NS, KEY)) is not None


@pytest.mark.proof
async def test_what_was_rolled_back_was_not_acknowledged_and_can_be_written_again(
    mongo_replica_set: MongoReplicaSet, replicated: MongoStore
) -> None:
    """About 20 s: the primary is lost with a write that only it has."""
    with mongo_replica_set.replication_stopped():
        with pytest.raises(StoreUnavailable):
            await replicated.ledger.enqueue(NS, [RUN])
        await asyncio.to_thread(mongo_replica_set.kill_primary)
    await asyncio.to_thread(mongo_replica_set.primary)
    assert await answered(lambda: replicated.ledger.get(NS, KEY)) is None
    assert await answered(lambda: replicated.ledger.enqueue(NS, [RUN])) == [True]
    await asyncio.to_thread(mongo_replica_set.restore)
    (kept,) = await answered(lambda: replicated.ledger.list(NS, RunFilter(limit=10)))
    assert (kept.run_key, kept.state) == (KEY, RunState.READY)


async def test_every_rule_sees_one_snapshot(store: MongoStore, mongo_store_url: str) -> None:
    """As the server was told. What it read without one is confirmed with the commit too, so no outcome shows
    it on a replica set; across shards it does."""
    with MongoClient[dict[str, Any]](mongo_store_url) as client:
        database = client.get_default_database()
        database.command("profile", 2)
        try:
            await enqueue_claim_and_finish(store)
        finally:
            database.command("profile", 0)
        asked = [one["command"] for one in database["system.profile"].find(ASKED_WITH_CONCERN)]
        database.drop_collection("system.profile")
    assert {one.get("startTransaction", False) for one in asked} == {True, False}
    assert {one["readConcern"]["level"] for one in asked} == {"snapshot"}


async def test_a_new_primary_that_does_not_know_all_yet_is_not_taken_for_an_older_ledger(
    store: MongoStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows less than the primary before it, until a majority has confirmed a write of its own."""
    known = ReadBatch.answer

    def answer(self: ReadBatch, documents: Iterable[Document]) -> BatchAnswer:
        found = known(self, documents)
        return found._replace(counters={name: last - 1 for name, last in found.counters.items()})

    await store.nodes.beat(NODE, NodeReport(), 30.0)
    await enqueue_claim_and_finish(store)
    before = await store.nodes.beat(NODE, NodeReport(), 30.0)
    monkeypatch.setattr(ReadBatch, "answer", answer)
    assert (await store.nodes.beat(NODE, NodeReport(), 30.0)).high_water == before.high_water


async def test_a_ledger_whose_fences_have_fallen_says_so_with_each_sign_of_life(
    store: MongoStore, mongo_store_url: str
) -> None:
    await store.nodes.beat(NODE, NodeReport(), 30.0)
    await enqueue_claim_and_finish(store)
    before = await store.nodes.beat(NODE, NodeReport(), 30.0)
    with MongoClient[dict[str, Any]](mongo_store_url) as client:
        client.get_default_database()[COUNTERS].update_one({"_id": FENCES}, {"$inc": {"last": -1}})
    for _ in range(2):
        found = await store.nodes.beat(NODE, NodeReport(), 30.0)
        assert found.high_water.fence == before.high_water.fence - 1


async def test_a_ledger_that_has_fallen_by_less_than_one_claim_draws_is_noticed(
    store: MongoStore, mongo_store_url: str
) -> None:
    """A rule that runs again draws later fences each time, soon past all that were given out before."""
    await store._rows.write(lambda tx: tx.fences(5))
    assert (await store.nodes.beat(NODE, NodeReport(), 30.0)).high_water.older is None
    with MongoClient[dict[str, Any]](mongo_store_url) as client:
        client.get_default_database()[COUNTERS].update_one({"_id": FENCES}, {"$inc": {"last": -2}})
    await store._rows.write(lambda tx: tx.fences(5))
    found = (await store.nodes.beat(NODE, NodeReport(), 30.0)).high_water
    assert (found.fence, found.older) == (8, "node alice found that it gave out fence 4, after fence 5")


async def test_fences_that_were_asked_for_at_once_may_be_told_in_any_order(store: MongoStore) -> None:
    await asyncio.gather(*(store._rows.write(lambda tx: tx.fences(5)) for _ in range(10)))
    assert (await store.nodes.beat(NODE, NodeReport(), 30.0)).high_water.older is None


async def test_a_majority_confirms_how_far_the_ledger_has_come(
    store: MongoStore, mongo_store_url: str
) -> None:
    await enqueue_claim_and_finish(store)
    with MongoClient[dict[str, Any]](mongo_store_url) as client:
        database = client.get_default_database()
        database.command("profile", 2)
        try:
            await store.epochs.high_water()
        finally:
            database.command("profile", 0)
        (asked,) = database["system.profile"].find({"command.find": COUNTERS})
        database.drop_collection("system.profile")
    assert asked["command"]["readConcern"]["level"] == "linearizable"


@pytest.mark.proof
async def test_a_commit_without_an_answer_is_not_acknowledged(
    store: MongoStore, mongo_store_url: str
) -> None:
    """About 10 s: the driver asks again until its time is up."""
    cut: dict[str, Any] = {"failCommands": ["commitTransaction"], "closeConnection": True}
    with fail_point(mongo_store_url, "failCommand", **cut), pytest.raises(StoreUnavailable):
        await store.ledger.enqueue(NS, [RUN])
    assert await store.ledger.get(NS, KEY) is None


async def test_a_commit_whose_answers_were_lost_is_asked_for_until_there_is_one(
    store: MongoStore, mongo_store_url: str
) -> None:
    cut: dict[str, Any] = {"failCommands": ["commitTransaction"], "closeConnection": True}
    with fail_point(mongo_store_url, "failCommand", {"times": COMMITS_MAX}, **cut):
        assert await store.ledger.enqueue(NS, [RUN]) == [True]
    assert await store.ledger.get(NS, KEY) is not None


async def test_what_happened_while_the_stream_was_broken_is_not_missed(
    store: MongoStore, mongo_store_url: str
) -> None:
    heard = asyncio.Event()
    stop = await store.signals.listen(Topic.RUNS, heard.set)
    with ExitStack() as broken:
        broken.enter_context(
            fail_point(
                mongo_store_url,
                "failCommand",
                failCommands=["getMore", "aggregate"],
                errorCode=HISTORY_LOST,
                namespace=f"{store.signals._collection.database.name}.{SIGNALS}",
            )
        )
        await store.ledger.enqueue(NS, [RUN])
        await eventually(lambda: not store.signals.are_connected)
        heard.clear()
        await store.ledger.enqueue(NS, [NewRun(RunKey("report#2"), JOB, {}, DEFAULT_QUEUE, 2)])
    await eventually(lambda: store.signals.are_connected)
    assert heard.is_set()
    stop()


async def test_a_stream_that_was_cut_goes_on_where_it_was(store: MongoStore, mongo_store_url: str) -> None:
    """By its token: nobody is told to look at everything."""
    heard, looked = asyncio.Event(), asyncio.Event()
    stops = [await store.signals.listen(Topic.RUNS, heard.set)]
    stops += [await store.signals.listen(Topic.LEASES, looked.set)]
    namespace = f"{store.signals._collection.database.name}.{SIGNALS}"
    cut: dict[str, Any] = {"failCommands": ["getMore"], "closeConnection": True, "namespace": namespace}
    with MongoClient[dict[str, Any]](mongo_store_url) as client:
        switch = partial(client.admin.command, "configureFailPoint", "failCommand")
        before = switch(mode={"times": 1}, data=cut)["count"]
        for number in (1, 2):
            heard.clear()
            await store.ledger.enqueue(NS, [NewRun(RunKey(f"report#{number}"), JOB, {}, DEFAULT_QUEUE, 2)])
            await asyncio.wait_for(heard.wait(), PATIENCE_S)
        assert switch(mode="off")["count"] == before + 1
    assert store.signals.are_connected
    assert not looked.is_set()
    for stop in stops:
        stop()


async def enqueue_claim_and_finish(store: MongoStore) -> None:
    await store.ledger.enqueue(NS, [RUN])
    claim_request = ClaimRequest(NodeId("a"), (DEFAULT_QUEUE,), (JOB,), 600.0, NS)
    (claim,) = await store.ledger.claim_direct(claim_request, 1)
    await store.ledger.finish([Outcome(claim.ticket, RunState.SUCCEEDED)])


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_read_without_a_snapshot_is_asked_again(store: MongoStore, mongo_store_url: str) -> None:
    """As while another process makes collections."""
    await store.ledger.enqueue(NS, [RUN])
    busy: dict[str, Any] = {"failCommands": ["find"], "errorCode": 246}
    with fail_point(mongo_store_url, "failCommand", {"times": 3}, **busy):
        run = await store.ledger.get(NS, KEY)
    assert run is not None
