"""The web beside a node: in a thread of its own, whose trouble is not the node's."""

from __future__ import annotations

import asyncio
import threading

import pytest

from fencepost.config import settings_from
from fencepost.errors import StoreUnavailable
from fencepost.ports.store import Store
from fencepost.stores.memory import MemoryStore
from fencepost.testing import VirtualClock
from fencepost.web.binding import bound
from fencepost.web.server import WebThread

PATIENCE_S = 60.0


class Beside:
    """A web over a store in memory."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.threads: list[str] = []
        self.refusals = 0
        self.in_the_way = threading.Event()
        self.in_the_way.set()
        self.came = threading.Semaphore(0)
        self.listener = bound("127.0.0.1:0")
        self.web = WebThread(self.open, settings_from({}), self.listener, self.stop)

    async def open(self) -> Store:
        """Blocks the event loop that it is called in while something is in the way."""
        self.threads.append(threading.current_thread().name)
        self.came.release()
        assert self.in_the_way.wait(PATIENCE_S)
        if self.refusals:
            self.refusals -= 1
            raise StoreUnavailable("not yet")
        return MemoryStore(VirtualClock())

    async def ask(self) -> bytes:
        """The first line of an answer from the health check."""
        reader, writer = await asyncio.open_connection(*self.listener.getsockname())
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        async with asyncio.timeout(PATIENCE_S):
            answer = await reader.read()
        writer.close()
        return answer.partition(b"\r\n")[0]


async def ended(running: asyncio.Task[None]) -> None:
    running.cancel()
    await asyncio.wait({running}, timeout=PATIENCE_S)
    assert running.cancelled()


async def test_a_web_that_is_busy_does_not_hold_up_the_loop_of_the_node() -> None:
    beside = Beside()
    beside.in_the_way.clear()
    running = asyncio.create_task(beside.web.run())
    await asyncio.to_thread(beside.came.acquire, timeout=PATIENCE_S)
    # The loop of the web is blocked by now; this one goes on, or would never come to the next line.
    beside.in_the_way.set()
    assert await beside.ask() == b"HTTP/1.1 200 OK"
    assert beside.threads == ["fencepost-web"]
    await ended(running)


async def test_a_store_that_is_away_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.web.server.OPEN_AGAIN_S", 0.01)
    beside = Beside()
    beside.refusals = 2
    running = asyncio.create_task(beside.web.run())
    assert await beside.ask() == b"HTTP/1.1 200 OK"
    await ended(running)


async def test_a_web_that_breaks_is_not_kept_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("fencepost.web.running.build_application", broken)
    beside = Beside()
    with pytest.raises(RuntimeError, match="a bug"):
        await asyncio.wait_for(beside.web.run(), PATIENCE_S)
    beside.listener.close()


async def test_asked_to_stop_it_closes_its_socket_and_waits_for_the_node() -> None:
    beside = Beside()
    running = asyncio.create_task(beside.web.run())
    await beside.ask()
    beside.stop.set()
    await asyncio.to_thread(beside.web._thread.join, PATIENCE_S)
    assert not beside.web._thread.is_alive()
    assert beside.listener.fileno() == -1
    await ended(running)
