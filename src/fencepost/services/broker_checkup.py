"""The state of the message broker before a worker needs it. The check creates nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.errors import BrokerRefused, BrokerUnavailable
from fencepost.ports.broker import Broker

ANSWER_MAX_S = 15.0
"""Connecting and asking for all destinations are one wait."""


@dataclass(frozen=True)
class BrokerView:
    """What the application needs of its broker. `missing` has the command that creates each destination that
    is not there; `trouble` is why nothing more is known, in one line."""

    name: str | None
    destinations: Sequence[str]
    missing: Mapping[str, str] = field(default_factory=dict)
    trouble: str | None = None

    def warnings(self) -> Iterator[str]:
        """What a person should look at, each with the remedy."""
        if self.trouble is not None:
            yield self.trouble
        for destination, command in self.missing.items():
            yield f"destination {destination} is not there: a worker creates it where it may, else: {command}"


async def look(open_broker: Callable[[], Awaitable[Broker]], destinations: Sequence[str]) -> BrokerView:
    """Ask the broker. A broker that is away or refuses is reported; a URL that cannot be used raises."""
    broker = await open_broker()
    try:
        async with asyncio.timeout(ANSWER_MAX_S):
            await broker.connect()
            return BrokerView(broker.name, destinations, await broker.missing(destinations))
    except TimeoutError:
        trouble = f"the broker {broker.name} did not answer within {ANSWER_MAX_S:g} s"
    except (BrokerUnavailable, BrokerRefused) as error:
        trouble = str(error)
    finally:
        await broker.close()
    return BrokerView(broker.name, destinations, trouble=trouble)
