"""A request gives its turn to others while it waits for a search, and takes it again once."""

from __future__ import annotations

import asyncio
from typing import Any

from fencepost.web.lanes import Lane, Turn, current_turn, off_turn
from tests.web.test_turns import settled, until


async def test_who_waits_for_a_search_holds_no_turn_and_comes_back_before_those_who_wait() -> None:
    lane, search = Lane(1), asyncio.Event()

    async def offload(work: Any) -> Any:
        await search.wait()
        return work()

    async def searching(turn: Turn) -> int:
        current_turn.set(turn)
        return await off_turn(offload)(lambda: 7)

    first, second, third = lane.join("a"), lane.join("b"), lane.join("c")
    assert first is not None
    assert second is not None
    assert third is not None
    found = asyncio.create_task(searching(first))
    await until(second.come.done)
    search.set()
    await settled()
    assert not found.done()
    second.end()
    assert await found == 7
    assert not third.come.done()
    first.end()
    assert third.come.done()


async def test_one_that_is_over_takes_no_turn_again() -> None:
    lane = Lane(1)
    first = lane.join("a")
    assert first is not None
    first.leave()
    first.end()
    await first.back()
    second = lane.join("b")
    assert second is not None
    assert second.come.done()


async def test_one_that_left_twice_comes_back_once() -> None:
    lane = Lane(1)
    first = lane.join("a")
    assert first is not None
    first.leave()
    first.leave()
    await first.back()
    second = lane.join("b")
    assert second is not None
    assert second.come.done()
    back = asyncio.create_task(first.back())
    await settled()
    second.end()
    await back
    first.end()
    third = lane.join("c")
    assert third is not None
    assert third.come.done()
