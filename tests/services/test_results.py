"""Waiting for the end of a run."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import RunState
from fencepost.services.results import wait_for_end
from fencepost.testing.conformance.builders import NS
from tests.services.house import House, until

KEY = RunKey("report#a")


async def test_a_run_that_was_locked_when_a_caller_began_to_wait_is_not_left_to_the_poll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house, asked = House(), list[bool]()
    await house.enqueue("a")
    ledger = house.memory.ledger
    mark = ledger.await_end

    async def locked_at_first(namespace: Namespace, run_key: RunKey) -> bool:
        asked.append(bool(asked) and await mark(namespace, run_key))
        return asked[-1]

    monkeypatch.setattr(ledger, "await_end", locked_at_first)
    waits = asyncio.create_task(wait_for_end(house.memory, NS, KEY, None, 600.0))
    await until(lambda: asked == [False, True])
    await ledger.cancel(NS, KEY, "enough")
    assert (await asyncio.wait_for(waits, 30)).state is RunState.CANCELLED
