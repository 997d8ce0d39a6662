"""FastAPI: every process of the web server is a node, and leaves as one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fencepost import Fencepost, Run
from fencepost.contrib.fastapi import lifespan
from fencepost.operations.status import StatusRequest, show_status
from tests.cli.calls import called_json
from tests.cli.processes import SIGTERM
from tests.contrib.servers import program
from tests.examples.programs import EXAMPLES, ended_runs
from tests.servers.ports import free_port, wait_until_heard

UP = "Application startup complete"


def answer(method: str, url: str) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=30) as said:
        return json.load(said)


@pytest.mark.parametrize(
    "place", ["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.proof])]
)
def test_two_web_processes_are_two_nodes_and_stop_cleanly(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = (
        f"sqlite:///{tmp_path / 'jobs.db'}" if place == "sqlite" else request.getfixturevalue("postgres_url")
    )
    port = str(free_port())
    served = ("-m", "uvicorn", "shop:web", "--workers", "2", "--port", port)
    with program(*served, folder=EXAMPLES / "web", FENCEPOST_STORE=url) as server:
        for _ in range(2):
            server.wait_for(UP)
        wait_until_heard(int(port))
        here = f"http://127.0.0.1:{port}"
        keys = [answer("POST", f"{here}/orders/{number}")["run"] for number in (1, 2, 2)]
        assert keys == ["send_receipt#1", "send_receipt#2", "send_receipt#2"]
        ended_runs(url, "send_receipt", 2)
        assert answer("GET", f"{here}/runs/send_receipt%231") == {"state": "succeeded"}
        nodes = called_json("status", "--store", url)["nodes"]
        assert len(nodes) == 2
        server.signal(SIGTERM)
        assert server.ended() == 0, server.said
    status = called_json("status", "--store", url)
    assert status["nodes"] == []
    assert all(one["holder"] is None for one in status["shards"])


async def test_a_lifespan_of_ones_own_is_around_the_jobs(tmp_path: Path) -> None:
    app, seen = Fencepost(f"sqlite:///{tmp_path / 'jobs.db'}"), list[str]()
    begun, released = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def own(web: Any) -> AsyncIterator[dict[str, str]]:
        seen.append("opened")
        yield {"cache": "warm"}
        seen.append("closed")

    @app.job()
    async def look(run: Run) -> None:
        seen.append("begun")
        begun.set()
        await released.wait()
        seen.append("ended")

    async with lifespan(app, plans=False, within=own)(None) as state:
        assert state == {"cache": "warm", "fencepost": app}
        await app.enqueue(look)
        await asyncio.wait_for(begun.wait(), 20)
        asyncio.get_running_loop().call_later(0.1, released.set)
    assert seen == ["opened", "begun", "ended", "closed"]


async def test_a_process_that_neither_plans_nor_works_is_no_node(tmp_path: Path) -> None:
    app = Fencepost(f"sqlite:///{tmp_path / 'jobs.db'}")
    app.job("report")(lambda: None)
    async with lifespan(app, plans=False, works=False)(None):
        await app.enqueue("report")
        status = await show_status.carry_out(await app.control(), StatusRequest())
        assert (status.nodes, status.queue.ready) == ([], 1)


async def test_a_web_server_does_not_outlive_its_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, sent = Fencepost(f"sqlite:///{tmp_path / 'jobs.db'}"), list[tuple[int, int]]()
    monkeypatch.setattr("fencepost.contrib.fastapi.os.kill", lambda *words: sent.append(words))

    async def broken(stop: asyncio.Event) -> None:
        raise OSError("the disk is gone")

    async def node(**words: bool) -> Any:
        return SimpleNamespace(run=broken)

    monkeypatch.setattr(app, "node", node)

    async def serve() -> None:
        async with lifespan(app)(None):
            for _ in range(5):
                await asyncio.sleep(0)

    with pytest.raises(OSError, match="the disk is gone"):
        await serve()
    assert sent == [(os.getpid(), signal.SIGTERM)]
