"""A record and a rescue cannot overtake each other, and nobody waits for a locked run to hear its words."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from fencepost.clock import SystemClock
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, JobName, NodeId, RunKey
from fencepost.model.run import NewRun, ProgressReport, Ticket
from fencepost.model.run_log import LogChunk, LogPage
from fencepost.stores.postgres import PostgresStore, open_store
from tests.integration.waiting import until_blocked

pytestmark = pytest.mark.postgres

NS, JOB, KEY = DEFAULT_NAMESPACE, JobName("report"), RunKey("report#1")
TAKE_AWAY = "UPDATE fencepost.runs SET fence = nextval('fencepost.fences') WHERE run_key = $1"
LOCK = "SELECT 1 FROM fencepost.runs WHERE run_key = $1 FOR UPDATE"
STEPS = "SELECT count(*) FROM fencepost.steps"


@pytest.fixture
async def store(emptied_postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await open_store(emptied_postgres_url, clock=SystemClock())
    yield opened
    await opened.close()


@pytest.fixture
async def rival(emptied_postgres_url: str) -> AsyncIterator[Any]:
    """A second client, whose transactions the test holds open as long as it likes."""
    connection = await asyncpg.connect(emptied_postgres_url)
    yield connection
    await connection.close()


async def claimed(store: PostgresStore) -> Ticket:
    await store.ledger.enqueue(NS, [NewRun(KEY, JOB, {}, DEFAULT_QUEUE, 2)])
    (claim,) = await store.ledger.claim_direct(ClaimRequest(NodeId("n"), (DEFAULT_QUEUE,), (JOB,), 30), 1)
    return claim.ticket


async def test_a_record_is_refused_when_the_run_is_taken_away_while_it_waits(
    store: PostgresStore, rival: Any
) -> None:
    """A comparison without the lock would see the run as it was before, and let the zombie's record in."""
    ticket = await claimed(store)
    async with rival.transaction():
        await rival.execute(TAKE_AWAY, KEY)
        recording = asyncio.create_task(store.steps.record(ticket, "charge", "1"))
        await until_blocked(rival)
    assert await recording is None
    assert await rival.fetchval(STEPS) == 0


async def test_a_run_is_not_taken_away_in_the_middle_of_a_record(store: PostgresStore, rival: Any) -> None:
    """Whoever takes it away after the record has begun waits, and then finds the record."""
    ticket = await claimed(store)
    async with rival.transaction():
        await rival.execute(
            "INSERT INTO fencepost.steps (namespace, run_key, name, result, attempt, recorded_at)"
            " VALUES ($1, $2, 'charge', '0', 1, now())",
            NS,
            KEY,
        )
        recording = asyncio.create_task(store.steps.record(ticket, "charge", "1"))
        await until_blocked(rival)
        assert await rival.fetchval(LOCK.replace("FOR UPDATE", "FOR UPDATE SKIP LOCKED"), KEY) is None
    assert await recording == "0"


async def test_words_and_lines_do_not_wait_for_a_run_that_is_locked(store: PostgresStore, rival: Any) -> None:
    ticket = await claimed(store)
    page, words = LogPage(ticket, (LogChunk(1, 0, 1, "a line"),)), ProgressReport(ticket, "0.5")
    async with asyncio.timeout(4), rival.transaction():
        await rival.fetchval(LOCK, KEY)
        assert list(await store.run_logs.append([page])) == [False]
        assert list(await store.ledger.report_progress([words])) == [False]
    assert list(await store.run_logs.append([page])) == [True]
    assert list(await store.ledger.report_progress([words])) == [True]
