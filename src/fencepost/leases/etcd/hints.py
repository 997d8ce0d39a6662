"""Hints by a stream of deletions under the fleet's keys.

A deletion is a release, an expiry or a deletion by hand; puts free nothing and are not asked for.
"""

from __future__ import annotations

from fencepost.clock import Clock
from fencepost.leases.etcd import wire
from fencepost.leases.etcd.faults import Fault
from fencepost.leases.etcd.gateway import Answer, Gateway
from fencepost.leases.hints import Hints


class EtcdHints(Hints):
    """See `leases.hints`."""

    faults = (Fault,)

    def __init__(self, gateway: Gateway, prefix: str, clock: Clock) -> None:
        super().__init__(clock)
        self._gateway = gateway
        self._prefix = prefix

    async def listen(self) -> None:
        begin, end = wire.encode(self._prefix), wire.encode(wire.prefix_end(self._prefix))
        request = {"create_request": {"key": begin, "range_end": end, "filters": ["NOPUT"]}}
        async with self._gateway.stream("watch", request) as messages:
            async for message in messages:
                if message.get("canceled"):
                    # etcd does not say whether it refused the token or something else.
                    self._gateway.forget_token()
                    return
                self._heard(message)

    def _heard(self, message: Answer) -> None:
        if message.get("created"):
            self.opened()
        if message.get("events"):
            self.tell()
