"""What one listener hears: first how things stand, then what is new, and never more than it takes."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.model.identifiers import ScheduleId
from fencepost.model.views import News
from fencepost.testing.conformance.builders import make_spec
from fencepost.web.live import messages
from fencepost.web.live.listener import WAITING_BYTES_MAX, WAITING_MAX, Listener
from tests.web.live.theatre import NS, OTHER, Theatre, heard, principal, runs_in

RESYNC = messages.resync(1)


async def test_a_slow_reader_is_not_waited_for_and_hears_that_it_missed_something() -> None:
    theatre = Theatre()
    slow, quick = theatre.hub.join(principal(), NS), theatre.hub.join(principal(), NS)
    for number in range(WAITING_MAX + 5):
        await theatre.begin(f"run-{number}")
        await theatre.look()
        await heard(quick)
    told = await heard(slow)
    assert told[0][0] == "resync"
    assert len(told) < WAITING_MAX
    await theatre.begin("last")
    await theatre.look()
    assert ("report#last", "running") in runs_in(await heard(slow)), "it goes on after that"


async def test_large_messages_do_not_wait_for_a_slow_reader_without_bound() -> None:
    theatre = Theatre()
    slow = theatre.hub.join(principal(), NS)
    large = messages.event("log", "x" * WAITING_BYTES_MAX, 1)
    slow.offer(large, RESYNC)
    assert await slow.take(0) == large, "who keeps up hears it, however large"
    waiting = 0
    for _ in range(WAITING_MAX):
        slow.offer(large, RESYNC)
        waiting = max(waiting, sum(map(len, slow._waiting)))
    assert waiting <= WAITING_BYTES_MAX + len(large)
    slow.offer(large, RESYNC)
    assert (await slow.take(0) or b"").startswith(RESYNC)
    slow.offer(large, RESYNC)
    assert await slow.take(0) == large, "it goes on after that"


async def test_a_new_listener_hears_how_things_stand_and_what_happened_meanwhile() -> None:
    theatre = Theatre()
    theatre.hub.join(principal(), NS)
    await theatre.look()
    claim = await theatre.begin("one")
    await theatre.look()
    late = theatre.hub.join(principal(), NS)
    await theatre.look()
    told = await heard(late)
    assert told[0][0] == "counts"
    assert told[0][1]["running"] == 1
    assert runs_in(told) == [(claim.run_key, "running")]


async def test_who_comes_during_a_look_that_did_not_ask_about_its_namespace_waits_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would be told that nothing is there, and then of changes that were none."""
    theatre = Theatre()
    came: list[Listener] = []
    await theatre.store.schedules.put(
        OTHER, ScheduleId("hourly"), make_spec(), tzdata="2026a", expected_version=None
    )
    await theatre.begin("one", OTHER)
    theatre.hub.join(principal(), NS)
    news = theatre.ledger.news

    async def slow(*asked: Any) -> News:
        found = await news(*asked)
        came.append(theatre.hub.join(principal("t2", OTHER), OTHER))
        return found

    with monkeypatch.context() as slowly:
        slowly.setattr(theatre.ledger, "news", slow)
        await theatre.look()
    (late,) = came
    assert await heard(late) == []
    await theatre.look()
    told = await heard(late)
    assert [name for name, _ in told] == ["counts", "runs"]
    assert told[0][1]["running"] == 1
    await theatre.look()
    assert await heard(late) == []


async def test_a_resumed_stream_begins_with_a_resync() -> None:
    theatre = Theatre()
    listener = theatre.hub.join(principal(), NS, resumed=True)
    await theatre.look()
    assert [name for name, _ in await heard(listener)] == ["resync", "counts"]
