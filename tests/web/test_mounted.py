"""Inside another application: paths, people, and when it starts and stops."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from fencepost.errors import StoreUnavailable, UsageError
from fencepost.ports.store import Store
from fencepost.web.mounted.application import MountedWeb, asked_to_end
from fencepost.web.mounted.paths import Outward, split_path
from fencepost.web.mounted.people import User
from tests.services.house import House
from tests.web.house import TOKEN, Answer, ask

ROOT = "/ops/fencepost"
ANNA = User("anna", "admin")
PATHS = [
    ("", "/runs", "", "/runs"),
    (ROOT, f"{ROOT}/runs/a%2Fb", ROOT, "/runs/a%2Fb"),
    (ROOT, ROOT, ROOT, "/"),
    (ROOT, f"{ROOT}/", ROOT, "/"),
    (f"{ROOT}/", f"{ROOT}/runs", ROOT, "/runs"),
    (ROOT, "/runs", ROOT, "/runs"),
    (ROOT, "/ops/fencepost-other", ROOT, "/ops/fencepost-other"),
    ('/"><b>', '/"><b>/runs', "/%22%3E%3Cb%3E", "/runs"),
    ("/täglich", "/t%C3%A4glich/runs", "/t%C3%A4glich", "/runs"),
]
HTML = [(b"content-type", b"text/html"), (b"content-length", b"9")]


@pytest.mark.parametrize(("root", "sent", "before", "rest"), PATHS)
def test_the_path_of_the_host_is_taken_away_once(root: str, sent: str, before: str, rest: str) -> None:
    scope: Any = {"root_path": root, "raw_path": sent.encode(), "path": sent}
    assert split_path(scope) == (before, rest)


def test_a_server_that_does_not_tell_what_was_sent_is_understood() -> None:
    scope: Any = {"root_path": ROOT, "path": f"{ROOT}/runs/a b"}
    assert split_path(scope) == (ROOT, "/runs/a%20b")


async def test_links_are_found_in_marks_and_not_in_texts() -> None:
    page = b'<a href="/runs">href=&#34;/x&#34; /runs</a><form class="a" action="/do/x"><use href="#m"/>'
    page += b'<a href="//x">'
    wanted = page.replace(b'href="/runs"', b'href="/p/runs"').replace(b'"/do/x"', b'"/p/do/x"')
    assert await outward("/p", HTML, [page[:12], page[12:]]) == wanted


async def test_what_is_no_page_is_not_touched() -> None:
    text = b'<a href="/runs">'
    assert await outward("/p", [(b"content-type", b"application/json")], [text]) == text


async def outward(root: str, headers: list[tuple[bytes, bytes]], parts: list[bytes]) -> bytes:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    through = Outward(send, root)
    await through({"type": "http.response.start", "status": 200, "headers": headers})
    for number, part in enumerate(parts, 1):
        await through({"type": "http.response.body", "body": part, "more_body": number < len(parts)})
    body = b"".join(one["body"] for one in sent[1:])
    assert [value for name, value in sent[0]["headers"] if name == b"content-length"] in (
        [],
        [b"%d" % len(body)],
    )
    return body


@pytest.mark.parametrize("wrong", [("anna", "worker"), ("anna", "root"), ("", "viewer"), ("a\nb", "viewer")])
def test_a_user_who_cannot_be_is_refused_where_the_host_makes_them(wrong: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match="User: "):
        User(*wrong)


class Hosted:
    """The web inside a host that knows one user, on a store in memory."""

    def __init__(self, authorize: Callable[[Any], Any] = lambda _: ANNA, sign_in: str | None = None) -> None:
        self.house = House(token=TOKEN)
        self.faults: list[Exception] = []
        self.opened = 0
        self.web = MountedWeb(self.open, lambda: self.house.settings, authorize, sign_in)

    async def open(self) -> Store:
        self.opened += 1
        if self.faults:
            raise self.faults.pop()
        return self.house.store

    async def get(self, path: str, token: str | None = None, **headers: str) -> Answer:
        return await ask(self.web, "GET", path, b"", token, headers=headers)


async def test_the_first_request_starts_it_and_the_others_do_not() -> None:
    hosted = Hosted()
    answers = await asyncio.gather(*(hosted.get("/api/v1/whoami") for _ in range(3)))
    assert [one.status for one in answers] == [200] * 3
    assert (answers[0].body["name"], answers[0].body["came"]) == ("anna", "host")
    assert hosted.opened == 1
    await hosted.web.stop()


async def test_a_store_that_is_away_is_asked_again_by_the_next_request() -> None:
    hosted = Hosted()
    hosted.faults = [StoreUnavailable("away")]
    assert (await hosted.get("/api/v1/whoami")).problem == "store-unavailable"
    assert (await hosted.get("/api/v1/whoami")).status == 200
    await hosted.web.stop()


async def test_a_host_starts_while_the_store_is_away() -> None:
    hosted = Hosted()
    hosted.faults = [StoreUnavailable("away")]
    async with hosted.web.lifespan():
        assert (await hosted.get("/api/v1/whoami")).status == 200
    assert (await hosted.get("/api/v1/whoami")).status == 503


async def test_settings_that_cannot_be_keep_the_host_from_starting() -> None:
    hosted = Hosted()
    hosted.faults = [UsageError("wrong")]
    with pytest.raises(UsageError, match="wrong"):
        async with hosted.web.lifespan():
            raise AssertionError("it has started")


async def test_a_request_on_its_way_is_answered_before_the_store_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hosted, done = Hosted(), list[bool]()

    async def close() -> None:
        done.append(page.done())

    monkeypatch.setattr(hosted.house.store, "close", close)
    async with hosted.web.lifespan():
        held = hosted.house.store.hold("ledger.attention")
        page = asyncio.create_task(hosted.get("/runs", accept="text/html"))
        await held.reached.wait()
        stopping = asyncio.create_task(hosted.web.stop())
        for _ in range(50):
            await asyncio.sleep(0)
        held.go.set()
        assert (await page).status == 200
        await stopping
    assert done == [True]


async def test_what_the_host_raises_is_the_hosts_to_answer() -> None:
    def refuse(scope: Any) -> User:
        raise LookupError("not here")

    with pytest.raises(LookupError, match="not here"):
        await Hosted(refuse).get("/")


async def test_an_answer_that_is_no_user_is_named() -> None:
    with pytest.raises(UsageError, match="authorize answered str"):
        await Hosted(lambda _: "anna").get("/")


async def test_a_token_of_the_host_is_not_taken_for_ours() -> None:
    hosted = Hosted(lambda scope: ANNA if dict(scope["headers"])[b"authorization"] == b"Bearer jwt" else None)
    assert (await hosted.get("/api/v1/whoami", "jwt")).body["name"] == "anna"
    assert (await hosted.get("/api/v1/whoami", TOKEN)).body["came"] == "setting"
    assert (await hosted.get("/api/v1/whoami", "other")).status == 401
    await hosted.web.stop()


async def test_a_wrong_token_of_ours_is_refused_whatever_the_host_says() -> None:
    hosted = Hosted()
    wrong = f"fp_t{'0' * 16}_{'0' * 64}"
    assert (await hosted.get("/api/v1/whoami", wrong, accept="text/html")).problem == "unauthorized"
    await hosted.web.stop()


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/sign-in", "/sign-out", "/metrics"])
async def test_what_the_host_has_itself_is_not_open(path: str) -> None:
    hosted = Hosted(lambda _: None)
    assert (await hosted.get(path)).status == 401


async def test_no_sign_in_link_is_made_where_nobody_can_open_it() -> None:
    hosted = Hosted()
    page = await hosted.get("/tokens", accept="text/html")
    assert b"links.open" not in page.content
    assert b"tokens.create" in page.content
    assert b"Sign out" not in page.content
    await hosted.web.stop()


async def test_a_name_that_could_pass_for_another_is_shown_with_where_it_is_from() -> None:
    hosted = Hosted(lambda _: User("system", "viewer"))
    who = (await hosted.get("/api/v1/whoami")).body
    assert (who["name"], who["credential_id"]) == ("host:system", "host:system")
    await hosted.web.stop()


async def test_a_signal_is_heard_and_goes_on_to_who_heard_it_before() -> None:
    told: list[str] = []
    heard = asyncio.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: told.append("the host"))
    try:
        with asked_to_end(heard.set):
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait_for(heard.wait(), 20)
        assert told == ["the host"]
        heard.clear()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0)
        assert (told, heard.is_set()) == (["the host"] * 2, False)
    finally:
        signal.signal(signal.SIGTERM, before)
