"""Long thoughts beside the loop: it goes on meanwhile, and not everybody may think at once."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest

from fencepost.errors import InvalidTrigger, SearchTooLong, TurnedAway
from fencepost.services.offload import EACH_MAX, THOUGHT_MAX_S, OffloadThreads, inline
from fencepost.testing.clock import VirtualClock
from fencepost.triggers import Cron
from fencepost.triggers.patience import keep_on


async def test_the_loop_goes_on_during_a_search() -> None:
    thinkers, may_end = OffloadThreads(1), threading.Event()
    thought = asyncio.create_task(thinkers(lambda: may_end.wait(30)))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not thought.done()
    may_end.set()
    assert await thought is True


async def test_who_comes_when_too_many_wait_is_turned_away() -> None:
    thinkers, may_end = OffloadThreads(1, waiting_max=1), threading.Event()
    thoughts = [asyncio.create_task(thinkers(may_end.wait)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(TurnedAway):
        await thinkers(may_end.wait)
    may_end.set()
    assert await asyncio.gather(*thoughts) == [True, True]
    assert await thinkers(lambda: 7) == 7


async def test_a_search_without_a_waiting_caller_still_counts() -> None:
    thinkers, may_end = OffloadThreads(1, waiting_max=0), threading.Event()
    left = asyncio.create_task(thinkers(may_end.wait))
    await asyncio.sleep(0)
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    with pytest.raises(TurnedAway):
        await thinkers(may_end.wait)
    may_end.set()


async def test_what_the_work_raises_is_told() -> None:
    def refuse() -> None:
        raise InvalidTrigger("never")

    for offload in (OffloadThreads(1), inline):
        with pytest.raises(InvalidTrigger, match="never"):
            await offload(refuse)


async def test_one_has_one_thread_at_a_time_and_the_next_is_another_ones() -> None:
    thinkers, may_end, thought = OffloadThreads(1), threading.Event(), list[str]()

    def think(name: str) -> None:
        may_end.wait(30)
        thought.append(name)

    one, other = thinkers.of("one"), thinkers.of("other")
    begun = [asyncio.create_task(one(partial(think, f"one {number}"))) for number in range(3)]
    await asyncio.sleep(0)
    begun.append(asyncio.create_task(other(lambda: think("other"))))
    await asyncio.sleep(0)
    may_end.set()
    await asyncio.gather(*begun)
    assert thought == ["one 0", "other", "one 1", "one 2"]


async def test_one_with_too_many_thoughts_is_refused_and_others_are_not() -> None:
    thinkers, may_end = OffloadThreads(2), threading.Event()
    one, other = thinkers.of("one"), thinkers.of("other")
    begun = [asyncio.create_task(one(may_end.wait)) for _ in range(EACH_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(TurnedAway, match="wait until one of them is answered"):
        await one(may_end.wait)
    assert await other(lambda: 7) == 7
    may_end.set()
    assert await asyncio.gather(*begun) == [True] * EACH_MAX
    assert await one(lambda: 7) == 7


async def test_a_thought_of_one_ends_with_its_time_and_those_of_a_node_do_not() -> None:
    clock = VirtualClock()
    thinkers = OffloadThreads(1, clock=clock)

    def think() -> int:
        keep_on()
        clock.advance(THOUGHT_MAX_S)
        keep_on()
        return 7

    with pytest.raises(SearchTooLong, match="took longer than 5 s; ask for fewer"):
        await thinkers.of("one")(think)
    assert await thinkers(think) == 7
    assert await thinkers.of("one")(lambda: len(Cron("* * * * *").next(clock.wall(), 3))) == 3
