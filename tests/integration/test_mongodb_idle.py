"""What a process asks of MongoDB while it has nothing to do, counted in commands. A bound that has to be
raised is a process that has become dearer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest
from pymongo import AsyncMongoClient
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent

from fencepost.drivers.mongodb import opening
from fencepost.ports.signals import Topic
from fencepost.stores.mongodb import MongoStore, migrate, open_store
from tests.conformance.on_mongodb import empty
from tests.services.idle import costs, per_second, runner

COMMANDS_MAX = 2.9
"""A second; the stream asks besides every ten."""


class Listener(CommandListener):
    def __init__(self) -> None:
        self.commands: list[str] = []

    def started(self, event: CommandStartedEvent) -> None:
        if event.command_name != "getMore":
            self.commands.append(event.command_name)

    def succeeded(self, event: CommandSucceededEvent) -> None: ...

    def failed(self, event: CommandFailedEvent) -> None: ...


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    listener = Listener()
    client = partial(AsyncMongoClient, event_listeners=[listener])
    monkeypatch.setattr(opening, "AsyncMongoClient", client)
    return listener


@pytest.fixture
async def store(mongo_store_url: str, listener: Listener) -> AsyncIterator[MongoStore]:
    await migrate(mongo_store_url, shards=8)
    empty(mongo_store_url)
    opened = await open_store(mongo_store_url)
    await opened.signals.listen(Topic.RUNS, lambda: None)
    yield opened
    await opened.close()


@pytest.mark.parametrize(("plans", "works"), [(True, True), (True, False), (False, True)])
async def test_an_idle_process_sends_few_commands(
    store: MongoStore, listener: Listener, plans: bool, works: bool
) -> None:
    cost = await costs(listener.commands, runner(store, plans=plans, works=works))
    assert 0 < per_second(cost) <= COMMANDS_MAX, cost
