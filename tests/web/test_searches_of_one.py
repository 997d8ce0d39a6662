"""One credential with slow searches keeps no other waiting: 24 of 7 KB, which never end by themselves."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from fencepost.model.access import EVERYWHERE, Role
from fencepost.model.audit import PROGRAM
from fencepost.operations import credentials
from fencepost.operations.control import Control
from fencepost.services import offload
from fencepost.testing.clock import VirtualClock
from fencepost.triggers import Cron, Solar
from fencepost.triggers.combine import Union
from tests.web.door import HERE
from tests.web.house import Web, ask

PATIENCE_S = 60.0
SEARCHES = 24
WAIT = "wait until one of them is answered, then ask again"
SMALLER = "ask for fewer fire times or a shorter range, or combine fewer triggers"


class Gate:
    """Where slow searches wait. When they go on, they have taken too long by the server's clock."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.came = asyncio.Event()
        self.open = threading.Event()
        self._loop = asyncio.get_running_loop()

    def wait(self) -> None:
        self._loop.call_soon_threadsafe(self.came.set)
        self.open.wait(PATIENCE_S)
        self.clock.advance(offload.THOUGHT_MAX_S)


@pytest.fixture
async def gate(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gate]:
    """A search that asks for the sun waits here."""
    made, ask_sun = Gate(), Solar.next_after

    def waiting(trigger: Solar, after: Any) -> Any:
        made.wait()
        return ask_sun(trigger, after)

    monkeypatch.setattr(Solar, "next_after", waiting)
    yield made
    made.open.set()


@pytest.fixture
async def web(gate: Gate) -> AsyncIterator[Web]:
    made = Web(offload=offload.OffloadThreads(clock=gate.clock))
    await made.open()
    yield made
    gate.open.set()
    made.serving.offload.close()


async def credential(web: Web, name: str) -> str:
    control = Control(web.house.store, web.house.settings.namespace, PROGRAM)
    return (await credentials.create(control, name, Role.VIEWER, EVERYWHERE)).credential.reveal()


def slow_question() -> str:
    sun = Union(tuple(Solar("sunrise", 47.25, -180 + step / 10) for step in range(80)))
    expression = json.dumps((sun & Cron("0 12 * * *")).to_json(), separators=(",", ":"))
    assert 6_500 < len(expression) < 10_000
    return f"/api/v1/triggers/next?expression={quote(expression)}"


async def test_24_slow_searches_of_one_viewer_leave_others_their_answers(web: Web, gate: Gate) -> None:
    viewer, other = await credential(web, "viewer"), await credential(web, "other")
    async with asyncio.timeout(PATIENCE_S):
        slow = [asyncio.create_task(web.get(slow_question(), viewer)) for _ in range(SEARCHES)]
        await gate.came.wait()
        cron = f"/api/v1/triggers/next?expression={quote('0 12 * * *')}"
        for path in ("/api/v1/runs", "/api/v1/schedules", cron, "/api/v1/status"):
            assert (await web.get(path, other)).status == 200, path
        assert (await web.get("/api/v1/runs", viewer)).status == 200
        for refused in itertools.islice(asyncio.as_completed(slow), SEARCHES - offload.EACH_MAX):
            await refused
        gate.open.set()
        answers = await asyncio.gather(*slow)
    said = Counter((one.status, one.body["detail"].partition("; ")[2]) for one in answers)
    assert said == {(503, WAIT): SEARCHES - offload.EACH_MAX, (422, SMALLER): offload.EACH_MAX}
    assert all(one.headers["retry-after"] == "5" for one in answers if one.status == 503)


async def test_sessions_of_one_token_share_what_it_may(web: Web, gate: Gate) -> None:
    """To sign in again makes no second credential of it."""
    viewer = await credential(web, "viewer")
    cookies = [await signed_in(web, viewer) for _ in range(3)]
    assert len({one["cookie"] for one in cookies}) == len(cookies)
    async with asyncio.timeout(PATIENCE_S):
        slow = [
            asyncio.create_task(ask(web.app, "GET", slow_question(), token=None, headers=cookie))
            for cookie in cookies * 3
        ]
        await gate.came.wait()
        refused = [await one for one in itertools.islice(asyncio.as_completed(slow), 4)]
        gate.open.set()
        await asyncio.gather(*slow)
    assert [one.body["detail"].partition("; ")[2] for one in refused] == [WAIT] * 4


async def signed_in(web: Web, token: str) -> dict[str, str]:
    body, kind = f"token={token}".encode(), "application/x-www-form-urlencoded"
    headers = {"content-type": kind, **HERE}
    answer = await ask(web.app, "POST", "/sign-in", body, None, headers=headers)
    return {"cookie": answer.headers["set-cookie"].partition(";")[0]}
