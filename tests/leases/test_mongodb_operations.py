"""What leases in MongoDB meet and others do not: names that look like fields, requests sent twice, dropped
collections, streams that break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pymongo
import pytest
from bson import ObjectId
from pymongo.collection import Collection

from fencepost.drivers.mongodb import lease_statements as statements
from fencepost.drivers.mongodb.calls import REQUEST_TIMEOUT_S
from fencepost.errors import LeaseStoreUnavailable
from fencepost.model.address import parse_address
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Granted, HeldBy, Lost, Released, Unknown
from fencepost.testing.conformance.builders import ALICE, BOB
from fencepost.testing.conformance.lease_steps import (
    OTHER,
    PATIENCE_S,
    SHARD,
    ask,
    grant,
    granted,
    outcome,
    release,
    renew,
)
from tests.leases.mongodb.harness import COMMAND, MongoHarness, mongo_harness
from tests.servers.process import Address

OVERHEAD_S = 1.0
MANY = [Shard(number) for number in range(64)]


@pytest.fixture
async def harness(mongo_server: Address) -> AsyncIterator[MongoHarness]:
    host = parse_address(mongo_server.url, 27017).hosts[0]
    async with mongo_harness(mongo_server.url, str(host)) as harness:
        yield harness


async def test_a_holder_whose_name_looks_like_a_field_is_not_read_as_one(harness: MongoHarness) -> None:
    odd = NodeId("$lineage")
    epoch = await grant(harness, odd)
    answer = await ask(harness, BOB)
    assert isinstance(answer, HeldBy)
    assert answer.holder == odd
    assert isinstance(await renew(harness, odd, epoch), Granted)
    assert await release(harness, odd, epoch) == Released()


async def test_a_release_that_is_tried_again_by_the_driver_is_not_called_lost(harness: MongoHarness) -> None:
    epoch = await grant(harness, ALICE)
    harness.proxy.lose_next_answer(to=COMMAND)
    assert await release(harness, ALICE, epoch) == Released()
    await harness.proxy.lost(PATIENCE_S)
    assert await release(harness, ALICE, epoch) == Lost()


async def test_a_grant_that_is_tried_again_by_the_driver_does_not_raise_the_epoch_twice(
    harness: MongoHarness,
) -> None:
    epoch = await grant(harness, ALICE)
    assert await release(harness, ALICE, epoch) == Released()
    harness.proxy.lose_next_answer(to=COMMAND)
    assert await grant(harness, ALICE) == epoch + 1
    await harness.proxy.lost(PATIENCE_S)


async def test_a_renewal_that_comes_late_does_not_cut_what_was_promised(harness: MongoHarness) -> None:
    """One that was sent earlier and waited for long asks, in effect, for less."""
    epoch = await grant(harness, ALICE)
    assert isinstance(await renew(harness, ALICE, epoch, harness.ttl_s), Granted)
    (record,) = await harness.leases.read()
    assert record.expires_in_s > PATIENCE_S / 2


@pytest.mark.parametrize(("ttl_s", "term_ms"), [(10.0, 10_001), (0.5004, 502), (0.0, 1)])
def test_a_term_is_not_cut_to_whole_milliseconds(ttl_s: float, term_ms: int) -> None:
    """The server's clock is: it may have dropped almost one already."""
    (stage,) = statements.extension(ttl_s, ObjectId())
    assert stage["$set"]["expires_at"]["$max"][1] == {"$add": ["$$NOW", term_ms]}


