"""A loop over a broker ends when it is cancelled, whatever the driver makes of that."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.errors import BrokerUnavailable
from fencepost.services.broker_link import BrokerLink, BrokerService
from tests.brokers.post import PATIENCE_S, Post


class Deaf(BrokerService):
    """Its driver tells of a cancellation as of a lost connection, or not at all."""

    name = "deaf"

    def __init__(self, link: BrokerLink, *, tells: bool) -> None:
        super().__init__(link)
        self._tells = tells
        self.asking = asyncio.Event()

    async def run_once(self) -> float:
        self.asking.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if self._tells:
                raise BrokerUnavailable("the connection was lost") from None
        return 60.0


@pytest.mark.parametrize("tells", [True, False])
async def test_a_cancellation_that_a_driver_hides_is_not_lost(tells: bool) -> None:
    service = Deaf(Post().link(), tells=tells)
    loop = asyncio.create_task(service.run())
    await asyncio.wait_for(service.asking.wait(), PATIENCE_S)
    loop.cancel()
    done, _ = await asyncio.wait({loop}, timeout=PATIENCE_S)
    assert done == {loop}
    assert loop.cancelled()
