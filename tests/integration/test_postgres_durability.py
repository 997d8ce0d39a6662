"""What a server, a database or a role is set up to: what is acknowledged is durable all the same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TypeAlias

import pytest

from fencepost.clock import SystemClock
from fencepost.model.rescue import SweepTerms
from fencepost.stores.postgres import PostgresStore, open_store
from tests.servers.postgres import ask, execute
from tests.transactions.ground import Ground

pytestmark = pytest.mark.postgres

SHOWN = "SELECT current_setting($1)"
POOLED = "?statement_cache_size=0"
Opened: TypeAlias = Callable[..., Awaitable[PostgresStore]]


@pytest.fixture
async def opened(postgres_url: str) -> AsyncIterator[Opened]:
    """A store whose database has these defaults for its sessions."""
    async with AsyncExitStack() as stack:

        async def open_with(more: str = "", **defaults: str) -> PostgresStore:
            await set_defaults(postgres_url, **defaults)
            store = await open_store(f"{postgres_url}{more}", clock=SystemClock())
            stack.push_async_callback(store.close)
            return store

        yield open_with


async def set_defaults(url: str, **defaults: str) -> None:
    database = await ask(url, "SELECT current_database()")
    for name, value in defaults.items():
        await execute(url, f"ALTER DATABASE \"{database}\" SET {name} = '{value}'")


@pytest.mark.parametrize(
    ("default", "used"),
    [("off", "on"), ("local", "local"), ("remote_write", "remote_write"), ("remote_apply", "remote_apply")],
)
async def test_a_commit_is_never_acknowledged_before_it_is_durable(
    opened: Opened, default: str, used: str
) -> None:
    store = await opened(synchronous_commit=default)
    assert await store._database.fetch_value(SHOWN, "synchronous_commit") == used
    async with store._database.transaction() as session:
        assert await session.fetchval(SHOWN, "synchronous_commit") == used


@pytest.mark.parametrize("more", ["", POOLED])
async def test_no_statement_runs_at_the_isolation_of_the_database(opened: Opened, more: str) -> None:
    store = await opened(more, default_transaction_isolation="serializable")
    async with store._database.transaction() as session:
        assert await session.fetchval(SHOWN, "transaction_isolation") == "read committed"
    if not more:
        assert await store._database.fetch_value(SHOWN, "transaction_isolation") == "read committed"


@pytest.mark.parametrize("more", ["", POOLED])
async def test_the_transaction_of_a_job_is_not_acknowledged_before_it_is_durable(
    opened: Opened, more: str
) -> None:
    ground = Ground(more, await opened(more, synchronous_commit="off"))
    async with ground.run(await ground.claimed()).transaction() as tx:
        assert await tx.fetch_value("SELECT current_setting('synchronous_commit')") == "on"


async def test_what_cannot_be_set_is_not_kept_to_itself(opened: Opened, postgres_url: str) -> None:
    """Behind a pooler no session can set anything for itself; the files' safety is the whole server's."""
    direct = await opened(synchronous_commit="off", default_transaction_isolation="repeatable read")
    told = [one.what for one in direct.caveats]
    assert any("fsync=off" in one for one in told) == (await ask(postgres_url, "SHOW fsync") == "off")
    assert not any("synchronous_commit" in one or "repeatable read" in one for one in told)
    pooled = await opened(POOLED)
    told = [one.what for one in pooled.caveats]
    assert any("synchronous_commit=off" in one for one in told)
    assert any("repeatable read" in one for one in told)


async def test_no_style_of_dates_keeps_the_reaper_from_its_work(opened: Opened) -> None:
    store, terms = await opened(datestyle="SQL, DMY"), SweepTerms(gap_max_s=60.0, grace_s=30.0)
    for _ in range(2):
        assert (await store.ledger.expired(10, terms)).last_s is None
    assert (await store.ledger.expired(10, replace(terms, gap_max_s=0.0))).last_s is not None