async def test_who_waited_for_a_document_does_not_judge_it_by_what_it_was(harness: MongoHarness) -> None:
    """The lease had expired when the rival asked; when the document can be written, it was renewed."""
    epoch = await grant(harness, ALICE, 0.001)
    with stored(harness) as collection, collection.database.client.start_session() as session:
        session.start_transaction()
        term_ms = 1000 * PATIENCE_S
        renewed = [{"$set": {"expires_at": {"$add": ["$$NOW", term_ms]}, "ttl_ms": term_ms}}]
        collection.update_one({"_id": SHARD}, renewed, session=session)
        rival = asyncio.create_task(ask(harness, BOB))
        await asyncio.wait([rival], timeout=0.3)
        assert not rival.done()
        session.commit_transaction()
    answer = await rival
    assert isinstance(answer, HeldBy)
    assert (answer.holder, answer.epoch) == (ALICE, epoch)


async def test_a_request_that_was_given_up_is_not_carried_out_later(harness: MongoHarness) -> None:
    """Its time limit went with it: the server does not wait for the document any longer than we did."""
    await release(harness, ALICE, await grant(harness, ALICE))
    with stored(harness) as collection, collection.database.client.start_session() as session:
        session.start_transaction()
        collection.update_one({"_id": SHARD}, {"$set": {"touched": True}}, session=session)
        assert isinstance(await outcome(harness.leases.acquire([SHARD], BOB, harness.ttl_s)), Unknown)
        session.abort_transaction()
    assert isinstance(await ask(harness, ALICE), Granted)


async def test_a_collection_that_was_dropped_does_not_keep_its_lineage(harness: MongoHarness) -> None:
    first = granted(await ask(harness, ALICE))
    with stored(harness) as collection:
        collection.drop()
    second = granted(await ask(harness, BOB))
    assert second.lineage != first.lineage
    assert second.lineage.startswith("mongodb:")
    assert await renew(harness, ALICE, first.epoch) == Lost()


async def test_leases_of_another_name_are_not_ours(harness: MongoHarness) -> None:
    await grant(harness, ALICE)
    stranger = await harness.client(f"{harness.url}x")
    answers = await stranger.acquire([SHARD], BOB, harness.ttl_s)
    assert isinstance(answers[SHARD], Granted)
    assert [record.holder for record in await harness.leases.read()] == [ALICE]


async def test_a_document_that_cannot_be_inserted_does_not_keep_the_caller(harness: MongoHarness) -> None:
    with stored(harness) as collection:
        collection.create_index("holder", unique=True)
    answers = await harness.leases.acquire([SHARD], ALICE, PATIENCE_S)
    assert isinstance(answers[SHARD], Granted)
    answers = await harness.leases.acquire([OTHER], ALICE, PATIENCE_S)
    assert answers[OTHER] == Unknown("others were writing the same lease")


async def test_many_shards_of_a_server_that_is_away_do_not_wait_one_after_the_other(
    harness: MongoHarness,
) -> None:
    harness.proxy.cut()
    async with asyncio.timeout(REQUEST_TIMEOUT_S + OVERHEAD_S):
        answers = await harness.leases.acquire(MANY, ALICE, PATIENCE_S)
    assert sorted(answers) == MANY
    assert all(isinstance(answer, Unknown) for answer in answers.values())


async def test_a_long_limit_in_the_url_does_not_lengthen_a_call(harness: MongoHarness) -> None:
    limits = "&".join(
        f"{name}=60000"
        for name in ("timeoutMS", "socketTimeoutMS", "serverSelectionTimeoutMS", "connectTimeoutMS")
    )
    client = await harness.client(f"{harness.proxied_url}&{limits}")
    harness.proxy.cut()
    async with asyncio.timeout(REQUEST_TIMEOUT_S + OVERHEAD_S):
        answers = await client.renew({SHARD: Epoch(1)}, ALICE, PATIENCE_S)
    assert isinstance(answers[SHARD], Unknown)


async def test_reading_from_a_server_that_is_away_does_not_hang(harness: MongoHarness) -> None:
    harness.proxy.cut()
    with pytest.raises(LeaseStoreUnavailable):
        async with asyncio.timeout(REQUEST_TIMEOUT_S + OVERHEAD_S):
            await harness.leases.read()


