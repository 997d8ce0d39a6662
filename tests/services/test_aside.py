"""Long thoughts beside the loop: it goes on meanwhile, and not everybody may think at once."""

from __future__ import annotations

import asyncio
import threading

import pytest

from fencepost.errors import InvalidTrigger, TurnedAway
from fencepost.services.aside import Thinkers, on_the_spot


async def test_the_loop_goes_on_while_somebody_thinks() -> None:
    thinkers, may_end = Thinkers(1), threading.Event()
    thought = asyncio.create_task(thinkers(lambda: may_end.wait(30)))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not thought.done()
    may_end.set()
    assert await thought is True


async def test_who_comes_when_too_many_wait_is_turned_away() -> None:
    thinkers, may_end = Thinkers(1, waiting_max=1), threading.Event()
    thoughts = [asyncio.create_task(thinkers(may_end.wait)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(TurnedAway):
        await thinkers(may_end.wait)
    may_end.set()
    assert await asyncio.gather(*thoughts) == [True, True]
    assert await thinkers(lambda: 7) == 7


async def test_a_thought_that_nobody_waits_for_still_counts() -> None:
    thinkers, may_end = Thinkers(1, waiting_max=0), threading.Event()
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

    for aside in (Thinkers(1), on_the_spot):
        with pytest.raises(InvalidTrigger, match="never"):
            await aside(refuse)
