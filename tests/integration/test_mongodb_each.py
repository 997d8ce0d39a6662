"""Claims and reports on MongoDB are no transactions: each run is changed by itself, if it is still as it was
seen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from bson import ObjectId
from pymongo import MongoClient

from fencepost.errors import StoreUnavailable
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import DEFAULT_NAMESPACE as NS
from fencepost.model.identifiers import DEFAULT_QUEUE, Fence, JobName, NodeId, RunKey
from fencepost.model.run import Claim, Hold, NewRun, Outcome, Receipt, RunState, Ticket
from fencepost.model.tables import RUNS
from fencepost.stores.mongodb import MongoStore, each, migrate, open_store
from fencepost.stores.mongodb.changes import REVISION
from fencepost.stores.mongodb.documents import id_of
from tests.conformance.on_mongodb import empty

JOB = JobName("report")
KEYS = tuple(RunKey(f"report#{number}") for number in range(3))
APPETITE = ClaimRequest(NodeId("worker"), (DEFAULT_QUEUE,), (JOB,), 600.0, NS)


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
    together: Any = vars(each)["together"]  # As it is now: a bug may be planted in it.

    def overtaken(changes: Any, *, as_seen: bool) -> Any:
        with MongoClient[dict[str, Any]](url) as client:
            wanted = {"_id": {"$in": [id_of(RUNS, (NS, key)) for key in keys]}}
            client.get_default_database().runs.update_many(wanted, {"$set": {REVISION: ObjectId()}})
        monkeypatch.setattr(each, "together", together)
        return together(changes, as_seen=as_seen)

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


def touch_after_the_write(monkeypatch: pytest.MonkeyPatch, url: str, key: RunKey) -> None:
    """Let others change this run after it was written and before it is looked at again."""
    lost = each.EachRows._lost

    async def looked(self: Any, changes: Any) -> Any:
        with MongoClient[dict[str, Any]](url) as client:
            one = {"_id": id_of(RUNS, (NS, key))}
            client.get_default_database().runs.update_one(one, {"$set": {REVISION: ObjectId(), "held": 1}})
        return await lost(self, changes)

    monkeypatch.setattr(each.EachRows, "_lost", looked)


async def test_a_run_that_was_claimed_and_changed_at_once_is_not_forgotten(
    store: MongoStore, mongo_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A freeze marks it before its claimer looks which of its claims were written."""
    touch_before_the_write(monkeypatch, mongo_store_url, KEYS[:1])
    touch_after_the_write(monkeypatch, mongo_store_url, KEYS[1])
    assert set(await claimed(store)) == {KEYS[1], KEYS[2]}


async def test_a_report_that_could_not_wake_the_next_tick_wakes_it_then(
    store: MongoStore, mongo_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker judges the parked tick between the look and the write."""
    moment = datetime.now(UTC) - timedelta(minutes=1)
    tick = {"namespace": NS, "schedule_id": "nightly", "job": JOB, "queue": DEFAULT_QUEUE, "priority": 2}
    both = {**tick, "run_at": moment, "fire_time": moment, "origin": "live"}
    worker = {
        "worker": APPETITE.worker,
        "fence": 7,
        "attempt": 1,
        "alive_until": moment,
        "started_at": moment,
    }
    first = {**both, **worker, "run_key": "nightly@1", "state": "running", "first_started_at": moment}
    parked = {**both, "run_key": "nightly@2", "state": "planned", "held": Hold.PARKED.value}
    await store.rows.write(lambda tx: tx.put_if_absent(RUNS, [first, parked]))
    touch_before_the_write(monkeypatch, mongo_store_url, [RunKey("nightly@2")])
    ended = Outcome(Ticket(NS, RunKey("nightly@1"), 1, Fence(7)), RunState.SUCCEEDED)
    assert await store.ledger.finish([ended]) == [Receipt.ACCEPTED]
    (next_one,) = await store.rows.read(lambda tx: tx.find(RUNS.at(NS, "nightly@2")))
    assert next_one["held"] == 0
