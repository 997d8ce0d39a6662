"""One call about several shards: side by side, and all of them back in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextvars import Context
from typing import Any, TypeVar

import pymongo
from pymongo.errors import PyMongoError

from fencepost.drivers.mongodb.faults import reason
from fencepost.model.identifiers import Shard
from fencepost.model.lease import Unknown

REQUEST_TIMEOUT_S = 2.5
"""How long a call may take at most; less than the shortest sensible lease."""

DRIVER_TIMEOUT_S = 2.0
"""How long the driver may look for a primary, wait, and try again. It tells the server, which then gives up
too."""

AT_ONCE_MAX = 16

T = TypeVar("T")


_under_way: set[asyncio.Task[Any]] = set()


async def ask_all(
    shards: Iterable[Shard], work: Coroutine[Any, Any, Mapping[Shard, T]]
) -> Mapping[Shard, T | Unknown]:
    """Ask about all shards by one piece of work: where it fails, or has no answer in time, nothing is known
    of any."""
    try:
        with pymongo.timeout(DRIVER_TIMEOUT_S):
            return await in_time(work, REQUEST_TIMEOUT_S)
    except (PyMongoError, TimeoutError) as error:
        return dict.fromkeys(shards, Unknown(reason(error)))


async def ask_each(
    shards: Iterable[Shard], ask: Callable[[Shard], Awaitable[T]], at_most_s: float = REQUEST_TIMEOUT_S
) -> dict[Shard, T | Unknown]:
    """Ask about every shard. One that fails, or has no answer in time, takes nothing from the others."""
    wanted = list(shards)
    turn = asyncio.Semaphore(AT_ONCE_MAX)

    async def ask_one(shard: Shard) -> T | Unknown:
        async with turn:
            try:
                return await ask(shard)
            except PyMongoError as error:
                return Unknown(reason(error))

    with pymongo.timeout(DRIVER_TIMEOUT_S):
        asked = {shard: begun(ask_one(shard)) for shard in wanted}
    if asked:
        await asyncio.wait(asked.values(), timeout=at_most_s)
    late = Unknown(reason(TimeoutError()))
    return {shard: one.result() if one.done() else late for shard, one in asked.items()}


async def in_time(work: Coroutine[Any, Any, T], at_most_s: float, context: Context | None = None) -> T:
    """The result of the work, or `TimeoutError` where that takes longer. In an empty context it does not have
    the driver's time limit of its caller.

    The work itself is never cancelled, also when the caller is: the driver's locks do not survive a
    cancellation at the wrong moment, and every later call would wait for them. It ends by the driver's own
    limits."""
    task = begun(work, context)
    await asyncio.wait([task], timeout=at_most_s)
    if not task.done():
        raise TimeoutError
    return task.result()


def begun(work: Coroutine[Any, Any, T], context: Context | None = None) -> asyncio.Task[T]:
    """A task that is kept until its end, and whose failure is read."""
    task = asyncio.create_task(work, context=context)
    _under_way.add(task)
    task.add_done_callback(_ended)
    return task


def _ended(task: asyncio.Task[Any]) -> None:
    _under_way.discard(task)
    if not task.cancelled():
        task.exception()
