"""Who may do what: every operation, each role, each namespace. One that is added later is walked as well."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import pytest

from fencepost.model.access import EVERYWHERE, Came, Principal, Role
from fencepost.model.identifiers import JobName, Namespace, Queue, ScheduleId, job_key
from fencepost.model.job import JobSpec
from fencepost.model.run import NewRun
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations.operation import VERSION_FIELD, Operation
from fencepost.triggers import Every
from fencepost.web.application import WORKER_PROTOCOL, build_routes, operations
from tests.web.house import Answer, Web, ask

Any3 = Operation[Any, Any, Any]
HOME, ELSEWHERE = Namespace("default"), Namespace("elsewhere")
CANARY = "canary-of-another-tenant"
KEY = f"{CANARY}#{CANARY}"
UNNAMED = {"audit.keys", "backfills.estimate", "backfills.fill", *(one.name for one in WORKER_PROTOCOL)}
"""Questions that have a body, what helps a backfill along, and the verbs of workers."""
NAMED = {"run_key": KEY, "backfill_id": "1", "fire_time": "2026-03-01T12:00:00Z"}


def principal(role: Role, namespace: Namespace = HOME) -> Principal:
    return Principal("anna", role, namespace, Came.TOKEN, "t0000000000000000")


class Door:
    """The routes themselves, without the guard, for somebody who was let in."""

    def __init__(self, web: Web) -> None:
        self._routes = build_routes(web.serving)

    async def ask(self, one: Any3, who: Principal, named: dict[str, str] | None = None) -> Answer:
        async def let_in(scope: Any, receive: Any, send: Any) -> None:
            scope["path"] = scope["raw_path"].decode()
            scope["state"]["principal"] = who
            await self._routes(scope, receive, send)

        headers = {"if-match": "*"} if VERSION_FIELD in one.request.__struct_fields__ else {}
        place = place_of(one, dict.fromkeys(one.in_path, "1") | (named or {}))
        return await ask(let_in, one.method, place, body_of(one), token=None, headers=headers)


def place_of(one: Any3, named: dict[str, str]) -> str:
    """The path and the query of a call, with a time for whatever has to be given."""
    path = f"/api/v1{one.path}"
    for name in one.in_path:
        path = path.replace(f"{{{name}}}", quote(named[name], safe=""))
    if one.has_body:
        return path
    fields = msgspec.structs.fields(one.request)
    required = [field.name for field in fields if field.required and field.name not in named]
    return f"{path}?{urlencode(dict.fromkeys(required, '2026-03-01T00:00:00Z'))}" if required else path


def body_of(one: Any3) -> bytes:
    """The body of the example, without any waiting in it."""
    asked = one.example
    asked = {**asked, "wait_s": 0} if "wait_s" in asked else asked
    return json.dumps(asked).encode() if one.has_body else b""


def refused(answer: Answer) -> bool:
    return answer.status == 403 and answer.problem == "forbidden"


@pytest.mark.parametrize("role", Role)
async def test_a_role_that_is_not_enough_is_refused_and_one_that_is_is_not(web: Web, role: Role) -> None:
    door, wrong = Door(web), []
    for one in operations():
        answer = await door.ask(one, principal(role, EVERYWHERE))
        fine = (
            answer.status not in (401, 403) and answer.status < 500
            if role.covers(one.role)
            else refused(answer)
        )
        wrong += [] if fine else [(one.name, answer.status, answer.content)]
    assert wrong == []


async def test_what_touches_every_tenant_is_not_for_one_of_them(web: Web) -> None:
    door = Door(web)
    found = {one.name for one in operations() if refused(await door.ask(one, principal(Role.ADMIN)))}
    assert found == {one.name for one in operations() if one.whole_fleet} != set()


def test_only_looking_is_for_viewers_and_the_whole_fleet_for_admins() -> None:
    for one in operations():
        assert one.changes <= (one.role is not Role.VIEWER), one.name
        assert one.changes or one.method == "GET" or one.name in UNNAMED, one.name
        assert one.whole_fleet <= (one.role is Role.ADMIN), one.name


async def test_what_is_elsewhere_is_not_there(web: Web) -> None:
    await plant(web)
    door, told = Door(web), []
    for one in operations():
        named = {name: NAMED.get(name, CANARY) for name in one.in_path}
        answer = await door.ask(one, principal(Role.ADMIN), named)
        text = answer.content.decode()
        # An answer may repeat the name that was asked for, and nothing else of what stands elsewhere.
        if "payload-canary" in text or (CANARY in text and not one.in_path):
            told.append((one.name, text))
        assert await untouched(web), one.name
    assert told == []


async def plant(web: Web) -> None:
    """A job, a schedule, a calendar, and runs in another namespace."""
    memory = web.house.memory
    job = JobSpec(JobName(CANARY), external=True, open_payload=True)
    await memory.jobs.register(ELSEWHERE, [job])
    spec = ScheduleSpec(JobName(CANARY), trigger=Every("1h").to_json(), payload={"secret": "payload-canary"})
    await memory.schedules.put(ELSEWHERE, ScheduleId(CANARY), spec, tzdata="2026a", expected_version=None)
    run = NewRun(
        job_key(JobName(CANARY), CANARY), JobName(CANARY), {"x": "payload-canary"}, Queue("default"), 2
    )
    await memory.ledger.enqueue(ELSEWHERE, [run])
    await memory.calendars.put(ELSEWHERE, CANARY, {"weekend": []})


async def untouched(web: Web) -> bool:
    memory = web.house.memory
    schedule = await memory.schedules.get(ELSEWHERE, ScheduleId(CANARY))
    run = await memory.ledger.get(ELSEWHERE, job_key(JobName(CANARY), CANARY))
    assert schedule is not None
    assert run is not None
    return (schedule.state, schedule.version, run.state, run.held) == (
        "active",
        1,
        "ready",
        0,
    ) and await memory.calendars.get(ELSEWHERE, CANARY) is not None
