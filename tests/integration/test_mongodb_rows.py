"""Rows of MongoDB where several reach for them, where time runs out, and where text looks like an order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from pymongo import MongoClient

from fencepost.errors import StoreUnavailable
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import DEFAULT_QUEUE
from fencepost.model.run import Hold
from fencepost.model.tables import META, RUNS, RUNS_LIMITED
from fencepost.ports.rows import Transaction
from fencepost.stores import mongodb
from fencepost.stores.mongodb import rows as module
from fencepost.stores.mongodb.rows import MongoRows
from fencepost.stores.mongodb.store import MongoStore
from fencepost.testing.conformance.builders import ALICE, JOB, NS, by_hand
from tests.conformance.on_mongodb import SHARDS, empty

WAIT_S = 60.0
RUNS_AT_ONCE, OPEN = 40, 12


@pytest.fixture
async def store(mongo_store_url: str) -> AsyncIterator[MongoStore]:
    await mongodb.migrate(mongo_store_url, shards=SHARDS)
    empty(mongo_store_url)
    opened = await mongodb.open_store(mongo_store_url)
    await opened.rows.write(lambda tx: tx.put_if_absent(META, [{"name": "a", "value": "old"}]))
    yield opened
    await opened.close()


async def test_what_runs_out_of_time_leaves_nothing_locked(
    store: MongoStore, mongo_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write_slowly(tx: Transaction) -> None:
        (row,) = await tx.lock(META.at("a"))
        await tx.change(META, [(row, {"value": "late"})])
        await tx.find(META.all())
        await asyncio.sleep(2.0)
        await tx.find(META.all())

    monkeypatch.setattr(module, "DRIVER_TIMEOUT_S", 1.5)
    with pytest.raises(StoreUnavailable):
        await store.rows.write(write_slowly)
    other = MongoClient[dict[str, Any]](mongo_store_url)
    with other, other.start_session() as session, session.start_transaction():
        meta = other.get_default_database()["meta"]
        meta.update_one({"_id": {"name": "a"}}, {"$set": {"value": "new"}}, session=session)


async def test_a_lock_holds_where_the_row_is_changed_to_what_it_was(store: MongoStore) -> None:
    tries = 0

    async def change(tx: Transaction, value: str) -> None:
        (row,) = await tx.lock(META.at("a"))
        await tx.change(META, [(row, {"value": value})])

    async def change_to_the_same(tx: Transaction) -> str:
        nonlocal tries
        tries += 1
        (row,) = await tx.lock(META.at("a"))
        await tx.change(META, [(row, {"value": row["value"]})])
        if tries == 1:
            await store.rows.write(lambda other: change(other, "new"))
        return str(row["value"])

    assert await store.rows.write(change_to_the_same) == "new"
    assert tries == 2


@pytest.mark.parametrize("slot", ["$", "$$a", "$z", "$a.b", "{}"])
async def test_a_slot_that_looks_like_an_expression_is_text(store: MongoStore, slot: str) -> None:
    waiting = {"namespace": "default", "job": "a-job", "state": "ready", "queue": "default", "priority": 2}
    runs = [
        {**waiting, "run_key": f"{name} {number}", "slot": name, "held": Hold.LIMITED.value}
        for name in ("!a", slot)
        for number in range(3)
    ]
    await store.rows.write(lambda tx: tx.put_if_absent(RUNS, runs))
    slots = RUNS_LIMITED.each(("default", "a-job", name) for name in ("!a", slot))
    found = await store.rows.read(lambda tx: tx.find(slots, limit=1))
    assert [run["run_key"] for run in found] == ["!a 0", f"{slot} 0"]


@pytest.mark.timeout(300)
async def test_heartbeats_get_past_many_runs_that_are_in_transactions_of_their_own(
    store: MongoStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dozen clients connect, on a busy machine for seconds."""
    tries, attempt = list[bool](), MongoRows._try

    async def counted(self: MongoRows, rule: Any, avoided: Any, *, careful: bool) -> Any:
        tries.append(careful)
        return await attempt(self, rule, avoided, careful=careful)

    assert all(await store.ledger.enqueue(NS, [by_hand(str(number)) for number in range(RUNS_AT_ONCE)]))
    wanted = ClaimRequest(ALICE, (DEFAULT_QUEUE,), (JOB,), 600.0, NS)
    claims = await store.ledger.claim_direct(wanted, RUNS_AT_ONCE)
    tickets = [claim.ticket for claim in claims]
    async with AsyncExitStack() as stack:
        for ticket in tickets[:OPEN]:
            begun = store.transactions.begin(ticket, complete=False, idle_max_s=WAIT_S)
            await stack.enter_async_context(begun)
        monkeypatch.setattr(MongoRows, "_try", counted)
        pulses = await store.ledger.pulse(tickets, 600.0)
    assert [one.owned for one in pulses] == [True] * RUNS_AT_ONCE
    assert tries == [False, False, True]
