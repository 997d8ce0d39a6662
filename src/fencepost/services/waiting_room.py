"""The waiting room: workers outside that ask for work, until there is some.

Each visitor looks for itself, and then rests until a hint comes, the next run is due, or the poll says that
it has slept long enough. A visitor leaves when it has work, when its time is up, when whoever asked has gone,
when the room closes, or when the same worker asks again: its second request takes the place of the first,
after the first has left, so that what the first may have claimed in its last moment is adopted by the second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

from fencepost.errors import TurnedAway
from fencepost.model.identifiers import Namespace, NodeId
from fencepost.ports.signals import Signals, Topic
from fencepost.services.desks.work import Loan, Order, WorkDesk
from fencepost.services.service import Wakeup

VISITORS_MAX = 500
LOOKING_MAX = 4
"""How many look into the store at a time: a hint that wakes everybody must not take all its connections."""


Seat: TypeAlias = tuple[Namespace, NodeId]
"""A worker's name is its own within its namespace and its credential."""


class Visitor:
    """One who waits. `leave` may be called at any time, and more than once."""

    def __init__(self) -> None:
        self.leaving = False
        self.gone = asyncio.Event()
        self.wakeup = Wakeup()

    def leave(self) -> None:
        self.leaving = True
        self.wakeup.wake()


class WaitingRoom:
    """Of one server."""

    def __init__(self, visitors_max: int = VISITORS_MAX) -> None:
        self._visitors_max = visitors_max
        self._visitors: dict[Seat, Visitor] = {}
        self._looking = asyncio.Semaphore(LOOKING_MAX)
        self._closed = False
        self._unlisten: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self._visitors)

    @property
    def closed(self) -> bool:
        return self._closed

    async def open(self, signals: Signals) -> None:
        """Hear the hints of the store."""
        self._unlisten = await signals.listen(Topic.RUNS, self._ring)

    def close(self) -> None:
        """Let everybody go, and nobody in."""
        self._closed = True
        for one in self._visitors.values():
            one.leave()
        if self._unlisten is not None:
            self._unlisten()
            self._unlisten = None

    async def serve(self, desk: WorkDesk, order: Order, wait_s: float, visitor: Visitor) -> Sequence[Loan]:
        """Work for the visitor from that desk as soon as there is some, nothing after so long."""
        appetite = await desk.appetite(order)
        async with self._seat((desk.namespace, order.worker), visitor):
            loans = await desk.adopt(order)
            until = _time() + wait_s
            while not loans and not visitor.leaving:
                async with self._looking:
                    loans, rest_s = await desk.take(order, appetite)
                left_s = until - _time()
                if loans or left_s <= 0:
                    break
                await visitor.wakeup.rest(min(rest_s, left_s))
            return loans

    @asynccontextmanager
    async def _seat(self, worker: Seat, visitor: Visitor) -> AsyncIterator[None]:
        await self._take_over(worker)
        if self._closed or len(self._visitors) >= self._visitors_max:
            raise TurnedAway("the server is stopping" if self._closed else "too many workers wait here")
        self._visitors[worker] = visitor
        try:
            yield
        finally:
            del self._visitors[worker]
            visitor.gone.set()

    async def _take_over(self, worker: Seat) -> None:
        """Until no earlier request of this worker is left."""
        while (earlier := self._visitors.get(worker)) is not None:
            earlier.leave()
            await earlier.gone.wait()

    def _ring(self) -> None:
        for one in self._visitors.values():
            one.wakeup.wake()


def _time() -> float:
    return asyncio.get_running_loop().time()
