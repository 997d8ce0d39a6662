"""What a worker makes of odd errors."""

from __future__ import annotations

from fencepost.model.run import RunState
from tests.services.house import House, WorkingNode, make_job


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


async def test_an_error_without_words_does_not_take_the_worker_along() -> None:
    house = House()

    async def report() -> None:
        raise Unspeakable

    node = WorkingNode(house, make_job(report, attempts=1))
    await node.register()
    key = await house.enqueue("a")
    await node.work()
    run = await house.run(key)
    assert (run.state, run.error) == (RunState.DEAD, "Unspeakable: (its text cannot be had)")


async def test_an_error_that_no_store_could_keep_is_kept_readable() -> None:
    house = House()

    async def report() -> None:
        raise ValueError("a\0b\ud800c")

    node = WorkingNode(house, make_job(report, attempts=1))
    await node.register()
    key = await house.enqueue("a")
    await node.work()
    error = (await house.run(key)).error
    assert error is not None
    assert error.encode() == "ValueError: a\N{REPLACEMENT CHARACTER}b?c".encode()
