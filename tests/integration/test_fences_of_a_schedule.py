"""Fences of one schedule rise from claim to claim also where two claims are under way at once: the one that
is seen later has the larger fence. A store with one writer at a time cannot do otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from fencepost.core.limits import decide
from fencepost.model.job import JobSpec
from fencepost.model.limits import JobLimit
from fencepost.model.run import Claim
from fencepost.model.tables import SCHEDULES
from fencepost.ports.rows import Transaction
from fencepost.testing.conformance.builders import (
    BOB,
    JOB,
    NS,
    SCHEDULE,
    claim,
    claim_request,
    finish,
    retry,
    start_tick,
)
from fencepost.testing.conformance.harness import StoreHarness
from tests.conformance.on_mongodb import open_mongodb
from tests.conformance.on_postgres import open_postgres


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.postgres), "mongodb"])
async def harness(request: pytest.FixtureRequest) -> AsyncIterator[StoreHarness]:
    if request.param == "postgres":
        on_postgres = await open_postgres(request.getfixturevalue("shared_postgres_url"))
        yield on_postgres
        await on_postgres.close()
    else:
        on_mongodb = await open_mongodb(request.getfixturevalue("mongo_store_url"))
        yield on_mongodb
        await on_mongodb.store.close()


class Claimer:
    """Somebody who has the schedule, has drawn a fence for it, and stops before the end."""

    def __init__(self, harness: StoreHarness) -> None:
        self._harness = harness
        self._has_drawn, self._goes_on = asyncio.Event(), asyncio.Event()

    async def __aenter__(self) -> asyncio.Task[int]:
        task = asyncio.create_task(self._harness.store.rows.write(self._claim))
        await self._has_drawn.wait()
        return task

    async def __aexit__(self, *error: object) -> None:
        self._goes_on.set()

    async def _claim(self, tx: Transaction) -> int:
        assert await tx.take(SCHEDULES.at(NS, SCHEDULE))
        (fence,) = await tx.fences(1)
        self._has_drawn.set()
        await self._goes_on.wait()
        return fence


async def test_a_retry_is_not_given_a_larger_fence_than_a_later_claim_of_its_schedule(
    harness: StoreHarness,
) -> None:
    await finish(harness, retry((await start_tick(harness)).ticket))
    async with Claimer(harness) as other:
        before = await claim(harness, BOB)
    await rises(before, await other, await claim(harness, BOB))


async def test_nor_is_one_from_the_line_of_its_job(harness: StoreHarness) -> None:
    started = await start_tick(harness)
    await harness.store.jobs.register(NS, [JobSpec(JOB, limit=JobLimit(concurrency=5))])
    await finish(harness, retry(started.ticket))
    assert await claim(harness, BOB) == []  # It is in the line now.
    async with Claimer(harness) as other:
        before = await from_line(harness)
    await rises(before, await other, await from_line(harness))


async def from_line(harness: StoreHarness) -> list[Claim]:
    return list(await harness.store.ledger.claim_lined(claim_request(BOB), 10, decide))


async def rises(before: list[Claim], between: int, after: list[Claim]) -> None:
    """What was claimed before the other had ended, and after it: one of both is the retry."""
    assert len(before) + len(after) == 1
    assert all(one.fence < between for one in before)
    assert all(one.fence > between for one in after)
