"""The loop of a world does to processes what a kernel does."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.simulation.loop import Life, context_of, run_world, the_loop
from tests.virtual_loop import Deadlock


def start(life: Life, main: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return the_loop().create_task(main, context=context_of(life))


async def ticking(ticks: list[float], every_s: float = 1.0) -> None:
    try:
        while True:
            await asyncio.sleep(every_s)
            ticks.append(the_loop().time())
    finally:
        ticks.append(-1.0)


def test_a_frozen_process_runs_nothing_and_its_timers_come_late() -> None:
    async def main() -> list[float]:
        life, ticks = Life("one"), list[float]()
        task = start(life, ticking(ticks))
        await asyncio.sleep(2.5)
        the_loop().freeze(life)
        await asyncio.sleep(10)
        assert ticks == [1.0, 2.0]
        the_loop().thaw(life)
        await asyncio.sleep(1.2)
        seen = list(ticks)
        task.cancel()
        return seen

    assert run_world(main(), random.Random(1)) == [1.0, 2.0, 12.5, 13.5]


def test_a_killed_process_cleans_nothing_up() -> None:
    async def main() -> list[float]:
        life, ticks = Life("one"), list[float]()
        task = start(life, ticking(ticks))
        await asyncio.sleep(1.5)
        the_loop().freeze(life)
        task.cancel()
        await asyncio.sleep(100)
        seen = list(ticks)
        the_loop().thaw(life)
        await asyncio.wait([task])
        return seen

    assert run_world(main(), random.Random(1)) == [1.0]


def test_a_process_that_is_started_by_a_process_belongs_to_it() -> None:
    async def main() -> list[float]:
        life, ticks = Life("one"), list[float]()

        async def parent() -> None:
            await asyncio.gather(ticking(ticks), asyncio.create_task(ticking(ticks)))

        start(life, parent())
        await asyncio.sleep(1.5)
        the_loop().freeze(life)
        await asyncio.sleep(5)
        seen = list(ticks)
        the_loop().thaw(life)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(1)
        return seen

    assert run_world(main(), random.Random(1)) == [1.0, 1.0]


def order(seed: int) -> str:
    """Three processes wake at the same instant, again and again; each does two things in a row."""

    async def main() -> str:
        said: list[str] = []

        async def speak(name: str) -> None:
            for _ in range(4):
                await asyncio.sleep(1)
                the_loop().call_soon(said.append, name.lower())
                the_loop().call_soon(said.append, name.upper())

        tasks = [start(Life(name), speak(name)) for name in "abc"]
        await asyncio.wait(tasks)
        await asyncio.sleep(1)
        return "".join(said)

    return run_world(main(), random.Random(seed))


def test_the_order_among_processes_is_the_seed_s() -> None:
    assert order(1) == order(1)
    assert len({order(seed) for seed in range(10)}) > 5


def test_the_order_within_a_process_is_its_own() -> None:
    for seed in range(10):
        for name in "abc":
            assert [one for one in order(seed) if one.lower() == name] == [name, name.upper()] * 4


def test_a_world_in_which_all_wait_for_ever_is_told_of() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlock):
        run_world(main(), random.Random(1))


def test_what_a_failed_world_leaves_is_collected_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    async def fail() -> None:
        left = [asyncio.create_task(wait())]
        await asyncio.sleep(1)
        raise ValueError(f"{len(left)} left")

    with pytest.raises(ValueError, match="1 left"):
        run_world(fail(), random.Random(1))
    gc.collect()
    assert caplog.messages == []
