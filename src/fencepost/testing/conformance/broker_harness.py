"""What a broker adapter brings to be held to `ports.broker`."""

from __future__ import annotations

from typing import Protocol

from fencepost.ports.broker import Broker


class BrokerHarness(Protocol):
    """A real server, and clients of it."""

    @property
    def broker(self) -> Broker:
        """A client that has been opened and not used."""
        ...

    @property
    def redelivered_within_s(self) -> float:
        """After how long, at most, what a consumer had and did not answer is delivered to another one."""
        ...

    @property
    def counts_deliveries(self) -> bool:
        """Whether a message says how often it has been delivered."""
        ...

    async def another(self) -> Broker:
        """A second client of the same server; the harness closes it."""
        ...

    def destination(self) -> str:
        """A name that no test has used, and that no client has declared."""
        ...


class RestartableHarness(BrokerHarness, Protocol):
    """A server that the test may stop and start again, with what it had."""

    async def stop(self) -> None:
        """Stop the server at once, as `kill -9` does."""
        ...

    async def start(self) -> None:
        """Start it again at the same address, and wait until it answers."""
        ...
