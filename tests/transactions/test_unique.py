"""Runs that are unique, in the caller's own transaction: whoever else wants the name waits for its end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from fencepost import Fencepost, Unique
from fencepost.testing.conformance.builders import NS, claim_request, success
from tests.servers.postgres import ask
from tests.transactions.drivers import ON_POSTGRES, ON_SQLITE, Opened
from tests.transactions.ground import Ground
from tests.transactions.test_own_transactions import CASES

PATIENCE_S, LOOKS_MAX = 20, 1_000
WAITING = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
every_driver = pytest.mark.parametrize(("driver", "place"), CASES)


@pytest.fixture
def ground(place: str, request: pytest.FixtureRequest) -> Ground:
    found: Ground = request.getfixturevalue(f"on_{place}")
    return found


@pytest.fixture
def opened(driver: str, place: str) -> Opened:
    return (ON_SQLITE if place == "sqlite" else ON_POSTGRES)[driver]


def app_on(url: str) -> Iterator[Fencepost]:
    app = Fencepost(url)

    @app.job()
    async def report(region: str = "eu") -> None:
        """Never run here."""

    yield app
    app.retire()


@pytest.fixture
def app(ground: Ground) -> Iterator[Fencepost]:
    yield from app_on(ground.url)


@every_driver
async def test_the_caller_learns_the_key_of_the_run_that_is_there(
    ground: Ground, opened: Opened, app: Fencepost
) -> None:
    async with opened(ground.url) as hand:
        words: dict[str, Any] = {"connection": hand.connection, "unique": "unfinished", "expires": "10m"}
        first = await app.enqueue("report", **words)
        assert await app.enqueue("report", **words) == first
        other = await app.enqueue("report", region="us", **words)
        assert other != first
        await hand.commit()
    async with opened(ground.url) as hand:
        assert await app.enqueue("report", connection=hand.connection, unique="queued") == first
        await hand.rollback()
    record = await ground.record(first)
    assert record.expires_at is not None
    assert (record.expires_at - record.run_at).total_seconds() == 600


@every_driver
async def test_a_name_that_was_taken_and_rolled_back_is_free(
    ground: Ground, opened: Opened, app: Fencepost
) -> None:
    async with opened(ground.url) as hand:
        gone = await app.enqueue("report", connection=hand.connection, unique="1h")
        await hand.rollback()
    async with opened(ground.url) as hand:
        kept = await app.enqueue("report", connection=hand.connection, unique="1h")
        await hand.commit()
    assert kept != gone
    assert await ground.store.ledger.get(NS, gone) is None
    assert (await ground.record(kept)).run_key == kept


@pytest.fixture
def on_server(on_postgres: Ground) -> Iterator[Fencepost]:
    yield from app_on(on_postgres.url)


@pytest.mark.postgres
@pytest.mark.parametrize("is_kept", [True, False])
async def test_who_asks_meanwhile_waits_for_the_end_of_the_transaction(
    on_postgres: Ground, on_server: Fencepost, is_kept: bool
) -> None:
    """The race in which one that looks first, and writes then, gets two runs."""
    app = on_server
    async with ON_POSTGRES["asyncpg"](on_postgres.url) as hand:
        first = await app.enqueue("report", connection=hand.connection, unique="unfinished")
        others = [asyncio.create_task(app.enqueue("report", unique="unfinished")) for _ in range(3)]
        await until_waiting(on_postgres.url, 3)
        assert not any(one.done() for one in others)
        await (hand.commit() if is_kept else hand.rollback())
        keys = set(await asyncio.wait_for(asyncio.gather(*others), PATIENCE_S))
    assert len(keys) == 1
    assert (keys == {first}) is is_kept
    await app.close()


@pytest.mark.postgres
async def test_a_queued_run_does_not_begin_before_the_caller_has_committed(
    on_postgres: Ground, on_server: Fencepost
) -> None:
    """What the caller writes beside it is seen by the run that it was told of."""
    app = on_server
    totals = Unique("queued", name="totals")
    first = await app.enqueue("report", unique=totals)
    async with ON_POSTGRES["asyncpg"](on_postgres.url) as hand:
        await hand.insert("news", 1)
        assert await app.enqueue("report", connection=hand.connection, unique=totals) == first
        assert await on_postgres.store.ledger.claim_direct(claim_request(), 10) == []
        await hand.commit()
    (claimed,) = await on_postgres.store.ledger.claim_direct(claim_request(), 10)
    assert claimed.run_key == first
    await on_postgres.store.ledger.finish([success(claimed.ticket)])
    await app.close()


async def until_waiting(url: str, count: int) -> None:
    for _ in range(LOOKS_MAX):
        if await ask(url, WAITING) >= count:
            return
        await asyncio.sleep(0.02)
    raise TimeoutError("they do not wait")
