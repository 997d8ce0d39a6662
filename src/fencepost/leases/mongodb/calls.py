"""One call about several shards: side by side, and all of them back in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import pymongo
from pymongo.errors import PyMongoError

from fencepost.leases.mongodb.faults import reason
from fencepost.model.identifiers import Shard
from fencepost.model.lease import Unknown

REQUEST_TIMEOUT_S = 2.5
"""How long a call may take at most; less than the shortest sensible lease."""

DRIVER_TIMEOUT_S = 2.0
"""How long the driver may look for a primary, wait, and try again. It tells the server, which then gives up
too."""

AT_ONCE_MAX = 16

T = TypeVar("T")


async def ask_each(shards: Iterable[Shard], ask: Callable[[Shard], Awaitable[T]]) -> dict[Shard, T | Unknown]:
    """Ask about every shard. One that fails, or has no answer in time, takes nothing from the others."""
    wanted = list(shards)
    answers: dict[Shard, T | Unknown] = {}
    turn = asyncio.Semaphore(AT_ONCE_MAX)

    async def ask_one(shard: Shard) -> None:
        async with turn:
            try:
                answers[shard] = await ask(shard)
            except PyMongoError as error:
                answers[shard] = Unknown(reason(error))

    try:
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            with pymongo.timeout(DRIVER_TIMEOUT_S):
                async with asyncio.TaskGroup() as group:
                    for shard in wanted:
                        group.create_task(ask_one(shard))
    except TimeoutError as error:
        late = Unknown(reason(error))
        answers |= {shard: late for shard in wanted if shard not in answers}
    return answers
