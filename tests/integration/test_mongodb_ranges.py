"""Ranges of indexes on a real MongoDB find what their index has between their bounds, in its order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import Any

import pytest

from fencepost.model.table import Bound, Index, Range, Ranges, Row
from fencepost.model.tables import (
    RUNS,
    RUNS_BEHIND,
    RUNS_DUE_DIRECT,
    RUNS_FINISHED,
    RUNS_OPEN,
    RUNS_SUCCEEDED,
)
from fencepost.stores.mongodb import MongoStore, migrate, open_store, transaction
from tests.conformance.on_mongodb import empty
from tests.integration.test_mongodb_documents import possible_runs
from tests.marks import in_proof

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MOMENTS = [NOON + timedelta(microseconds=number) for number in range(3)]
INDEXES = RUNS_OPEN, RUNS_BEHIND, RUNS_FINISHED, RUNS_SUCCEEDED, RUNS_DUE_DIRECT, RUNS.indexes["runs_key"]
QUESTIONS = 150


def runs(random: Random) -> list[Row]:
    """Some of every index, of few namespaces, schedules and moments, so that most have neighbours."""
    every = list(possible_runs())
    kinds = [one for index in INDEXES for one in random.sample(list(filter(index.has, every)), 10)]
    few = product(("one", "two"), ("a", "b", "c"))
    return [
        {
            **kind,
            "namespace": namespace,
            "schedule_id": kind["schedule_id"] and schedule,
            "run_key": f"{number:02}-{schedule}",
            **{name: random.choice(MOMENTS) for name in ("fire_time", "run_at", "finished_at") if kind[name]},
        }
        for namespace, schedule in few
        for number, kind in enumerate(kinds)
    ]


@pytest.fixture
async def store(mongo_store_url: str) -> AsyncIterator[MongoStore]:
    await migrate(mongo_store_url, shards=8)
    empty(mongo_store_url)
    opened = await open_store(mongo_store_url)
    yield opened
    await opened.close()


def a_range(random: Random, index: Index, found: list[Row], equal: int) -> Range:
    """One that begins, and may end, with columns of some of the rows."""
    columns = index.columns

    def bound() -> Bound | None:
        row = random.choice(found)
        values = tuple(row[name] for name in columns[equal : equal + random.randint(0, 2)])
        return Bound(values, inclusive=random.random() < 0.5) if values else None

    row = random.choice(found)
    return Range(index, tuple(row[name] for name in columns[:equal]), bound(), bound())


def expected(one: Range, rows: list[Row], limit: int | None, reverse: bool) -> list[Row]:
    within = sorted(
        (row for row in rows if one.covers(row)), key=lambda row: place(one.index, row), reverse=reverse
    )
    return within[:limit]


def place(index: Index, row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in index.columns)


async def find(store: MongoStore, wanted: Ranges, limit: int | None, reverse: bool) -> list[Row]:
    return await store.rows.read(lambda tx: tx.find(wanted, limit=limit, reverse=reverse))


@pytest.mark.parametrize("seed", [0, *in_proof(1, 2, 3)])
async def test_ranges_find_what_is_between_their_bounds(
    store: MongoStore, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One, or several at once: of schedules whose bounds differ, with few rows wanted of each or all."""
    random = Random(seed)
    rows = runs(random)
    monkeypatch.setattr(transaction, "RANGES_MAX", 200 if seed % 2 else 2)
    await store.rows.write(lambda tx: tx.put_if_absent(RUNS, rows))
    looked = 0
    for _ in range(QUESTIONS):
        index, limit, reverse = random.choice(INDEXES), random.choice((None, 1, 3)), random.random() < 0.5
        found = [row for row in rows if index.has(row)]
        equal = random.randint(0, len(index.columns) - 2)
        each = {
            one.equal: one
            for one in (a_range(random, index, found, equal) for _ in range(random.randint(1, 5)))
        }
        wanted = Ranges(RUNS, tuple(each.values()))
        told = [row for one in each.values() for row in expected(one, rows, limit, reverse)]
        assert await find(store, wanted, limit, reverse) == told
        looked += len(told)
    assert looked > QUESTIONS
