"""A real node under load: those who look at pages cost it no lease, and those who say nothing no answer."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calls import called, called_json
from tests.cli.processes import Process
from tests.servers.process import wait_until
from tests.web.house import TOKEN
from tests.web.serving import MANIFEST, Server

pytestmark = pytest.mark.proof

AT_ONCE = 300
ROUNDS = 3
SHARDS = 8
PATIENCE_S = 120.0
FILES = 640
SILENT = 400


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(f"sqlite:///{tmp_path / 'store.db'}")


def test_three_hundred_pages_at_once_cost_no_lease(server: Server, tmp_path: Path) -> None:
    called("migrate", "--store", server.store)
    token = called_json("token", "create", "eye", "--role", "viewer", "--store", server.store)["token"]
    with server.process(tmp_path, "run") as process:
        wait_until(lambda: is_led(server), lambda: process.said)
        before = epochs(server)
        seen: Counter[int] = Counter()
        for _ in range(ROUNDS):
            seen += asyncio.run(pages(server.port, token))
        assert "stepped down" not in process.said, process.said
        assert epochs(server) == before
        assert set(seen) <= {200, 503}, seen
        assert seen[200], seen
        assert "Traceback" not in process.said


def test_silent_sockets_keep_no_probe_from_its_answer(server: Server, tmp_path: Path) -> None:
    """There are more of them than files that the server may open."""
    called("migrate", "--store", server.store)
    arguments = ("web", str(MANIFEST), "--bind", f"127.0.0.1:{server.port}", "--store", server.store)
    with ExitStack() as opened:
        process = Poor(arguments, tmp_path, {"FENCEPOST_TOKEN": TOKEN})
        opened.callback(process.close)
        process.wait_for("web serving")
        for _ in range(ROUNDS):
            for _ in range(SILENT):
                opened.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            assert server.ask("GET", "/healthz", token=None).status == 200
            assert server.ask("GET", "/readyz", token=None).status == 200
        assert "cannot accept" not in process.said
        assert "Traceback" not in process.said


POOR = f"""
import resource, runpy
resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES}))
runpy.run_module("fencepost", run_name="__main__", alter_sys=True)
"""


class Poor(Process):
    """A process that may open few files, and cannot help it."""

    head = ("-c", POOR)


def is_led(server: Server) -> bool:
    shards = called_json("status", "--store", server.store)["shards"]
    return len(shards) == SHARDS and all(one["holder"] for one in shards)


def epochs(server: Server) -> dict[Any, Any]:
    """By shard."""
    return {one["shard"]: one["epoch"] for one in called_json("status", "--store", server.store)["shards"]}


async def pages(port: int, token: str) -> Counter[int]:
    """How often which status came, of so many requests at once."""
    async with asyncio.timeout(PATIENCE_S):
        return Counter(await asyncio.gather(*(page(port, token) for _ in range(AT_ONCE))))


async def page(port: int, token: str) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode())
    status = int((await reader.readline()).split()[1])
    await reader.read()
    writer.close()
    return status
