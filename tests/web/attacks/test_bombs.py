"""Requests that ask for more than a server should do: every one is answered soon, and none by a fault."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from fencepost.core.payload import PAYLOAD_DEPTH_MAX
from fencepost.model.access import Role
from fencepost.operations.operation import Operation
from fencepost.operations.paging import encode_cursor
from fencepost.web.application import operations
from fencepost.web.dashboard.page import all_pages
from tests.web.attacks.stage import PAGE, Stage, in_path
from tests.web.test_roles import NAMED

SOON_S = 20.0
"""Generous: a busy machine must not fail it, and a search without an end does."""
FAR = ("1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z")
TEXTS = (
    *(
        "%",
        "_",
        "%_" * 400,
        "\\",
        "'; drop table runs; --",
        "(a+)+$",
        "a" * 3_000,
        "*" * 500,
        "\0",
        "\u202e",
        "é" * 500,
    ),
    *(
        "-1",
        "0",
        "9" * 40,
        "9" * 5_000,
        "1e400",
        "nan",
        "inf",
        "true",
        "null",
        "{}",
        "[]",
        *FAR,
        "99999999999d",
    ),
    *("0000-01-01T00:00:00Z", "5000y", "\U0001f600"),
)
CURSORS: tuple[tuple[Any, ...], ...] = (
    *((10**30,), (-1,), ("\0",), (None,), ([],), ({},), (1.5,), (True,), ("x" * 1_000,), (), (1, 2, 3, 4)),
    *((FAR[1], "x"), ("0001-01-01T00:00:00+14:00", "x"), (10**30, 10**30), ("a", -1), (FAR[0], "\0")),
)
MANY = ",".join(map(str, range(60)))
EXPRESSIONS = (
    *(
        "0 0 30 2 *",
        "0 0 31 2,4,6,9,11 *",
        "0 0 29 2 MON#5",
        "* * * * * *",
        "0 0 29 2 *",
        "0,0,0" * 100,
        "*/0 * * * *",
    ),
    *("every 0s", "every 1ms", "every 99999999y", "every -1s", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"),
    *("FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=DAILY;COUNT=1000000000", "FREQ=YEARLY;INTERVAL=1000000"),
    f"FREQ=YEARLY;BYSECOND={MANY};BYMINUTE={MANY};BYSETPOS=366",
    "FREQ=SECONDLY;BYYEARDAY=366;BYHOUR=2;BYMINUTE=30;BYSECOND=59",
    *('{"v":1,' * 1_000, "[" * 9_000, "H" * 9_000, "(" * 9_000, "1-" * 4_000, "*/1" * 3_000, "@" * 100),
)


def deep(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


def place(one: Operation[Any, Any, Any]) -> str:
    path = f"/api/v1{one.path}"
    for name in one.in_path:
        path = path.replace(f"{{{name}}}", in_path(NAMED.get(name, "resize")))
    return path


class Asker:
    """Asks as a viewer or an operator, and sees that each answer comes soon and is no fault."""

    def __init__(self, stage: Stage, token: str) -> None:
        self._stage = stage
        self._token = token
        self.statuses: set[int] = set()

    async def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> int:
        began = time.monotonic()
        answer = await self._stage.ask(method, path, body, token=self._token, **headers)
        assert answer.status < 500, (method, path[:200], answer.content[:300])
        assert time.monotonic() - began < SOON_S, (method, path[:200])
        self.statuses.add(answer.status)
        return answer.status


async def asker(stage: Stage, role: Role = Role.ADMIN) -> Asker:
    return Asker(stage, (await stage.token(role)).credential.reveal())


async def test_a_page_has_an_end_and_a_cursor_is_one_of_ours(stage: Stage) -> None:
    asks = await asker(stage)
    paged = [one for one in operations() if {"limit", "after"} <= set(one.request.__struct_fields__)]
    assert len(paged) > 10
    for one in paged:
        for limit in ("0", "-1", "501" if one.name != "runs.log" else "100000", "9" * 30, "1e3", "", "1.5"):
            assert await asks(one.method, f"{place(one)}?limit={limit}") == 422, (one.name, limit)
        cursors = [encode_cursor(*one) for one in CURSORS] + [
            "",
            "!",
            "%FF",
            "=" * 9,
            "A" * 1_999,
            "A" * 2_001,
        ]
        for cursor in cursors:
            await asks(one.method, f"{place(one)}?{urlencode({'after': cursor})}")
    assert asks.statuses <= {200, 404, 422}


@pytest.mark.proof
async def test_no_text_of_a_query_is_more_than_a_text(stage: Stage) -> None:
    asks = await asker(stage)
    for one in operations():
        if one.method != "GET":
            continue
        fields = msgspec.structs.fields(one.request)
        needed = {each.name: FAR[0] for each in fields if each.required and each.name not in one.in_path}
        for each in fields:
            if each.name not in one.in_path:
                for text in TEXTS:
                    await asks("GET", f"{place(one)}?{urlencode({**needed, each.name: text})}")
    assert 200 in asks.statuses


@pytest.mark.proof
async def test_no_text_in_the_address_of_a_page_is_more_than_a_text(stage: Stage) -> None:
    """About 8 s: every page with every bad text."""
    await stage.house.put("resize", 3600)
    cookie, csrf = await stage.sign_in(await stage.token())
    for page in all_pages():
        path = page.path
        for name in page.in_path:
            path = path.replace(f"{{{name}}}", "resize")
        for field in page.query.__struct_fields__:
            for text in TEXTS[::2]:
                began = time.monotonic()
                answer = await stage.ask("GET", f"{path}?{urlencode({field: text})}", cookie=cookie, **PAGE)
                assert answer.status < 500, (path, field, text[:40], answer.content[-600:])
                if page.posted:
                    answer = await stage.posted(path, {"job": "resize", field: text}, cookie, csrf)
                    assert answer.status in (200, 400), (path, field, text[:40], answer.content[-600:])
                assert time.monotonic() - began < SOON_S, (path, field, text[:40])


async def test_a_range_has_an_end(stage: Stage) -> None:
    await stage.house.put("dense", 0.1)
    await stage.house.put("resize", 3600)
    asks = await asker(stage)
    wide = urlencode({"since": FAR[0], "until": FAR[1]})
    for path in (
        f"/api/v1/audit?{wide}",
        f"/api/v1/audit?{wide}&schedule=dense",
        f"/schedules/dense?until={FAR[1]}",
    ):
        await asks("GET", path)
    for span in ("1h", "1d", "1w", "1y", "100y", "99999999d", "-1d", "0s", "x"):
        await asks("GET", f"/schedules/dense?span={span}", accept="text/html")
        await asks("GET", f"/leases?span={span}", accept="text/html")
        await asks("GET", f"/schedules/dense/backfill?since={span}&until=0s", accept="text/html")
    body = {"schedule_id": "dense", "since": FAR[0], "until": FAR[1]}
    for path in ("/api/v1/backfills/estimate", "/api/v1/backfills"):
        assert await asks("POST", path, body) == 422
        assert await asks("POST", path, {**body, "at_once_max": 10**12}) == 422
    await asks("POST", "/api/v1/audit/repair", {"schedule": "dense", "since": FAR[0], "until": FAR[1]})


async def test_an_expression_is_not_searched_for_ever(stage: Stage) -> None:
    asks = await asker(stage, Role.VIEWER)
    for expression in EXPRESSIONS:
        for more in ({}, {"previous": "true"}, {"after": "9998-01-01T00:00:00Z"}, {"tz": "Antarctica/Troll"}):
            await asks(
                "GET", f"/api/v1/triggers/next?{urlencode({'expression': expression, 'count': 100, **more})}"
            )
        await asks("GET", f"/api/v1/triggers/explain?{urlencode({'expression': expression})}")
    for count in ("101", "0", "-1", "9" * 30):
        assert await asks("GET", f"/api/v1/triggers/next?expression=*+*+*+*+*&count={count}") == 422
    assert asks.statuses == {200, 422}


async def test_a_payload_that_is_nested_deep_poisons_no_list(stage: Stage) -> None:
    asks = await asker(stage)
    for levels in (PAYLOAD_DEPTH_MAX + 1, 300, 700, 950, 990, 5_000, 40_000):
        for path, name in (
            ("/api/v1/jobs/resize/enqueue", b'"key":"k"'),
            ("/api/v1/schedules", b'"schedule_id":"s","job":"resize","every":"1h"'),
        ):
            assert await asks("POST", path, b'{%s,"payload":%s}' % (name, deep(levels))) in (400, 422)
            lists = b'{%s,"payload":{"a":%s%s}}' % (name, b"[" * levels, b"]" * levels)
            assert await asks("POST", path, lists) in (400, 422)
    name = b'"schedule_id":"s","job":"resize","every":"1h"'
    fine = b'{%s,"payload":%s}' % (name, deep(PAYLOAD_DEPTH_MAX))
    assert await asks("POST", "/api/v1/schedules", fine) == 200
    for path in ("/api/v1/schedules", "/api/v1/schedules/s", "/api/v1/schedules/s/versions"):
        assert await asks("GET", path) == 200
    for path in ("/schedules", "/schedules/s", "/schedules/s/edit"):
        assert await asks("GET", path, accept="text/html") == 200


async def test_a_form_with_a_deep_payload_is_refused(stage: Stage) -> None:
    cookie, csrf = await stage.sign_in(await stage.token())
    for levels in (300, 700, 990, 5_000):
        fields = {"schedule_id": "s", "job": "resize", "every": "1h", "payload": deep(levels).decode()}
        assert (await stage.form("schedules.add", fields, cookie, csrf)).status == 303, levels
        answer = await stage.posted("/new-schedule", {**fields, "when": "every 1h"}, cookie, csrf)
        assert (answer.status, b"/do/schedules.add" in answer.content) == (200, False), levels
    assert (await stage.ask("GET", "/schedules", cookie=cookie, **PAGE)).status == 200
    assert "schedules.put" not in stage.house.store.names()


async def test_bodies_that_are_no_json_are_refused_in_one_line(stage: Stage) -> None:
    asks = await asker(stage)
    bodies = [
        b'"\xff"',
        b'{"key": "\xff"}',
        b"{",
        b"[]",
        b"1",
        b'"x"',
        b"\xef\xbb\xbf{}",
        b"\0",
        b'{"key": "\\ud800"}',
    ]
    bodies += [
        b'{"payload": {"a": %s}}' % (b"1" * 5_000),
        b'{"payload": {"a": 1e999}}',
        b"nan",
        b"[" * 100_000,
    ]
    for one in operations():
        if one.has_body:
            for body in bodies:
                status = await asks(one.method, place(one), body, if_match="*")
                assert status in (400, 403, 404, 422), (one.name, body[:20], status)
    many = json.dumps({"payload": {f"k{number}": number for number in range(10_000)}}).encode()
    assert await asks("POST", "/api/v1/jobs/resize/enqueue", many) == 200
    assert await asks("POST", "/api/v1/jobs/resize/enqueue", b'{"reason":"%s"}' % (b"x" * 2_000)) == 422
    assert await asks("POST", "/api/v1/jobs/resize/enqueue", b"x" * 300_000) == 413


async def test_many_fields_names_and_parts_are_refused(stage: Stage) -> None:
    asks = await asker(stage)
    fields = "&".join(f"a{number}=1" for number in range(1_000))
    for path in ("/api/v1/runs", "/api/v1/events", "/runs", "/schedules"):
        assert await asks("GET", f"{path}?{fields}", accept="text/html") in (400, 422)
    keys = [f"resize#{number}" for number in range(1_001)]
    for path in ("/api/v1/runs/replay", "/api/v1/runs/cancel"):
        assert await asks("POST", path, {"run_keys": keys}) == 422
    for path in ("/api/v1" + "/x" * 5_000, "/api/v1/runs/" + "x" * 20_000, "/" + "%2f" * 5_000):
        assert await asks("GET", path) == 404
    headers = {f"x_{number}": "1" for number in range(500)}
    assert await asks("GET", "/api/v1/whoami", **headers) == 200
    cookie, csrf = await stage.sign_in(await stage.token())
    many = {f"a{number}": "1" for number in range(5_000)}
    assert (await stage.form("schedules.pause", many, cookie, csrf)).status in (400, 403)
