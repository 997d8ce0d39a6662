"""The API where too many searches for fire times wait already: asked again later, it is done, and once."""

from __future__ import annotations

import json

from tests.web.few import FULL, Few
from tests.web.house import TOKEN, Answer, Web, ask

ADDED = json.dumps({"schedule_id": "hourly", "job": "resize", "every": "1h"}).encode()


async def web_with(thoughts: int) -> tuple[Web, Few]:
    few = Few(thoughts)
    web = Web(offload=few)
    await web.open()
    return web, few


async def add(web: Web) -> Answer:
    key = {"idempotency-key": "k1"}
    return await ask(web.app, "POST", "/api/v1/schedules", ADDED, TOKEN, headers=key)


async def test_what_was_turned_away_is_done_when_it_is_asked_for_again() -> None:
    web, few = await web_with(0)
    away = await add(web)
    assert (away.status, away.problem, away.headers["retry-after"]) == (503, "turned-away", "5")
    assert FULL in away.body["detail"]
    few.left = 2
    again = await add(web)
    assert (again.status, again.body["warnings"]) == (200, [])


async def test_what_was_written_before_nobody_had_time_is_not_turned_away() -> None:
    web, _ = await web_with(1)
    added = await add(web)
    assert added.status == 200
    (warning,) = added.body["warnings"]
    assert warning.startswith(f"its next fire times were not looked at: {FULL}")


async def test_questions_are_one_thought_each() -> None:
    web, few = await web_with(2)
    await add(web)
    for path in ("/schedules", "/schedules/hourly", "/schedules/hourly/versions"):
        few.left = 0
        assert (await web.get(f"/api/v1{path}")).problem == "turned-away"
        few.left = 1
        assert (await web.get(f"/api/v1{path}")).status == 200
