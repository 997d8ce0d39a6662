"""Claims and reports on MongoDB are no transactions: each run is changed by itself, if it is still as it was
seen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from bson import ObjectId
from pymongo import MongoClient

from fencepost.errors import StoreUnavailable
from fencepost.model.claiming import Appetite
from fencepost.model.identifiers import DEFAULT_NAMESPACE as NS
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, NodeId, RunKey
from fencepost.model.run import Claim, NewRun, Outcome, Receipt, RunState
from fencepost.model.tables import RUNS
from fencepost.stores.mongodb import MongoStore, each, migrate, open_store
from fencepost.stores.mongodb.documents import id_of
from fencepost.stores.mongodb.transaction import REVISION
from tests.conformance.on_mongodb import empty

JOB = JobName("report")
KEYS = tuple(RunKey(f"report#{number}") for number in range(3))
APPETITE = Appetite(NodeId("worker"), (DEFAULT_QUEUE,), (JOB,), 600.0, NS)


@pytest.fixture
async def store(mongo_store_url: str) -> AsyncIterator[MongoStore]:
    await migrate(mongo_store_url, shards=8)
    empty(mongo_store_url)
    opened = await open_store(mongo_store_url)
    await opened.ledger.enqueue(NS, [NewRun(key, JOB, {}, DEFAULT_QUEUE, 2) for key in KEYS])
    yield opened
    await opened.close()


def touch_before_the_write(monkeypatch: pytest.MonkeyPatch, url: str, keys: Sequence[RunKey]) -> None:
    """Let others change these runs after they were seen and before they are written."""
    together = each.together

    def overtaken(changes: Any) -> Any:
        with MongoClient[dict[str, Any]](url) as client:
            wanted = {"_id": {"$in": [id_of(RUNS, (NS, key)) for key in keys]}}
            client.get_default_database().runs.update_many(wanted, {"$set": {REVISION: ObjectId()}})
        monkeypatch.setattr(each, "together", together)
        return together(changes)

    monkeypatch.setattr(each, "together", overtaken)


async def claimed(store: MongoStore) -> dict[RunKey, Claim]:
    return {one.run_key: one for one in await store.ledger.claim_direct(APPETITE, 10)}


async def state_of(store: MongoStore, key: RunKey) -> RunState:
    run = await store.ledger.get(NS, key)
    assert run is not None
    return run.state


async def test_a_run_that_changed_since_it_was_seen_is_not_claimed(
    store: MongoStore, mongo_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch_before_the_write(monkeypatch, mongo_store_url, KEYS[1:2])
    assert set(await claimed(store)) == {KEYS[0], KEYS[2]}
    assert await state_of(store, KEYS[1]) is RunState.READY


async def test_a_claim_that_lost_all_is_tried_again_in_a_transaction(
    store: MongoStore, mongo_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch_before_the_write(monkeypatch, mongo_store_url, KEYS)
    assert set(await claimed(store)) == set(KEYS)


async def test_a_report_on_a_run_that_changed_since_its_claim_is_by_what_it_is_now(store: MongoStore) -> None:
    claims = await claimed(store)
    await store.ledger.cancel(NS, KEYS[1], "enough")
    again = [Outcome(claims[key].ticket, RunState.READY, retry_in_s=0.0) for key in KEYS]
    assert await store.ledger.finish(again) == [Receipt.ACCEPTED] * 3
    assert [await state_of(store, key) for key in KEYS] == [
        RunState.READY,
        RunState.CANCELLED,
        RunState.READY,
    ]


async def test_a_report_is_repeated_and_one_of_another_fence_refused(store: MongoStore) -> None:
    claims = await claimed(store)
    ended = [Outcome(claims[key].ticket, RunState.SUCCEEDED) for key in KEYS]
    assert await store.ledger.finish(ended[:2]) == [Receipt.ACCEPTED] * 2
    assert await store.ledger.finish(ended) == [Receipt.REPEATED, Receipt.REPEATED, Receipt.ACCEPTED]


async def test_a_run_in_an_open_transaction_is_in_the_way_once(
    store: MongoStore, mongo_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client may be dead, and the server keeps the document for it. The next claim passes by."""
    monkeypatch.setattr(each, "WAIT_MAX_S", 0.3)
    with MongoClient[dict[str, Any]](mongo_store_url) as client, client.start_session() as session:
        session.start_transaction()
        runs = client.get_default_database().runs
        runs.update_one({"_id": id_of(RUNS, (NS, KEYS[0]))}, {"$set": {"note": "mine"}}, session=session)
        with pytest.raises(StoreUnavailable):
            await claimed(store)
        later = {
            *await claimed(store),
            *(one.run_key for one in await store.ledger.adopt(APPETITE.worker, ())),
        }
        assert later == {KEYS[1], KEYS[2]}
        session.abort_transaction()
    assert set(await claimed(store)) == {KEYS[0]}
