"""A client in a process of its own: enqueues runs by key and adds schedules, and writes down what was
acknowledged.

What the store did not answer is asked again, under the same key, until it is.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fencepost import CatchUp, Every
from fencepost.errors import ScheduleExists, StoreUnavailable
from tests.chaos.effects_app import BOOK, FOLDER, app, order
from tests.chaos.fleet import ROOT
from tests.chaos.sinks import DurableLines
from tests.servers.guard import guard

PACE_S = 0.01
AGAIN_S = 0.1
TRIES_MAX = 1_500
SCHEDULE_EVERY, SCHEDULES_MAX = 25, 20
ORDERS_MAX = 100_000
STOP_S = 30.0


class Orderer:
    """The process, from the outside."""

    name = "orderer"

    def __init__(self, store: str, folder: Path) -> None:
        self.book = DurableLines(folder / BOOK)
        self._log = folder / f"{self.name}.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env={**os.environ, "FENCEPOST_STORE": store, FOLDER: str(folder)},
                start_new_session=True,
            )
        self._is_guarded = True
        guard().hold(self.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def acknowledged(self) -> int:
        """How many keys are in the book."""
        assert self._process.poll() is None, f"the client has ended by itself\n{self.log}"
        return len(self.book.lines())

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """Let it finish what it has asked for."""
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(STOP_S) == 0, self.log
        self.discard()

    def discard(self) -> None:
        """Have it gone, in whatever state it is. Once more is fine."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._is_guarded:
            self._is_guarded = False
            guard().let_go(self.pid)


async def place_orders(book: DurableLines) -> None:
    """One order after the other, and now and then a schedule, until asked to stop."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    for number in range(ORDERS_MAX):
        if stop.is_set():
            break
        run_key = await _insist(app.enqueue, order, key=f"order-{number}")
        book.append(run_key)
        if number % SCHEDULE_EVERY == 0 and number < SCHEDULE_EVERY * SCHEDULES_MAX:
            book.append(await _insist(_add_schedule, f"added-{number}"))
        await asyncio.sleep(PACE_S)
    await app.close()


async def _add_schedule(name: str) -> str:
    """Nobody else gives such names: one that exists is ours, from a call that was not answered."""
    with suppress(ScheduleExists):
        await app.schedules.add(
            name, job="tick", trigger=Every("2s"), overlap="allow", catch_up=CatchUp("none", "5s")
        )
    return name


async def _insist(ask: Callable[..., Awaitable[str]], *what: Any, **options: Any) -> str:
    for _ in range(TRIES_MAX):
        with suppress(StoreUnavailable):
            return await ask(*what, **options)
        await asyncio.sleep(AGAIN_S)
    raise AssertionError("the store stays away")


if __name__ == "__main__":
    asyncio.run(place_orders(DurableLines(Path(os.environ[FOLDER], BOOK))))
