"""Anybody may ask whether the process can serve, and any number at once: the store is asked once for all."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.errors import StoreUnavailable, TurnedAway
from fencepost.model.clocks import StoreTime
from fencepost.services.long_poll import LongPoll
from fencepost.web import health
from fencepost.web.health import Readiness
from tests.services.house import House

PATIENCE_S = 30.0
MANY = 500


class Slow:
    """A store that says the time when it may, or fails."""

    def __init__(self) -> None:
        self.asked = 0
        self.go = asyncio.Event()
        self.fails = False
        self._house = House()

    async def now(self) -> StoreTime:
        self.asked += 1
        await self.go.wait()
        if self.fails:
            raise StoreUnavailable("gone")
        return await self._house.store.now()


@pytest.fixture
def store() -> Slow:
    return Slow()


@pytest.fixture
def readiness(store: Slow) -> Readiness:
    return Readiness(store, LongPoll())  # type: ignore[arg-type]


async def test_however_many_ask_at_once_the_store_is_asked_once(store: Slow, readiness: Readiness) -> None:
    async with asyncio.timeout(PATIENCE_S):
        asking = [asyncio.create_task(readiness.check()) for _ in range(MANY)]
        await asyncio.sleep(0)
        store.go.set()
        await asyncio.gather(*asking)
        assert store.asked == 1
        await readiness.check()
    assert store.asked == 2, "an answer is not kept"


async def test_one_who_goes_away_takes_the_answer_from_nobody(store: Slow, readiness: Readiness) -> None:
    async with asyncio.timeout(PATIENCE_S):
        gone, stays = (asyncio.create_task(readiness.check()) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        store.go.set()
        await stays


async def test_a_store_that_fails_fails_for_all_and_is_asked_again(store: Slow, readiness: Readiness) -> None:
    store.fails = True
    store.go.set()
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await readiness.check()
    store.fails = False
    await readiness.check()
    assert store.asked == 3


async def test_a_store_that_says_nothing_is_not_waited_for(
    store: Slow, readiness: Readiness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "STORE_WITHIN_S", 0.01)
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                await readiness.check()
        assert store.asked == 1, "nor does everybody who comes hold another connection of it"
        store.fails = True
        store.go.set()


async def test_a_server_that_is_stopping_is_not_ready(store: Slow) -> None:
    room = LongPoll()
    room.close()
    with pytest.raises(TurnedAway):
        await Readiness(store, room).check()  # type: ignore[arg-type]
    assert store.asked == 0
