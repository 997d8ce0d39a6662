"""The connection that all loops of a process share: what is declared, when, and what a refusal stops."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fencepost.errors import BrokerRefused
from fencepost.services import broker_link
from fencepost.services.broker_link import BrokerLink
from fencepost.testing.broker import MemoryBroker


class Guarded(MemoryBroker):
    """A broker that lets nobody create some destinations."""

    def __init__(self) -> None:
        super().__init__()
        self.forbidden: set[str] = set()
        self.declared: list[str] = []

    async def declare(self, destinations: Sequence[str]) -> None:
        if refused := self.forbidden.intersection(destinations):
            raise BrokerRefused(f"may not create {min(refused)}")
        self.declared += destinations
        await super().declare(destinations)


@pytest.fixture
def broker() -> Guarded:
    return Guarded()


@pytest.fixture
def link(broker: Guarded) -> BrokerLink:
    async def opened() -> Guarded:
        return broker

    return BrokerLink(opened, ["a", "b"])


async def test_at_the_start_everything_has_to_be_there(broker: Guarded, link: BrokerLink) -> None:
    broker.forbidden = {"b"}
    with pytest.raises(BrokerRefused, match="may not create b"):
        await link.ready()


async def test_what_cannot_be_created_after_a_lost_connection_stops_no_other(
    broker: Guarded, link: BrokerLink, caplog: pytest.LogCaptureFixture
) -> None:
    await link.ready()
    broker.forbidden = {"b"}
    for _ in range(3):
        link.forget()
        broker.declared.clear()
        await link.ready()
        assert broker.declared == ["a"]
    assert caplog.text.count("destination cannot be created") == 1


async def test_where_nothing_may_be_created_any_more_everything_waits(
    broker: Guarded, link: BrokerLink
) -> None:
    await link.ready()
    broker.forbidden = {"a", "b"}
    link.forget()
    with pytest.raises(BrokerRefused, match="may not create a"):
        await link.ready()


async def test_one_that_refuses_all_the_time_keeps_no_other_from_being_created(
    broker: Guarded, link: BrokerLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_link, "DOUBT_EVERY_S", 3600.0)
    await link.ready()
    broker.declared.clear()
    for doubted in ("a", "a", "b", "b"):
        link.doubt([doubted])
        await link.ready()
    assert broker.declared == ["a", "b"]
