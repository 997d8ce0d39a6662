"""A few requests are worked on at once; the others wait in order, not for ever and not in any number."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fencepost.model.access import EVERYWHERE, Came, Principal, Role
from fencepost.web.admission import (
    AT_ONCE_EACH_MAX,
    REPORTS_AT_ONCE_MAX,
    STRANGERS_AT_ONCE_MAX,
    WAITING_EACH_MAX,
    Turns,
)
from tests.web.house import CLAIMS, Answer, Web, ask, run_path

PATIENCE_S = 30.0
FAR_S = 3_600.0
LOOKS_MAX = 1_000
EVENTS = "/api/v1/events"
HEARTBEAT = run_path("count#1", "heartbeat")


class Slow:
    """An application that answers a path when it is told to, and remembers who came in which order."""

    def __init__(self) -> None:
        self.came: list[str] = []
        self.at_work = 0
        self.most_at_work = 0
        self._go: dict[str, asyncio.Event] = {}
        self.bodies: list[bytes] = []

    def let(self, path: str) -> None:
        self._go.setdefault(path, asyncio.Event()).set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        self.came.append(path)
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            self.bodies.append((await receive())["body"])
            await self._go.setdefault(path, asyncio.Event()).wait()
            if "broken" in path:
                raise RuntimeError(path)
        finally:
            self.at_work -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": path.encode(), "more_body": False})


class Verbs:
    """Requests on their way to a slow application, two at once unless told otherwise."""

    def __init__(
        self, at_once_max: int = 2, waiting_max: int = 50, each_max: int = 50, within_s: float = FAR_S
    ) -> None:
        self.slow = Slow()
        self.turns = Turns(self.slow, at_once_max, waiting_max, each_max, within_s)
        self.asked: list[asyncio.Task[Answer]] = []

    async def begin(
        self,
        path: str,
        known: bool = True,
        method: str = "GET",
        gone: asyncio.Event | None = None,
        who: str = "t1",
    ) -> asyncio.Task[Answer]:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            scope["state"] = {"principal": principal(who)} if known else {}
            await self.turns(scope, receive, send)

        task = asyncio.create_task(ask(app, method, path, path.encode(), gone=gone))
        self.asked.append(task)
        await settled()
        return task


def principal(who: str) -> Principal:
    return Principal("ada", Role.ADMIN, EVERYWHERE, Came.TOKEN, who, who)


@asynccontextmanager
async def verbs(**about: Any) -> AsyncIterator[Verbs]:
    made = Verbs(**about)
    async with asyncio.timeout(PATIENCE_S):
        yield made
    for one in made.asked:
        one.cancel()
    await asyncio.gather(*made.asked, return_exceptions=True)


async def settled() -> None:
    """Everything that can go on without a signal has gone on."""
    for _ in range(20):
        await asyncio.sleep(0)


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(LOOKS_MAX):
        if holds():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came true")


async def test_never_more_than_so_many_are_at_work_and_the_rest_come_in_order() -> None:
    async with verbs() as here:
        paths = [f"/{number}" for number in range(20)]
        tasks = [await here.begin(one) for one in paths]
        assert here.slow.came == paths[:2]
        for one in paths:
            here.slow.let(one)
        answers = await asyncio.gather(*tasks)
        assert [one.content.decode() for one in answers] == paths
        assert here.slow.came == paths
        assert here.slow.most_at_work == 2
        assert here.slow.bodies == [one.encode() for one in paths]


async def test_a_later_request_does_not_go_before_one_that_waits() -> None:
    async with verbs(at_once_max=1) as here:
        await here.begin("/first")
        await here.begin("/second")
        here.slow.let("/first")
        late = asyncio.create_task(here.begin("/third"))
        await until(lambda: len(here.slow.came) == 2)
        assert here.slow.came == ["/first", "/second"]
        await late


async def test_beyond_the_bound_there_is_no_waiting() -> None:
    async with verbs(at_once_max=1, waiting_max=2) as here:
        for one in ("/a", "/b", "/c"):
            await here.begin(one)
        refused = await (await here.begin("/d"))
        assert (refused.status, refused.problem) == (503, "turned-away")
        assert refused.headers["retry-after"] == "5"
        here.slow.let("/a")
        here.slow.let("/b")
        here.slow.let("/c")
        assert [(await one).status for one in here.asked[:3]] == [200, 200, 200]
        assert "/d" not in here.slow.came


async def test_no_caller_takes_the_places_of_all_others() -> None:
    async with verbs(at_once_max=1, waiting_max=5, each_max=2) as here:
        for one in ("/a", "/b", "/c"):
            await here.begin(one)
        assert (await (await here.begin("/d"))).problem == "turned-away"
        other = await here.begin("/e", who="t2")
        for one in ("/a", "/b", "/c", "/e", "/f"):
            here.slow.let(one)
        assert (await other).status == 200
        assert (await (await here.begin("/f"))).status == 200
        assert here.slow.came == ["/a", "/b", "/c", "/e", "/f"]


@pytest.mark.parametrize("leaving", ["worked on", "gone", "tired"])
async def test_a_place_that_is_left_is_free_for_the_same_again(leaving: str) -> None:
    async with verbs(at_once_max=1, each_max=1, within_s=0.01 if leaving == "tired" else FAR_S) as here:
        gone = asyncio.Event()
        await here.begin("/a")
        left = await here.begin("/b", gone=gone)
        if leaving == "worked on":
            here.slow.let("/a")
            await until(lambda: "/b" in here.slow.came)
        elif leaving == "gone":
            gone.set()
            await left
        else:
            assert (await left).status == 503
        await here.begin("/c")
        assert here.turns.people.waiting == 1


async def test_many_workers_may_share_a_credential() -> None:
    async with verbs(each_max=1) as here:
        reports = REPORTS_AT_ONCE_MAX + 5
        tasks = [await here.begin(HEARTBEAT, method="POST") for _ in range(reports)]
        here.slow.let(here.slow.came[0])
        assert [(await one).status for one in tasks] == [200] * reports


async def test_who_waits_too_long_is_told_so_and_leaves_the_queue() -> None:
    async with verbs(at_once_max=1, within_s=0.01) as here:
        first = await here.begin("/a")
        refused = await (await here.begin("/b"))
        assert refused.problem == "turned-away"
        assert here.turns.people.waiting == 0
        here.slow.let("/a")
        assert (await first).status == 200
        here.slow.let("/c")
        assert (await (await here.begin("/c"))).status == 200


async def test_who_hangs_up_gives_up_the_place() -> None:
    async with verbs(at_once_max=1) as here:
        gone = asyncio.Event()
        await here.begin("/a")
        left = await here.begin("/b", gone=gone)
        waiting = await here.begin("/c")
        assert here.turns.people.waiting == 2
        gone.set()
        assert (await left).status == 0
        assert here.turns.people.waiting == 1
        here.slow.let("/a")
        here.slow.let("/c")
        assert (await waiting).status == 200
        assert here.slow.came == ["/a", "/c"]


@pytest.mark.parametrize("place", [0, 1], ids=["at work", "in the queue"])
async def test_a_turn_is_given_back_by_one_that_is_cancelled(place: int) -> None:
    async with verbs(at_once_max=1) as here:
        tasks = [await here.begin("/a"), await here.begin("/b")]
        tasks[place].cancel()
        await asyncio.gather(tasks[place], return_exceptions=True)
        for one in ("/a", "/b", "/c"):
            here.slow.let(one)
        assert (await tasks[1 - place]).status == 200
        assert (await (await here.begin("/c"))).status == 200


async def test_a_turn_is_given_back_by_one_that_is_cancelled_as_it_comes() -> None:
    async with verbs(at_once_max=1) as here:
        first, second = await here.begin("/a"), await here.begin("/b")
        here.slow.let("/a")
        await until(lambda: here.turns.people.waiting == 0)
        assert here.slow.came == ["/a"]
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        here.slow.let("/c")
        assert (await (await here.begin("/c"))).status == 200


async def test_a_turn_is_given_back_by_one_that_breaks() -> None:
    async with verbs(at_once_max=1) as here:
        broken, after = await here.begin("/broken"), await here.begin("/b")
        here.slow.let("/broken")
        here.slow.let("/b")
        with pytest.raises(RuntimeError):
            await broken
        assert (await after).status == 200


async def test_one_who_reads_slowly_holds_no_turn() -> None:
    began = asyncio.Event()

    async def never(_: Any) -> None:
        began.set()
        await asyncio.Event().wait()

    async def body() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async with verbs(at_once_max=1) as here:
        here.slow.let("/slow")
        scope: Any = {
            "type": "http",
            "path": "/slow",
            "method": "GET",
            "state": {"principal": principal("t1")},
        }
        reading = asyncio.create_task(here.turns(scope, body, never))
        await began.wait()
        here.slow.let("/b")
        assert (await (await here.begin("/b"))).status == 200
        reading.cancel()


@pytest.mark.parametrize(
    ("path", "method"),
    [
        *((EVENTS, "GET"), (f"{EVENTS}/", "GET"), (CLAIMS, "POST"), (f"{CLAIMS}/", "POST")),
        *(("/healthz", "GET"), ("/readyz", "GET"), ("/static/x.css", "GET")),
    ],
)
async def test_what_waits_by_design_or_costs_nothing_takes_no_turn(path: str, method: str) -> None:
    async with verbs(at_once_max=1, waiting_max=0) as here:
        for _ in range(5):
            await here.begin(path, method=method)
        here.slow.let("/page")
        assert (await (await here.begin("/page"))).status == 200
        assert here.slow.came.count(path) == 5


@pytest.mark.parametrize(
    ("lane", "path", "method", "known", "most"),
    [
        ("page", "/runs", "GET", True, 1),
        ("page", "/api/v1/runs/fail", "GET", True, 1),
        ("report", HEARTBEAT, "POST", True, REPORTS_AT_ONCE_MAX),
        ("report", run_path("count#1", "complete"), "POST", True, REPORTS_AT_ONCE_MAX),
        ("report", run_path("count#1", "fail"), "POST", True, REPORTS_AT_ONCE_MAX),
        ("stranger", "/sign-in", "POST", False, STRANGERS_AT_ONCE_MAX),
    ],
)
async def test_each_lane_has_its_own_turns(lane: str, path: str, method: str, known: bool, most: int) -> None:
    """The lane is full with so many, and nobody in another one waits for them."""
    others = {
        "page": ("/page", True, "GET"),
        "report": (run_path("other", "heartbeat"), True, "POST"),
        "stranger": ("/metrics", False, "GET"),
    }
    async with verbs(at_once_max=1, waiting_max=0) as here:
        for _ in range(most):
            await here.begin(path, known, method)
        assert here.slow.most_at_work == most
        assert (await (await here.begin(path, known, method))).status == 503
        refused = set()
        for name, other in others.items():
            here.slow.let(other[0])
            if (await (await here.begin(*other))).status == 503:
                refused.add(name)
        assert refused == ({lane} & set(others))


async def test_one_credential_has_some_of_the_turns_and_not_all() -> None:
    async with verbs(at_once_max=8) as here:
        for number in range(6):
            await here.begin(f"/{number}")
        assert here.slow.came == [f"/{number}" for number in range(AT_ONCE_EACH_MAX)]
        await here.begin("/other", who="t2")
        assert here.slow.came[-1] == "/other"
        here.slow.let("/2")
        await until(lambda: here.slow.came[-1] == "/4")


async def test_the_application_stands_behind_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many questions at once to the whole application: no more than a few ask the store."""
    web = Web()
    await web.open()
    at_work, most, go = 0, 0, asyncio.Event()
    listed = web.house.store.jobs.all

    async def slowly(*about: Any) -> Any:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await go.wait()
        at_work -= 1
        return await listed(*about)

    monkeypatch.setattr(web.house.store.jobs, "all", slowly)
    async with asyncio.timeout(PATIENCE_S):
        many = AT_ONCE_EACH_MAX + WAITING_EACH_MAX + 7
        asked = [asyncio.create_task(web.get("/api/v1/jobs")) for _ in range(many)]
        await until(lambda: sum(one.done() for one in asked) == 7)
        assert (await web.get("/healthz", token=None)).status == 200
        assert (await web.get("/readyz", token=None)).status == 200
        go.set()
        statuses = [(await one).status for one in asked]
    assert most == AT_ONCE_EACH_MAX
    assert (statuses.count(200), statuses.count(503)) == (AT_ONCE_EACH_MAX + WAITING_EACH_MAX, 7)
