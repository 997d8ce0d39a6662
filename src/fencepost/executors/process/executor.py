"""A plain function, called in a child process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, assert_never

from fencepost.errors import InvalidSpec, RemoteFailure, RetryableFailure, RunFailure
from fencepost.executors.binding import Binding, Bound
from fencepost.executors.process.errand import Answer, Died, Done, Raised
from fencepost.executors.process.peer import Peer
from fencepost.executors.process.pool import ProcessPool
from fencepost.executors.process.reference import home_of
from fencepost.executors.process.wire import Order
from fencepost.executors.statuses import how_it_ended
from fencepost.ports.run import Run

CHILDREN_MAX = 3
"""How many children a run may meet that died before they had called its function."""


class ProcessExecutor(Bound):
    """One function. `memory_limit_bytes` bounds the child's address space while it is at work; a child that
    has done `recycle_after` runs is replaced."""

    stoppable = True
    queues = True

    def __init__(
        self,
        function: Callable[..., Any],
        pool: ProcessPool,
        *,
        memory_limit_bytes: int | None = None,
        recycle_after: int | None = None,
    ) -> None:
        module, name = home_of(function)
        self._binding = Binding(function)
        if self._binding.is_async:
            raise InvalidSpec(
                f"job {name}: is async, and a child process has no event loop; write a plain def, "
                'or leave out executor="process"'
            )
        if recycle_after is not None and (type(recycle_after) is not int or recycle_after < 1):
            raise InvalidSpec(f"job {name}: recycle_after {recycle_after!r}: expected a whole number from 1")
        self._pool = pool
        self._recycle_after = recycle_after
        self._order = Order(module, name, memory_limit_bytes)

    async def execute(self, run: Run) -> str | None:
        # What does not fit needs no child; the secrets that are read here are struck out of what it tells.
        self._binding.call_for(run)
        if self._pool.is_busy:
            run.log("waits for a child process to be free")
        answer, output = await self._done_by_a_child(run)
        for _ in range(CHILDREN_MAX - 1):
            if not isinstance(answer, Died) or answer.begun:
                break
            answer, output = await self._done_by_a_child(run)
        return _verdict(answer, output)

    async def _done_by_a_child(self, run: Run) -> tuple[Answer, str | None]:
        async with self._pool.lent(self._recycle_after) as peer:
            return await self._answer(peer, run), peer.output

    async def _answer(self, peer: Peer, run: Run) -> Answer:
        try:
            return await peer.do(self._order, run)
        except asyncio.CancelledError:
            run.left_output = peer.output
            await asyncio.shield(peer.stop())
            run.left_output = peer.output
            raise


def _verdict(answer: Answer, output: str | None) -> str | None:
    failure: RunFailure
    match answer:
        case Done(result):
            return output if result is None else result
        case Raised(error, detail, kinds, permanent, retry_after):
            failure = RemoteFailure(
                error, detail=detail, kinds=kinds, permanent=permanent, retry_after=retry_after
            )
        case Died(status):
            failure = RetryableFailure(f"the child process ended: {how_it_ended(status)}")
        case _ as never:
            assert_never(never)
    failure.output = output
    raise failure
