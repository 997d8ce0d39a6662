"""The connection of one process to its message broker, and what every loop over it has in common.

A loop waits for a broker that is away: one line when it goes and one when it is back, with a pause that grows
in between. No claim is lost meanwhile, because no loop claims.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress

from fencepost.errors import BrokerRefused, BrokerUnavailable
from fencepost.model.message import Delivery
from fencepost.model.node import BrokerReport
from fencepost.ports.broker import Broker, Subscription
from fencepost.services.service import Service, patience_s
from fencepost.services.trail import Trail
from fencepost.telemetry.events import emit
from fencepost.telemetry.logs import Log
from fencepost.telemetry.message_events import BrokerMissed, Redelivered

DOUBT_EVERY_S = 1.0


class BrokerLink:
    """The broker, opened once for all loops of the process. What they need is declared once per connection,
    and again where some of it may be gone."""

    def __init__(self, open_broker: Callable[[], Awaitable[Broker]], destinations: Iterable[str]) -> None:
        self._open_broker = open_broker
        self._destinations = sorted(set(destinations))
        self._opening = asyncio.Lock()
        self._broker: Broker | None = None
        self._declared = self._was_there = False
        self._doubted: set[str] = set()
        self._no_doubt_until_s: dict[str, float] = {}
        self._refusals: dict[str, str] = {}
        self._log = Log("broker")
        self._missed_at_s: float | None = None
        self._ready_at_s = 0.0
        self._told: str | None = None
        self.waiting: dict[str, int] = {}
        """How many messages were last seen to wait for a processor or an intake, by destination."""
        self.hears_processors = False
        """Whether a loop of this process takes replies."""

    async def ready(self) -> Broker:
        """The broker, connected, with every destination there. Raises `BrokerUnavailable` and
        `BrokerRefused`."""
        if self._broker is not None and self._declared and not self._doubted:
            return self._broker
        async with self._opening:
            if self._broker is None:
                self._broker = await self._open_broker()
            if not self._declared:
                await self._broker.connect()
                await self._declare_all(self._broker)
                self._declared, self._missed_at_s, self._told = True, None, None
                self._ready_at_s = asyncio.get_running_loop().time()
            doubted, self._doubted = sorted(self._doubted), set()
            await self._declare_each(self._broker, doubted)
            return self._broker

    async def _declare_all(self, broker: Broker) -> None:
        """The first time all destinations must exist, later it is enough that some do."""
        try:
            await broker.declare(self._destinations)
        except BrokerRefused:
            if not self._was_there or await self._declare_each(broker, self._destinations) == 0:
                raise
        self._was_there = True

    async def _declare_each(self, broker: Broker, destinations: Iterable[str]) -> int:
        """How many exist now. A destination that cannot be created affects no other: its messages are
        refused."""
        there = 0
        for one in destinations:
            self._no_doubt_until_s[one] = asyncio.get_running_loop().time() + DOUBT_EVERY_S
            try:
                await broker.declare([one])
            except BrokerRefused as error:
                if self._refusals.get(one) != str(error):
                    self._log.warning("destination cannot be created", destination=one, error=str(error))
                self._refusals[one] = str(error)
            else:
                there += 1
                self._refusals.pop(one, None)
        return there

    def report(self) -> BrokerReport | None:
        """How this process stands to the broker; None before its first use."""
        if self._broker is None:
            return None
        now_s, missed_at_s = asyncio.get_running_loop().time(), self._missed_at_s
        away_s = 0.0 if missed_at_s is None else round(now_s - missed_at_s, 1)
        hears = self.hears_processors and self._declared
        heard_s = round(now_s - self._ready_at_s, 1) if hears else 0.0
        return BrokerReport(self._broker.name, away_s, sum(self.waiting.values()), heard_s)

    def forget(self) -> None:
        """The broker was missed: check again that every destination exists, once it is back."""
        self._declared = False
        if self._missed_at_s is None:
            self._missed_at_s = asyncio.get_running_loop().time()

    def doubt(self, destinations: Iterable[str]) -> None:
        """Messages were refused: their destinations may have been deleted."""
        now_s = asyncio.get_running_loop().time()
        self._doubted |= {one for one in destinations if now_s >= self._no_doubt_until_s.get(one, 0.0)}

    def is_news(self, trouble: str) -> bool:
        """Whether no loop of the process has logged this since the broker was last there."""
        fresh = self._told != trouble
        self._told = trouble
        return fresh

    async def close(self) -> None:
        if self._broker is not None:
            await self._broker.close()


class BrokerServices:
    """The loops of one process that share its connection, which ends with them."""

    def __init__(self, link: BrokerLink, services: Sequence[Service], trail: Trail) -> None:
        self.link = link
        self._services = services
        self._trail = trail

    def drain(self, draining: bool) -> None:
        """Send no more runs, or go on."""
        for one in self._services:
            if isinstance(one, BrokerService):
                one.drain(draining)

    async def run(self) -> None:
        """Until cancelled, or until one of them fails."""
        tasks = [asyncio.create_task(one.run(), name=one.name) for one in self._services]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
        finally:
            for one in tasks:
                one.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            try:
                await self.link.close()
            finally:
                await self._trail.close()


class BrokerService(Service):
    """A loop that needs both the store and the broker, or the broker alone."""

    def __init__(self, link: BrokerLink) -> None:
        super().__init__()
        self.link = link
        self._missed = 0

    def drain(self, draining: bool) -> None:
        """Begin nothing more on a node that drains; loops that only take messages go on."""

    async def _pass(self) -> float:
        try:
            rest_s = await super()._pass()
        except (BrokerUnavailable, BrokerRefused) as error:
            _heed_cancellation()
            return self._wait_for_broker(error)
        _heed_cancellation()
        if self._missed:
            self.log.info("broker is back", after_failures=self._missed)
            self._missed = 0
        return rest_s

    async def leave(self, subscription: Subscription, deliveries: Sequence[Delivery]) -> None:
        """Give these back to the next consumer, on the way out of an error. The caller reports that error, or
        was cancelled; a broker that is away must not hide either."""
        with suppress(BrokerUnavailable, BrokerRefused):
            await subscription.give_back(deliveries)

    def count_again(self, deliveries: Sequence[Delivery]) -> None:
        """Count the deliveries that are repeated."""
        again = sum(one.delivered > 1 for one in deliveries)
        if again:
            emit(Redelivered(self.name, again))

    def _wait_for_broker(self, error: BrokerUnavailable | BrokerRefused) -> float:
        self.link.forget()
        self._missed += 1
        emit(BrokerMissed(self.name, self._missed))
        if self._missed == 1 and self.link.is_news(str(error)):
            self.log.warning("broker unavailable: what it was to carry waits", error=str(error))
        return patience_s(self._missed)


def _heed_cancellation() -> None:
    """A driver may swallow a cancellation, or report it as a lost connection."""
    if (task := asyncio.current_task()) is not None and task.cancelling():
        raise asyncio.CancelledError
