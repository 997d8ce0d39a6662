"""The commands that a process sends to MongoDB, as its driver tells of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from pymongo import AsyncMongoClient
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent

from fencepost.drivers.mongodb import opening


class Listener(CommandListener):
    """What was sent and answered; waiting for a change stream is no command."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.replies: list[Any] = []

    def started(self, event: CommandStartedEvent) -> None:
        if event.command_name != "getMore":
            self.commands.append(event.command_name)

    def succeeded(self, event: CommandSucceededEvent) -> None:
        self.replies.append(event.reply)

    def failed(self, event: CommandFailedEvent) -> None: ...


def listening(monkeypatch: pytest.MonkeyPatch) -> Listener:
    """Listens to every client that is opened from now on."""
    listener = Listener()
    monkeypatch.setattr(opening, "AsyncMongoClient", partial(AsyncMongoClient, event_listeners=[listener]))
    return listener
