"""What a rule looks at first is one question to MongoDB: of one snapshot with all that follows, and never a
reason to give a run an older fence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import DEFAULT_NAMESPACE as NS
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, NodeId, RunKey
from fencepost.model.run import NewRun, Outcome, RunState
from fencepost.model.table import Range
from fencepost.model.tables import META, RUNS, RUNS_DUE_DIRECT
from fencepost.ports.rows import Transaction
from fencepost.stores.mongodb import MongoStore, each, migrate, open_store
from fencepost.stores.mongodb.batched import BatchedRows
from fencepost.stores.mongodb.documents import to_document
from fencepost.stores.mongodb.read_batch import KnownRanges, ReadBatch
from fencepost.stores.mongodb.rows import MongoRows
from tests.conformance.on_mongodb import empty

JOB = JobName("report")
KEYS = tuple(RunKey(f"report#{number}") for number in range(3))
APPETITE = ClaimRequest(NodeId("worker"), (DEFAULT_QUEUE,), (JOB,), 600.0, NS)
OTHER = ClaimRequest(NodeId("other"), (DEFAULT_QUEUE,), (JOB,), 600.0, NS)
LANE = RUNS_DUE_DIRECT(NS, DEFAULT_QUEUE, 2)
MOMENTS = [datetime(2031, 3, 1, 12, minute, tzinfo=UTC) for minute in range(4)]


@pytest.fixture
async def store(mongo_store_url: str) -> AsyncIterator[MongoStore]:
    await migrate(mongo_store_url, shards=8)
    empty(mongo_store_url)
    opened = await open_store(mongo_store_url)
    yield opened
    await opened.close()


async def enqueue(store: MongoStore, *keys: RunKey) -> None:
    await store.ledger.enqueue(NS, [NewRun(key, JOB, {}, DEFAULT_QUEUE, 2) for key in keys])


async def test_a_batch_and_what_is_asked_after_it_are_of_one_snapshot(store: MongoStore) -> None:
    async def rule(tx: Transaction) -> list[list[str]]:
        await enqueue(store, KEYS[1])
        found = [await tx.find(LANE, limit=1), await tx.find(LANE), await tx.find(RUNS.among(wanted))]
        return [[run["run_key"] for run in runs] for runs in found]

    wanted = [(NS, key) for key in KEYS[:2]]
    await enqueue(store, KEYS[0])
    assert isinstance(store.rows, MongoRows)
    batch = ReadBatch(keys=[META.at("shards")], ranges=[(LANE, 1)])
    assert await BatchedRows(store.rows, batch).read(rule) == [[KEYS[0]]] * 3


async def test_a_fence_that_was_drawn_before_the_run_was_seen_is_not_given_after_a_larger_one(
    store: MongoStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker has the run, and gives it back for another attempt, between the draw and the look."""
    read_batch, larger = each.EachTransaction.read_batch, list[int]()

    async def read_late(self: Any, batch: Any, *, with_time: bool) -> None:
        monkeypatch.setattr(each.EachTransaction, "read_batch", read_batch)
        await self._drawn
        (claim,) = await store.ledger.claim_direct(OTHER, 10)
        larger.append(claim.fence)
        await store.ledger.finish([Outcome(claim.ticket, RunState.READY, retry_in_s=0.0)])
        await read_batch(self, batch, with_time=with_time)

    await enqueue(store, KEYS[0])
    assert await store.ledger.claim_direct(APPETITE, 1)
    await enqueue(store, KEYS[1])
    monkeypatch.setattr(each.EachTransaction, "read_batch", read_late)
    (claim,) = await store.ledger.claim_direct(APPETITE, 1)
    assert (claim.run_key, claim.attempt) == (KEYS[1], 2)
    assert larger
    assert claim.fence > larger[0]


