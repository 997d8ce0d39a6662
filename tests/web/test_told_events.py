"""What workers outside do is told like what the program's own do: once, when the ledger has answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import pytest

from fencepost.model.run import RunState
from fencepost.services.reaper import Reaper
from fencepost.telemetry import events
from fencepost.telemetry.events import Cause, Event, listen
from tests.web.house import Web

E = TypeVar("E")


@pytest.fixture
def heard() -> Iterator[list[Event]]:
    found: list[Event] = []
    unlisten = listen(found.append)
    yield found
    unlisten()


def of(heard: list[Event], kind: type[E]) -> list[E]:
    return [one for one in heard if isinstance(one, kind)]


async def claimed(web: Web) -> dict[str, Any]:
    await web.house.enqueue("1", "resize")
    (run,) = await web.claim("w1", "resize")
    return run


async def test_a_run_of_a_worker_outside_is_told_from_claim_to_end(web: Web, heard: list[Event]) -> None:
    run = await claimed(web)
    web.house.clock.advance(7)
    assert (await web.report(run, "complete")).status == 200
    assert (await web.report(run, "complete")).status == 200
    assert [one.claim.job for one in of(heard, events.RunClaimed)] == ["resize"]
    finished = of(heard, events.AttemptFinished)
    assert [(one.job, one.state, one.took_s) for one in finished] == [("resize", RunState.SUCCEEDED, 7.0)]
    assert [one.state for one in of(heard, events.RunEnded)] == [RunState.SUCCEEDED]


@pytest.mark.parametrize("what", ["heartbeat", "complete"])
async def test_a_straggler_outside_is_told_as_a_duplicate(web: Web, heard: list[Event], what: str) -> None:
    run = await claimed(web)
    web.house.clock.advance(31)
    await Reaper(web.house.store, web.house.settings).run_once()
    assert (await web.report(run, what)).status == 409
    assert [one.cause for one in of(heard, events.DuplicateSuppressed)] == [Cause.FENCE]
    assert not of(heard, events.AttemptFinished)
