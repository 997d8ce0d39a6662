"""The pair keeps what it acknowledged and its address, whichever of its servers is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.servers.postgres import PostgresServer, ask, execute
from tests.servers.postgres_pair import PostgresPair
from tests.servers.process import wait_until

WITHOUT_STANDBY_S = 1.0

pytestmark = [pytest.mark.proof, pytest.mark.postgres]


@pytest.fixture
async def pair() -> AsyncIterator[PostgresPair]:
    pair = await PostgresPair.open()
    yield pair
    await pair.close()


async def test_no_acknowledged_row_is_lost_by_one_failover_after_the_other(pair: PostgresPair) -> None:
    await execute(pair.url, "CREATE TABLE kept (number int)")
    for number in range(2):
        await execute(pair.url, f"INSERT INTO kept VALUES ({number})")
        lost = pair.primary
        assert await pair.fail_over() > 0
        assert not lost.is_running
        assert await ask(pair.url, "SELECT array_agg(number ORDER BY number) FROM kept") == [
            *range(number + 1)
        ]


async def test_no_commit_is_answered_without_a_standby(pair: PostgresPair) -> None:
    await asyncio.to_thread(pair.standby.kill)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(WITHOUT_STANDBY_S):
            await execute(pair.url, "CREATE TABLE lonely ()")
    await asyncio.to_thread(pair.standby.start)
    await asyncio.to_thread(pair.wait_until_in_sync)
    await execute(pair.url, "CREATE TABLE followed ()")


async def test_no_child_of_a_server_outlives_its_kill_or_works_in_its_pause() -> None:
    server = await asyncio.to_thread(PostgresServer)
    connection = await asyncpg.connect(server.url)
    try:
        backend = await connection.fetchval("SELECT pg_backend_pid()")
        server.pause()
        with pytest.raises(TimeoutError):
            await connection.fetchval("SELECT 1", timeout=0.5)
        server.kill()
        wait_until(lambda: _is_dead(backend), lambda: "its backend lives on")
    finally:
        connection.terminate()
        server.close()


def _is_dead(pid: int) -> bool:
    """A child whose parent was killed is buried by another, who may take a moment."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True
