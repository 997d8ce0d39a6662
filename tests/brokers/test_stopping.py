"""A loop over a broker ends when it is cancelled, whatever the driver makes of that."""

from __future__ import annotations

import asyncio

from fencepost.errors import BrokerUnavailable
from fencepost.services.broker_link import BrokerLink, BrokerService
from tests.brokers.post import PATIENCE_S, Post


class Deaf(BrokerService):
    """Its driver tells of a cancellation as of a lost connection."""

    name = "deaf"

    def __init__(self, link: BrokerLink) -> None:
        super().__init__(link)
        self.asking = asyncio.Event()

    async def run_once(self) -> float:
        self.asking.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise BrokerUnavailable("the connection was lost") from None
        return 0.0


async def test_a_cancellation_that_a_driver_hides_is_not_lost() -> None:
    service = Deaf(Post().link())
    loop = asyncio.create_task(service.run())
    await asyncio.wait_for(service.asking.wait(), PATIENCE_S)
    loop.cancel()
    done, _ = await asyncio.wait({loop}, timeout=PATIENCE_S)
    assert done == {loop}
    assert loop.cancelled()
