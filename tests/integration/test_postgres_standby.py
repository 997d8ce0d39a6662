"""With a synchronous standby nothing is acknowledged that only the primary has.

PostgreSQL lets a wait for the standby be cancelled: by the client whose patience ends, or by an operator. The
commit stands all the same, is seen by everybody, and would be lost with the primary.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from fencepost.clock import SystemClock
from fencepost.errors import StoreUnavailable
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, JobName, NodeId, RunKey
from fencepost.model.run import NewRun, Outcome, Receipt, RunState
from fencepost.stores.postgres import PostgresStore, migrate, open_store
from tests.integration.waiting import until
from tests.servers.postgres import ask, execute
from tests.servers.postgres_pair import PostgresPair

WAIT_S = 20.0
PATIENCE_S = 1.0
ORDER = NewRun(RunKey("order#one"), JobName("order"), {}, DEFAULT_QUEUE, 2, None)
APPETITE = ClaimRequest(NodeId("me"), (DEFAULT_QUEUE,), (JobName("order"),), alive_for_s=30)
WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'fencepost'"
)
CANCEL = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

pytestmark = [pytest.mark.proof, pytest.mark.postgres]


@pytest.fixture
async def pair() -> AsyncIterator[PostgresPair]:
    pair = await PostgresPair.open()
    yield pair
    await pair.close()


@pytest.fixture
async def store(pair: PostgresPair) -> AsyncIterator[PostgresStore]:
    await migrate(pair.url, shards=1)
    opened = await open_store(pair.url, clock=SystemClock())
    yield opened
    await opened.close()


async def test_a_wait_for_the_standby_that_an_operator_ended_is_not_an_acknowledgement(
    pair: PostgresPair, store: PostgresStore
) -> None:
    await asyncio.to_thread(pair.standby.kill)
    order = asyncio.create_task(_enqueue(store))
    await _holds(pair, WAITING)
    await execute(pair.url, CANCEL)
    with pytest.raises(StoreUnavailable, match="standby"):
        await order


async def test_a_run_that_is_there_already_is_not_acknowledged_before_the_standby_has_it(
    pair: PostgresPair, store: PostgresStore
) -> None:
    await asyncio.to_thread(pair.standby.kill)
    await _give_up(store)
    await _holds(pair, "SELECT count(*) = 1 FROM fencepost.runs")
    again = asyncio.create_task(_enqueue(store))
    done, _ = await asyncio.wait([again], timeout=PATIENCE_S)
    assert not done, "acknowledged, and lost with the primary"
    await asyncio.to_thread(pair.standby.start)
    async with asyncio.timeout(WAIT_S):
        assert await again == [False]


async def test_no_claim_is_adopted_before_the_standby_has_it(
    pair: PostgresPair, store: PostgresStore
) -> None:
    await _enqueue(store)
    await asyncio.to_thread(pair.standby.kill)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            await store.ledger.claim_direct(APPETITE, 1)
    await _holds(pair, "SELECT count(*) = 1 FROM fencepost.runs WHERE state = 'running'")
    adopting = asyncio.create_task(store.ledger.adopt(APPETITE.worker, []))
    done, _ = await asyncio.wait([adopting], timeout=PATIENCE_S)
    assert not done, "run here, and once more after the loss of the primary"
    await asyncio.to_thread(pair.standby.start)
    async with asyncio.timeout(WAIT_S):
        assert [claim.run_key for claim in await adopting] == [ORDER.run_key]


async def test_a_report_is_not_called_repeated_before_the_standby_has_the_first_one(
    pair: PostgresPair, store: PostgresStore
) -> None:
    await _enqueue(store)
    (claim,) = await store.ledger.claim_direct(APPETITE, 1)
    outcome = Outcome(claim.ticket, RunState.SUCCEEDED)
    await asyncio.to_thread(pair.standby.kill)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            await store.ledger.finish([outcome])
    await _holds(pair, "SELECT count(*) = 1 FROM fencepost.runs WHERE state = 'succeeded'")
    again = asyncio.create_task(store.ledger.finish([outcome]))
    done, _ = await asyncio.wait([again], timeout=PATIENCE_S)
    assert not done, "forgotten here, and run once more after the loss of the primary"
    await asyncio.to_thread(pair.standby.start)
    async with asyncio.timeout(WAIT_S):
        assert list(await again) == [Receipt.REPEATED]


async def _enqueue(store: PostgresStore) -> list[bool]:
    return list(await store.ledger.enqueue(DEFAULT_NAMESPACE, [ORDER]))


async def _give_up(store: PostgresStore) -> None:
    """Ask, and have no patience."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            await _enqueue(store)


async def _holds(pair: PostgresPair, question: str) -> None:
    """As everybody sees it."""

    async def holds() -> bool:
        return bool(await ask(pair.url, question))

    await until(holds)
