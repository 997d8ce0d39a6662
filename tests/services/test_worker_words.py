"""What a worker makes of odd errors."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import suppress

import pytest

from fencepost.model.run import RunState
from fencepost.services import worker
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


@pytest.mark.parametrize(
    "error",
    [
        subprocess.CalledProcessError(1, ["false"], output=b"\xff bytes"),
        KeyboardInterrupt(),
        GeneratorExit(),
        BaseExceptionGroup("both", [KeyboardInterrupt(), SystemExit(1)]),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("in_thread", [False, True])
async def test_no_kind_of_error_leaves_a_run_running(error: BaseException, in_thread: bool) -> None:
    house = House()

    async def on_the_loop() -> None:
        raise error

    def in_a_thread() -> None:
        raise error

    work = in_a_thread if in_thread else on_the_loop
    node = WorkingNode(house, make_job(work, attempts=1))
    await node.register()
    key = await house.enqueue("a")
    await node.work()
    run = await house.run(key)
    assert run.state is RunState.DEAD
    assert run.error is not None
    assert type(error).__name__ in run.error


async def test_work_that_ignores_its_timeout_does_not_keep_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "INTERRUPT_S", 0.05)
    house = House()
    released = asyncio.Event()

    async def stubborn() -> None:
        while not released.is_set():
            with suppress(asyncio.CancelledError):
                await released.wait()

    node = WorkingNode(house, make_job(stubborn, attempts=1, timeout_s=0.05))
    await node.register()
    key = await house.enqueue("a")
    await node.work()
    assert (await house.run(key)).error == "TimedOut: longer than 0.05s"
    released.set()


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
