"""What stands in another namespace is not there: pages, forms, streams. `test_roles` walks the API."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from fencepost.model.access import EVERYWHERE, Role
from fencepost.model.identifiers import Namespace
from fencepost.web.dashboard.actions.operations import changes
from fencepost.web.dashboard.page import Page, all_pages
from tests.web.attacks.stage import ELSEWHERE, PAGE, Stage, in_path, said_in
from tests.web.house import Web, ask
from tests.web.test_roles import CANARY, KEY, NAMED, plant, untouched

SECRET = "payload-canary"
FIELDS = {
    "schedule_id": CANARY,
    "schedule_ids": CANARY,
    "schedule": CANARY,
    "run_key": KEY,
    "run_keys": KEY,
    "job": CANARY,
    "name": CANARY,
    "backfill_id": "1",
    "fire_time": "2026-03-01T12:00:00Z",
    "since": "1h",
    "until": "0s",
    "kind": "schedule",
    "value": CANARY,
    "every": "1h",
    "queue": "default",
}
"""Everything by which a form could name what is another tenant's."""


def place(page: Page[Any]) -> str:
    path = page.path
    for name in page.in_path:
        path = path.replace(f"{{{name}}}", in_path(NAMED.get(name, CANARY)))
    return path


async def furnished(stage: Stage) -> Web:
    """The stage's own house, with something planted elsewhere."""
    web = Web.__new__(Web)
    web.house = stage.house
    await plant(web)
    return web


async def test_no_page_shows_what_is_another_tenants(stage: Stage) -> None:
    await furnished(stage)
    cookie, csrf = await stage.sign_in(await stage.token())
    told, whole = [], 0
    for page in all_pages():
        for chosen in ("", f"; fencepost_namespace={ELSEWHERE}", "; fencepost_namespace=*"):
            answers = [await stage.ask("GET", place(page), cookie=cookie + chosen, **PAGE)]
            if page.posted:
                answers.append(await stage.posted(place(page), {}, cookie + chosen, csrf))
            for answer in answers:
                text = answer.content.decode()
                if SECRET in text or (CANARY in text and not page.in_path):
                    told.append((page.path, chosen))
                if page.in_path:
                    assert answer.status in (400, 404), (page.path, answer.status)
            whole += 1
    assert told == []
    assert whole == 3 * len(all_pages())


async def test_the_pages_do_show_it_to_those_who_may_see_it(stage: Stage) -> None:
    """Else the test above would say nothing."""
    await furnished(stage)
    here, _ = await stage.sign_in(await stage.token(Role.VIEWER, ELSEWHERE))
    anywhere, _ = await stage.sign_in(await stage.token(Role.VIEWER, EVERYWHERE))
    for cookie in (here, f"{anywhere}; fencepost_namespace={ELSEWHERE}"):
        answer = await stage.ask("GET", f"/schedules/{CANARY}", cookie=cookie, **PAGE)
        assert answer.status == 200
        assert CANARY in answer.content.decode()


async def test_no_form_touches_what_is_another_tenants(stage: Stage) -> None:
    web = await furnished(stage)
    cookie, csrf = await stage.sign_in(await stage.token())
    for name, one in changes().items():
        known = {field.name for field in msgspec.structs.fields(one.request)}
        fields = {field: text for field, text in FIELDS.items() if field in known}
        answer = await stage.form(name, fields, cookie + f"; fencepost_namespace={ELSEWHERE}", csrf)
        assert answer.status < 500, (name, answer.content)
        assert SECRET not in answer.content.decode()
        assert await untouched(web), name


async def test_a_form_does_touch_it_for_its_own_people(stage: Stage) -> None:
    web = await furnished(stage)
    cookie, csrf = await stage.sign_in(await stage.token(Role.OPERATOR, ELSEWHERE))
    answer = await stage.form("schedules.pause", {"schedule_id": CANARY}, cookie, csrf)
    assert not said_in(answer).refused
    assert not await untouched(web)


async def test_a_form_asks_for_the_role_that_its_operation_needs(stage: Stage) -> None:
    for role in (Role.VIEWER, Role.OPERATOR):
        cookie, csrf = await stage.sign_in(await stage.token(role))
        for name, one in changes().items():
            if not role.covers(one.role):
                mark = stage.marked()
                assert (await stage.form(name, {}, cookie, csrf)).status == 403, (role, name)
                assert stage.asked_since(mark) == set()


async def test_a_page_asks_for_its_role(stage: Stage) -> None:
    for role in (Role.VIEWER, Role.OPERATOR, Role.ADMIN):
        cookie, csrf = await stage.sign_in(await stage.token(role))
        for page in all_pages():
            status = (await stage.ask("GET", place(page), cookie=cookie, **PAGE)).status
            assert (status == 403) is not role.covers(page.role), (role, page.path, status)
            status = (await stage.posted(place(page), {}, cookie, csrf)).status
            expected = role.covers(page.role) if page.posted else None
            assert (status == 405) is (expected is None), (role, page.path, status)
            assert (status == 403) is (expected is False), (role, page.path, status)


async def test_a_header_or_a_query_chooses_no_other_namespace(stage: Stage) -> None:
    await furnished(stage)
    token = (await stage.token()).credential.reveal()
    for headers in ({"fencepost_namespace": ELSEWHERE}, {"x_namespace": ELSEWHERE}):
        answer = await stage.ask("GET", "/api/v1/schedules", token=token, **headers)
        assert CANARY not in answer.content.decode()
    for name in ("*", "", "\0", "a b", "x" * 300, "../elsewhere"):
        answer = await stage.ask("GET", "/api/v1/schedules", token=token, fencepost_namespace=name)
        assert CANARY not in answer.content.decode()
        assert answer.status in (200, 403, 404, 422), name


async def test_a_stream_of_one_namespace_tells_nothing_of_another(stage: Stage) -> None:
    await furnished(stage)
    token = (await stage.token(Role.VIEWER)).credential.reveal()
    gone = asyncio.Event()
    refused = await stage.ask("GET", f"/api/v1/events?namespace={ELSEWHERE}", token=token)
    assert refused.status in (403, 404, 422)
    path = f"/api/v1/events?run={in_path(KEY)}&after=0.0"
    stream = asyncio.create_task(ask(stage.app, "GET", path, token=token, gone=gone))
    for _ in range(20):
        await asyncio.sleep(0)
    (listener,) = stage.hub._listeners
    assert listener.namespace == Namespace("default")
    for _ in range(3):
        await stage.hub.run_once()
        stage.house.clock.advance(1)
    gone.set()
    text = (await stream).content.decode()
    assert "counts" in text
    assert CANARY not in text
