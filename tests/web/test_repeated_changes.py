"""Changes whose first answer was lost after they were made: the repeated call says that they stand, and makes
none of them twice; what was never made is refused as ever."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fencepost.errors import StoreUnavailable
from fencepost.model.audit import LogFilter
from fencepost.operations import calendars as calendar_operations
from fencepost.operations.control import Control
from fencepost.triggers import Calendar
from fencepost.web import idempotency
from tests.operations.test_gates import closed
from tests.services.house import NS
from tests.web.house import TOKEN, Answer, Web, ask

ADDED = {"schedule_id": "hourly", "job": "resize", "every": "1h", "max_runs": 3}


async def call(web: Web, verb: str, body: Any = None, key: str = "k1", **headers: str) -> Answer:
    method, path = verb.split(" ")
    sent = b"" if body is None else json.dumps(body).encode()
    named = {"idempotency-key": key, **{name.replace("_", "-"): text for name, text in headers.items()}}
    return await ask(web.app, method, f"/api/v1{path}", sent, TOKEN, headers=named)


@pytest.fixture
def cut_off(web: Web, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make a call whose answer is not kept, and let the hold of its key pass."""

    async def away(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("gone")

    async def cut(verb: str, body: Any = None, **more: str) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(type(web.house.memory.answers), "keep", away)
            assert (await call(web, verb, body, **more)).problem == "store-unavailable"
        web.house.clock.advance(idempotency.HOLD_S + 1)

    return cut


async def actions(web: Web) -> list[str]:
    entries = await web.house.memory.audit_log.list(NS, LogFilter(author="FENCEPOST_TOKEN"))
    return [str(one.action) for one in reversed(entries)]


async def test_a_schedule_that_was_added_is_not_refused_as_another(web: Web, cut_off: Any) -> None:
    await cut_off("POST /schedules", ADDED)
    again = await call(web, "POST /schedules", ADDED)
    assert (again.status, again.headers["etag"]) == (200, '"v1"')
    assert await actions(web) == ["schedule.put"]
    assert (await call(web, "POST /schedules", ADDED, key="k2")).problem == "conflict"


async def test_a_schedule_of_others_is_not_taken_for_the_one_that_was_asked_for(
    web: Web, cut_off: Any
) -> None:
    await web.house.put("hourly")
    assert (await call(web, "POST /schedules", ADDED)).problem == "conflict"
    await call(web, "PATCH /schedules/hourly", {"every": "2h"}, key="k2", if_match="*")
    assert (await call(web, "POST /schedules", ADDED)).problem == "conflict"


@pytest.mark.parametrize("version", ['"v1"', "*"])
async def test_an_edit_that_was_made_is_not_made_again_nor_refused(
    web: Web, cut_off: Any, version: str
) -> None:
    await call(web, "POST /schedules", ADDED, key="k0")
    edit = "PATCH /schedules/hourly", {"every": "2h", "max_runs": 5}
    await cut_off(*edit, if_match=version)
    again = await call(web, *edit, if_match=version)
    assert (again.status, again.headers.get("etag")) == (200, '"v2"')
    assert await actions(web) == ["schedule.put"] * 2


async def test_an_edit_that_lost_to_another_is_refused_again(web: Web, cut_off: Any) -> None:
    await call(web, "POST /schedules", ADDED, key="k0")
    await call(web, "PATCH /schedules/hourly", {"every": "3h"}, key="k2", if_match='"v1"')
    for _ in range(2):
        lost = await call(web, "PATCH /schedules/hourly", {"every": "2h"}, if_match='"v1"')
        assert lost.problem == "changed"


async def test_pauses_and_their_ends_are_not_refused_as_made_already(web: Web, cut_off: Any) -> None:
    await call(web, "POST /schedules", ADDED, key="k0")
    for verb, state in (("pause", "paused"), ("resume", "active")):
        asked: tuple[str, Any] = f"POST /schedules/hourly/{verb}", {}
        await cut_off(*asked, key=verb)
        again = await call(web, *asked, key=verb)
        assert (again.status, again.body.get("state")) == (200, state)
        assert (await call(web, *asked, key=f"{verb}-2")).problem == "refused"
    many = "POST /schedules/-/pause", {"schedule_ids": ["hourly"]}
    await cut_off(*many)
    assert (await call(web, *many)).body["items"][0]["done"] is True
    assert (await actions(web))[1:] == ["schedule.pause", "schedule.resume", "schedule.pause"]


async def test_what_was_removed_is_not_refused_as_unknown(web: Web, cut_off: Any) -> None:
    await call(web, "POST /schedules", ADDED, key="k0")
    await calendar_operations.write(Control(web.house.store, NS), Calendar("de", weekend="SAT SUN"))
    versions: dict[str, dict[str, str]] = {"/schedules/hourly": {}, "/calendars/de": {"if_match": '"v1"'}}
    for place, version in versions.items():
        await cut_off(f"DELETE {place}", key=place, **version)
        assert (await call(web, f"DELETE {place}", key=place, **version)).status == 200
        assert (await call(web, f"DELETE {place}", key=f"{place}-2", **version)).problem == "not-found"


@pytest.mark.parametrize("version", ['"v1"', "*"])
async def test_a_calendar_that_was_written_is_not_written_again_nor_refused(
    web: Web, cut_off: Any, version: str
) -> None:
    await calendar_operations.write(Control(web.house.store, NS), Calendar("de", weekend="SAT SUN"))
    written = "PUT /calendars/de", {"weekend": "SUN"}
    await cut_off(*written, if_match=version)
    again = await call(web, *written, if_match=version)
    assert (again.status, again.headers.get("etag")) == (200, '"v2"')
    assert await actions(web) == ["calendar.put"]


async def test_a_calendar_that_others_wrote_since_is_not_taken_for_the_one_that_was_written(
    web: Web, cut_off: Any
) -> None:
    await calendar_operations.write(Control(web.house.store, NS), Calendar("de", weekend="SAT SUN"))
    written = "PUT /calendars/de", {"weekend": "SUN"}
    await cut_off(*written, if_match='"v1"')
    await calendar_operations.write(Control(web.house.store, NS), Calendar("de", weekend="MON"))
    assert (await call(web, *written, if_match='"v1"')).problem == "changed"
    assert (await call(web, "GET /calendars/de")).body["weekend"] == ["MON"]


async def test_a_gate_that_was_decided_is_not_refused_as_open(web: Web, cut_off: Any) -> None:
    await closed(web.house, "beat")
    await cut_off("POST /gates/beat/open", {})
    again = await call(web, "POST /gates/beat/open", {})
    assert (again.status, again.body.get("released")) == (200, 3)
    assert (await call(web, "POST /gates/beat/latest", {}, key="k2")).problem == "not-found"
