"""Whoever stops waiting for the driver leaves it alone: its locks do not survive every cancellation."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.drivers.mongodb.calls import REQUEST_TIMEOUT_S, ask_each, in_time
from fencepost.model.identifiers import Shard
from fencepost.model.lease import Unknown
from tests.virtual_loop import run_virtually


class Driver:
    """Takes its time, and remembers how it ended."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    async def work(self, seconds: float) -> str:
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        self.ended.append("done")
        return "answer"


def test_work_that_takes_too_long_is_not_cancelled() -> None:
    async def main() -> None:
        driver = Driver()
        with pytest.raises(TimeoutError):
            await in_time(driver.work(3), at_most_s=1)
        await asyncio.sleep(5)
        assert driver.ended == ["done"]

    run_virtually(main())


def test_work_is_not_cancelled_with_its_caller() -> None:
    async def main() -> None:
        driver = Driver()
        waiting = asyncio.create_task(in_time(driver.work(3), at_most_s=10))
        await asyncio.sleep(1)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        await asyncio.sleep(5)
        assert driver.ended == ["done"]

    run_virtually(main())


def test_a_shard_without_an_answer_in_time_is_unknown_and_its_question_is_not_cancelled() -> None:
    async def main() -> None:
        driver = Driver()
        delays = {Shard(0): 0.1, Shard(1): 2 * REQUEST_TIMEOUT_S}
        answers = await ask_each(delays, lambda shard: driver.work(delays[shard]))
        assert answers[Shard(0)] == "answer"
        assert isinstance(answers[Shard(1)], Unknown)
        await asyncio.sleep(10)
        assert driver.ended == ["done", "done"]

    run_virtually(main())
