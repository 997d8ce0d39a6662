"""One answer for each shard, whatever happens to the others or to the time.

A call of the port is several requests. All of them together have `CALL_TIMEOUT_S`; a shard that has no
answer by then, or whose request failed, is `Unknown`, and what the others were told stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeVar

from fencepost.leases.etcd.faults import Fault
from fencepost.model.identifiers import Shard
from fencepost.model.lease import Unknown

CALL_TIMEOUT_S = 2.5
CONCURRENT_MAX = 16

A = TypeVar("A")


class Answers(Generic[A]):
    """What is known so far."""

    def __init__(self) -> None:
        self.given: dict[Shard, A | Unknown] = {}

    async def find(self, shards: Iterable[Shard], work: Callable[[Shard], Awaitable[A | None]]) -> None:
        """Do the work for each shard, several at a time. None says that there is no answer yet."""
        room = asyncio.Semaphore(CONCURRENT_MAX)

        async def find_one(shard: Shard) -> None:
            async with room:
                try:
                    answer: A | Unknown | None = await work(shard)
                except Fault as fault:
                    answer = Unknown(str(fault))
            if answer is not None:
                self.given[shard] = answer

        async with asyncio.TaskGroup() as group:
            for shard in shards:
                group.create_task(find_one(shard))


async def answered(
    shards: Iterable[Shard], work: Callable[[Answers[A]], Awaitable[None]]
) -> dict[Shard, A | Unknown]:
    """What the work finds out about each shard, in time."""
    answers: Answers[A] = Answers()
    why = "no answer in time"
    wanted = list(dict.fromkeys(shards))
    if wanted:
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                await work(answers)
        except TimeoutError:
            pass
        except Fault as fault:
            why = str(fault)
    return {shard: answers.given.get(shard, Unknown(why)) for shard in wanted}
