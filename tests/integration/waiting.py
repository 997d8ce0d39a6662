"""Waiting for what another session of the same server does, without a guess at how long it takes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

TRIES = 500
PAUSE_S = 0.01
BLOCKED = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


async def until(predicate: Callable[[], Awaitable[bool] | bool]) -> None:
    """Look again and again until it holds."""
    for _ in range(TRIES):
        answer = predicate()
        if answer if isinstance(answer, bool) else await answer:
            return
        await asyncio.sleep(PAUSE_S)
    raise AssertionError("it never came true")


async def until_blocked(connection: Any, sessions: int = 1) -> None:
    """Wait until so many sessions of this database wait for a lock."""

    async def blocked() -> bool:
        # A transaction keeps its first reading of the statistics.
        await connection.execute("SELECT pg_stat_clear_snapshot()")
        return bool(await connection.fetchval(BLOCKED) >= sessions)

    await until(blocked)