async def test_a_server_that_is_away_does_not_keep_a_client_from_closing(harness: MongoHarness) -> None:
    await grant(harness, ALICE)
    harness.proxy.cut()
    async with asyncio.timeout(REQUEST_TIMEOUT_S + OVERHEAD_S):
        await harness.leases.close()


async def test_a_client_that_was_closed_does_not_raise_the_drivers_error(harness: MongoHarness) -> None:
    await harness.leases.close()
    assert isinstance(await outcome(harness.leases.acquire([SHARD], ALICE, harness.ttl_s)), Unknown)


async def test_a_renewal_and_a_grant_are_not_hints(harness: MongoHarness) -> None:
    with stored(harness) as collection, collection.watch(list(statements.RELEASES)) as hints:
        for _ in range(2):
            epoch = await grant(harness, ALICE)
            await harness.leases.renew({SHARD: epoch}, ALICE, 2 * PATIENCE_S)
            assert await release(harness, ALICE, epoch) == Released()
            assert hints.next()["updateDescription"]["updatedFields"]["holder"] is None
        assert hints.try_next() is None


async def test_a_release_while_the_stream_is_broken_is_not_missed(harness: MongoHarness) -> None:
    rival, heard = await harness.another(), asyncio.Event()
    epoch = await grant(harness, ALICE)
    stop = await harness.leases.watch(heard.set)
    heard.clear()
    harness.proxy.refuse()
    harness.proxy.reset()
    assert (await rival.release({SHARD: epoch}, ALICE))[SHARD] == Released()
    harness.proxy.heal()
    await asyncio.wait_for(heard.wait(), PATIENCE_S)
    stop()


async def test_a_stream_that_ended_for_good_is_not_the_last(harness: MongoHarness) -> None:
    """A collection that is dropped takes its stream with it."""
    heard = asyncio.Event()
    await grant(harness, ALICE)
    stop = await harness.leases.watch(heard.set)
    heard.clear()
    with stored(harness) as collection:
        collection.drop()
    await asyncio.wait_for(heard.wait(), PATIENCE_S)
    epoch = await grant(harness, ALICE)
    heard.clear()
    assert await release(harness, ALICE, epoch) == Released()
    await asyncio.wait_for(heard.wait(), PATIENCE_S)
    stop()


async def test_a_server_that_is_away_does_not_keep_a_watcher_waiting(harness: MongoHarness) -> None:
    heard = asyncio.Event()
    harness.proxy.cut()
    async with asyncio.timeout(REQUEST_TIMEOUT_S + OVERHEAD_S):
        await harness.leases.watch(heard.set)
    assert not heard.is_set()
    harness.proxy.heal()
    await asyncio.wait_for(heard.wait(), PATIENCE_S)


@contextmanager
def stored(harness: MongoHarness) -> Iterator[Collection[dict[str, Any]]]:
    """The documents themselves, as an operator finds them."""
    name = harness.url.rpartition("=")[2]
    with pymongo.MongoClient[dict[str, Any]](harness.url.rpartition("&")[0]) as client:
        yield client["fencepost"][f"{name}_leases"]


async def test_a_renewal_is_not_told_of_what_another_was_granted_since(
    harness: MongoHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two leases is lost, so that the renewal reads the documents; before it does, the other ends."""
    epoch = await grant(harness, ALICE)
    find, other = harness.leases._find, await harness.another()

    async def late(which: Any) -> Any:
        await harness.leases._collection.update_one({"_id": SHARD}, {"$set": {"expires_at": None}})
        granted((await other.acquire([SHARD], BOB, PATIENCE_S))[SHARD])
        return await find(which)

    monkeypatch.setattr(harness.leases, "_find", late)
    answers = await harness.leases.renew({SHARD: epoch, OTHER: Epoch(1)}, ALICE, PATIENCE_S)
    assert answers == {SHARD: Lost(), OTHER: Lost()}
