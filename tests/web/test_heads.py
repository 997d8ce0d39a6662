"""HEAD is answered as GET is, and to nobody else: every route, each role, later ones too. The server leaves
the body out."""

from __future__ import annotations

import http.client
from pathlib import Path

import pytest

from fencepost.model.access import EVERYWHERE, Role
from fencepost.web.application import build_routes
from tests.web.attacks.stage import ELSEWHERE, Stage, served
from tests.web.house import TOKEN, Answer, Web, ask
from tests.web.serving import Server

STREAM = "/api/v1/events"
HEALTH = ("/healthz", "/readyz")
VARYING = {"content-length"}
"""Times and ids within a body may be longer the next time."""


@pytest.fixture
async def stage() -> Stage:
    return await Stage().open()


def looked_at(stage: Stage) -> list[str]:
    """Every path that is answered by GET, but the stream's."""
    return sorted(
        {path for method, path in served(build_routes(stage.serving)) if method == "GET"} - {STREAM}
    )


def told(answer: Answer) -> tuple[int, dict[str, str]]:
    return answer.status, {name: value for name, value in answer.headers.items() if name not in VARYING}


@pytest.mark.parametrize("role", [None, *Role])
@pytest.mark.parametrize("namespace", [ELSEWHERE, EVERYWHERE])
async def test_whoever_asks_is_told_the_same(stage: Stage, role: Role | None, namespace: str) -> None:
    token = None
    if role is not None:
        token = (await stage.token(role, type(ELSEWHERE)(namespace))).credential.reveal()
    statuses = set()
    for path in looked_at(stage):
        seen, head = await stage.ask("GET", path, token=token), await stage.ask("HEAD", path, token=token)
        assert told(head) == told(seen), path
        statuses.add(head.status)
    assert {200, 401} <= statuses if role is None else {200, 404} <= statuses
    assert (403 in statuses) is (role in (Role.WORKER, Role.VIEWER, Role.OPERATOR))


async def test_what_is_never_looked_at_is_not_by_head_either(stage: Stage) -> None:
    token = (await stage.token()).credential.reveal()
    walked = set(served(build_routes(stage.serving)))
    only_changed = {path for _, path in walked} - {path for method, path in walked if method == "GET"}
    assert {"/do/x", "/api/v1/claims"} <= only_changed
    for path in sorted(only_changed):
        mark = stage.marked()
        assert (await stage.ask("HEAD", path, token=token)).status == 405, path
        assert stage.asked_since(mark) == set()


async def test_a_stream_is_not_begun_by_head(stage: Stage) -> None:
    token = (await stage.token()).credential.reveal()
    for path in (STREAM, f"{STREAM}/", f"/{STREAM}", STREAM.replace("/v1", "//v1")):
        answer = await stage.ask("HEAD", path, token=token)
        assert (answer.status, answer.headers["allow"]) == (405, "GET"), path
        assert (await stage.ask("HEAD", path)).status == 401


@pytest.mark.parametrize("path", HEALTH)
async def test_health_is_asked_by_head_without_a_credential(web: Web, path: str) -> None:
    seen, head = await web.get(path, token=None), await ask_head(web, path)
    assert (head.status, head.headers) == (200, seen.headers)
    assert int(head.headers["content-length"]) == len(seen.content)


async def test_one_who_cannot_serve_says_so_by_head(web: Web) -> None:
    web.room.close()
    assert (await ask_head(web, "/readyz")).status == 503
    assert (await ask_head(web, "/healthz")).status == 200


async def ask_head(web: Web, path: str) -> Answer:
    return await ask(web.app, "HEAD", path, token=None)


def test_a_real_server_goes_on_after_a_head(tmp_path: Path) -> None:
    """A body that came all the same would be read as the next answer."""
    server = Server(f"sqlite:///{tmp_path / 'store.db'}")
    with server.process(tmp_path):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        for path in (*HEALTH, "/api/v1/whoami", "/schedules"):
            for method in ("HEAD", "GET", "HEAD", "GET"):
                connection.request(method, path, headers={"Authorization": f"Bearer {TOKEN}"})
                answer = connection.getresponse()
                body = answer.read()
                assert answer.status == 200, (method, path, server.store)
                assert (len(body) > 0) is (method == "GET")
        connection.close()
