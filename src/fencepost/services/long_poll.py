"""The long poll: workers outside that ask for work wait here until there is some.

Each request looks for itself, and then rests until a hint comes, the next run is due, or the poll is due.
A request ends when it has work, when its time is up, when its client has gone, or when the server stops. It
also ends when the same worker asks again: the second request takes the place of the first after the first has
ended, so that the second adopts what the first may have claimed in its last moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

from fencepost.errors import TurnedAway
from fencepost.model.identifiers import Namespace, NodeId
from fencepost.ports.signals import Signals, Topic
from fencepost.services.external_runs import ExternalRuns, Loan, Order
from fencepost.services.service import Wakeup

VISITORS_MAX = 500
LOOKING_MAX = 4
"""How many requests read the store at a time: a hint that wakes all of them must not take all connections."""


Seat: TypeAlias = tuple[Namespace, NodeId]
"""A worker's name is its own within its namespace and its credential."""


class Poller:
    """One waiting request. `leave` may be called at any time, and more than once."""

    def __init__(self) -> None:
        self.leaving = False
        self.gone = asyncio.Event()
        self.wakeup = Wakeup()

    def leave(self) -> None:
        self.leaving = True
        self.wakeup.wake()


class LongPoll:
    """The waiting requests of one server."""

    def __init__(self, pollers_max: int = VISITORS_MAX) -> None:
        self._pollers_max = pollers_max
        self._pollers: dict[Seat, Poller] = {}
        self._looking = asyncio.Semaphore(LOOKING_MAX)
        self._closed = False
        self._unlisten: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self._pollers)

    @property
    def closed(self) -> bool:
        return self._closed

    async def open(self, signals: Signals) -> None:
        """Hear the hints of the store."""
        self._unlisten = await signals.listen(Topic.RUNS, self._ring)

    def close(self) -> None:
        """End all waiting requests, and admit no more."""
        self._closed = True
        for one in self._pollers.values():
            one.leave()
        if self._unlisten is not None:
            self._unlisten()
            self._unlisten = None

    async def serve(self, verbs: ExternalRuns, order: Order, wait_s: float, poller: Poller) -> Sequence[Loan]:
        """Work for the caller as soon as there is some; nothing once the wait is over."""
        claim_request = await verbs.claim_request(order)
        async with self._seat((verbs.namespace, order.worker), poller):
            loans = await verbs.adopt(order)
            until = _time() + wait_s
            while not loans and not poller.leaving:
                async with self._looking:
                    loans, rest_s = await verbs.take(order, claim_request)
                left_s = until - _time()
                if loans or left_s <= 0:
                    break
                await poller.wakeup.rest(min(rest_s, left_s))
            return loans

    @asynccontextmanager
    async def _seat(self, worker: Seat, poller: Poller) -> AsyncIterator[None]:
        await self._take_over(worker)
        if self._closed or len(self._pollers) >= self._pollers_max:
            raise TurnedAway("the server is stopping" if self._closed else "too many workers wait here")
        self._pollers[worker] = poller
        try:
            yield
        finally:
            del self._pollers[worker]
            poller.gone.set()

    async def _take_over(self, worker: Seat) -> None:
        """Until no earlier request of this worker is left."""
        while (earlier := self._pollers.get(worker)) is not None:
            earlier.leave()
            await earlier.gone.wait()

    def _ring(self) -> None:
        for one in self._pollers.values():
            one.wakeup.wake()


def _time() -> float:
    return asyncio.get_running_loop().time()
