"""What every loop does when the store is away, when it is woken, and when it breaks."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.errors import StoreUnavailable
from fencepost.services.service import PATIENCE_FIRST_S, PATIENCE_MAX_S, Service, Wakeup
from tests.services.conftest import Lines
from tests.services.house import until


class Loop(Service):
    """Fails so many times, then passes."""

    name = "loop"

    def __init__(self, failures: int = 0, error: Exception | None = None) -> None:
        super().__init__()
        self.left = failures
        self.error = error or StoreUnavailable("away")
        self.passes = 0

    async def run_once(self) -> float:
        self.passes += 1
        if self.left:
            self.left -= 1
            raise self.error
        return 3600.0


async def test_patience_grows_and_is_bounded_and_ends_with_the_first_answer(lines: Lines) -> None:
    loop = Loop(failures=9)
    rests = [await loop._pass() for _ in range(10)]
    assert rests[:6] == [PATIENCE_FIRST_S * 2**n for n in range(6)]
    assert rests[6:9] == [PATIENCE_MAX_S] * 3
    assert rests[9] == 3600.0
    assert lines.about("store is back") == [{"after_failures": 9}]
    assert await loop._pass() == 3600.0
    assert len(lines.about("store is back")) == 1


async def test_any_other_error_ends_the_loop_loudly() -> None:
    loop = Loop(failures=1, error=RuntimeError("a bug"))
    with pytest.raises(RuntimeError, match="a bug"):
        await asyncio.wait_for(loop.run(), 5)


async def test_a_wake_up_cuts_the_rest_short() -> None:
    loop = Loop()
    running = asyncio.create_task(loop.run())
    await until(lambda: loop.passes == 1)
    loop.wakeup.wake()
    await until(lambda: loop.passes == 2)
    running.cancel()
    await asyncio.wait({running})


async def test_a_wake_up_from_before_the_rest_is_not_lost_and_counts_once() -> None:
    wakeup = Wakeup()
    wakeup.wake()
    wakeup.wake()
    async with asyncio.timeout(5):
        await wakeup.rest(3600)
    resting = asyncio.create_task(wakeup.rest(3600))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not resting.done()
    wakeup.wake()
    await resting


async def test_a_rest_in_the_past_does_not_hang() -> None:
    async with asyncio.timeout(5):
        await Wakeup().rest(-1)
