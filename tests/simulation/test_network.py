"""A message of the simulated network arrives, or not, whatever becomes of its sender."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from fencepost.errors import StoreUnavailable
from tests.simulation.loop import Life, context_of, run_world, the_loop
from tests.simulation.network import Line, Network, Server

GIVES_UP_S = 4.0


class Bench:
    """A line to a server that remembers what it did."""

    def __init__(self) -> None:
        self.network = Network(random.Random(1), GIVES_UP_S)
        self.server = Server("ledger")
        self.line = Line(self.network, self.server)
        self.done: list[str] = []

    async def ask(self, what: str = "write") -> str:
        async def work() -> str:
            self.done.append(what)
            return what.upper()

        return str(await self.line.call(what, work))


def on_a_bench(test: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await test(Bench())

    run_world(main(), random.Random(1))


def test_a_call_is_answered() -> None:
    async def test(bench: Bench) -> None:
        assert await bench.ask() == "WRITE"
        assert bench.done == ["write"]

    on_a_bench(test)


def test_what_was_lost_is_given_up_on_and_was_carried_out_or_not() -> None:
    async def test(bench: Bench) -> None:
        bench.network.lost_share = 0.5
        answers = await asyncio.gather(*(bench.ask() for _ in range(100)), return_exceptions=True)
        answered = answers.count("WRITE")
        assert all(one == "WRITE" or isinstance(one, StoreUnavailable) for one in answers)
        assert 0 < answered < len(bench.done) < 100
        assert the_loop().time() == pytest.approx(GIVES_UP_S, abs=0.1)

    on_a_bench(test)


@pytest.mark.parametrize("cut", ["requests_cut", "answers_cut"])
def test_a_cut_in_one_direction_is_a_cut_for_the_caller(cut: str) -> None:
    async def test(bench: Bench) -> None:
        setattr(bench.line, cut, True)
        with pytest.raises(StoreUnavailable, match="no answer"):
            await bench.ask()
        assert bench.done == (["write"] if cut == "answers_cut" else [])

    on_a_bench(test)


def test_a_request_can_come_through_long_after_its_caller_gave_up() -> None:
    async def test(bench: Bench) -> None:
        bench.line.requests_cut = True
        answers = await asyncio.gather(*(bench.ask() for _ in range(20)), return_exceptions=True)
        assert all(isinstance(one, StoreUnavailable) for one in answers)
        bench.line.requests_cut = False
        bench.line.release()
        await asyncio.sleep(1)
        assert 0 < len(bench.done) < 20

    on_a_bench(test)


def test_a_request_can_be_carried_out_twice() -> None:
    async def test(bench: Bench) -> None:
        bench.network.repeated_share = 0.5
        await asyncio.gather(*(bench.ask() for _ in range(100)))
        await asyncio.sleep(60)
        assert 120 < len(bench.done) < 180

    on_a_bench(test)


def test_a_server_that_is_down_refuses_and_one_that_restarts_answers_nobody() -> None:
    async def test(bench: Bench) -> None:
        bench.server.up = False
        with pytest.raises(StoreUnavailable, match="refused"):
            await bench.ask()
        bench.server.up, bench.line.slow_s = True, 1.0
        asking = asyncio.create_task(bench.ask())
        while not bench.done:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        bench.server.restart()
        with pytest.raises(StoreUnavailable, match="no answer"):
            await asking

    on_a_bench(test)


def test_a_trapped_request_outlives_its_sender() -> None:
    async def test(bench: Bench) -> None:
        life, trapped = Life("one"), asyncio.Event()
        bench.line.trap("write", trapped.set)
        sender = the_loop().create_task(bench.ask(), context=context_of(life))
        await trapped.wait()
        the_loop().freeze(life)
        await asyncio.sleep(100)
        assert bench.done == []
        bench.line.release()
        await asyncio.sleep(1)
        assert bench.done == ["write"]
        assert not sender.done()
        the_loop().thaw(life)
        with pytest.raises(StoreUnavailable):
            await sender

    on_a_bench(test)


def test_what_a_server_refuses_the_caller_hears() -> None:
    async def test(bench: Bench) -> None:
        async def refuse() -> None:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            await bench.line.call("write", refuse)

    on_a_bench(test)