QUEUE = RUNS_DUE_DIRECT(NS, DEFAULT_QUEUE)
BEFORE, BEHIND = RUNS_DUE_DIRECT(NS, DEFAULT_QUEUE, 1), RUNS_DUE_DIRECT(NS, DEFAULT_QUEUE, 3)
KNOWN: list[tuple[str, Range, int | None, Range, int | None, list[int] | None]] = [
    ("the first of them", LANE, 3, LANE, 2, [0, 1]),
    ("as many as are known", LANE, 3, LANE, 3, [0, 1, 2]),
    ("more than are known", LANE, 3, LANE, 4, None),
    ("all, and some are not known", LANE, 3, LANE, None, None),
    ("all, and there are no others", LANE, 4, LANE, None, [0, 1, 2]),
    ("all that there are", LANE, None, LANE, None, [0, 1, 2]),
    ("those before a moment", LANE, 3, LANE.through(MOMENTS[1]), 10, [0, 1]),
    ("none before a moment", LANE, 3, LANE.before(MOMENTS[0]), 1, []),
    ("those before a moment behind the last", LANE, 3, LANE.through(MOMENTS[3]), 10, None),
    ("those after a moment", LANE, 3, LANE.after(MOMENTS[0]), 1, None),
    ("another lane", LANE, None, BEHIND, 1, None),
    ("a wider range", LANE, None, QUEUE, 1, None),
    ("a lane of a queue", QUEUE, 3, LANE, 3, [0, 1, 2]),
    ("a part of a lane of a queue", QUEUE, 3, LANE.through(MOMENTS[1]), 10, [0, 1]),
    ("all of the last lane that is known", QUEUE, 3, LANE, None, None),
    ("an empty lane of a queue", QUEUE, 3, BEFORE, 1, []),
    ("a lane behind what is known", QUEUE, 3, BEHIND, 1, None),
    ("a lane behind all that there is", QUEUE, 4, BEHIND, 1, []),
]


@pytest.mark.parametrize(
    ("asked", "most", "wanted", "limit", "expected"),
    [case[1:] for case in KNOWN],
    ids=[case[0] for case in KNOWN],
)
def test_a_range_is_known_only_where_no_row_of_it_can_be_missing(
    asked: Range, most: int | None, wanted: Range, limit: int | None, expected: list[int] | None
) -> None:
    """The first so many of one range are known, and there are three at least."""
    known = KnownRanges()
    waiting = {"namespace": NS, "job": JOB, "state": "ready", "queue": DEFAULT_QUEUE, "priority": 2}
    documents = [
        to_document(
            RUNS, RUNS.row({**waiting, "run_key": str(number), "run_at": moment, "fire_time": moment})
        )
        for number, moment in enumerate(MOMENTS[:3])
    ]
    known.keep(asked, most, documents)
    found = known.find(wanted, limit)
    assert (None if found is None else [int(one["run_key"]) for one in found]) == expected


def test_a_range_is_not_known_from_its_end() -> None:
    known = KnownRanges()
    known.keep(LANE, None, [])
    assert known.find(LANE, 1) == []
    assert known.find(LANE, 1, reverse=True) is None


async def test_a_single_claim_finds_the_most_urgent_run_that_is_due(store: MongoStore) -> None:
    """Also where a more urgent lane has only what is not due, or nothing."""
    later = datetime.now(UTC) + timedelta(hours=1)
    runs = [(KEYS[0], 0, later), (KEYS[1], 3, None), (KEYS[2], 2, None)]
    await store.ledger.enqueue(
        NS, [NewRun(key, JOB, {}, DEFAULT_QUEUE, priority, run_at) for key, priority, run_at in runs]
    )
    found = [await store.ledger.claim_direct(APPETITE, 1) for _ in range(3)]
    assert [[claim.run_key for claim in claims] for claims in found] == [[KEYS[2]], [KEYS[1]], []]


async def test_a_run_whose_key_is_there_is_not_enqueued_again(store: MongoStore) -> None:
    """It is not looked for before it is written: all are written, or the rule looks and runs again."""
    assert await store.ledger.enqueue(NS, [NewRun(KEYS[1], JOB, {"n": 1}, DEFAULT_QUEUE, 2)]) == [True]
    again = [NewRun(key, JOB, {"n": 2}, DEFAULT_QUEUE, 2) for key in KEYS]
    assert await store.ledger.enqueue(NS, again) == [True, False, True]
    assert await store.ledger.enqueue(NS, again) == [False] * 3
    kept = await store.ledger.get(NS, KEYS[1])
    assert kept is not None
    assert kept.payload == {"n": 1}


async def test_two_that_enqueue_the_same_runs_at_once_are_told_apart(store: MongoStore) -> None:
    keys = [RunKey(str(number)) for number in range(20)]
    runs = [NewRun(key, JOB, {}, DEFAULT_QUEUE, 2) for key in keys]
    told = await asyncio.gather(*(store.ledger.enqueue(NS, runs[start:]) for start in (0, 5, 10)))
    new = [
        key
        for start, some in zip((0, 5, 10), told, strict=True)
        for key, is_new in zip(keys[start:], some, strict=True)
        if is_new
    ]
    assert sorted(new) == sorted(keys)
