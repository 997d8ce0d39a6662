"""What stands around a request: its namespace, its body, its `If-Match`, and what its path names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fencepost.model.access import EVERYWHERE, Role
from fencepost.model.identifiers import Namespace
from fencepost.model.run import RunFilter
from fencepost.operations import credentials
from fencepost.operations.control import Control
from fencepost.web.application import describe
from tests.services.house import NS
from tests.web.house import JOBS, TOKEN, Answer, Web, ask

OTHER = Namespace("billing")


async def listed(web: Web, token: str = TOKEN, namespace: str | None = None) -> Answer:
    headers = {} if namespace is None else {"fencepost-namespace": namespace}
    return await ask(web.app, "GET", "/api/v1/schedules", b"", token, headers=headers)


async def token(web: Web, namespace: str) -> str:
    made = await credentials.create(
        Control(web.house.store, NS), f"ci of {namespace}", Role.OPERATOR, namespace
    )
    return made.credential.reveal()


async def test_a_namespace_that_a_credential_is_not_good_in_is_not_there_for_it(web: Web) -> None:
    mine = await token(web, NS)
    await web.house.put("hourly")
    assert [one["schedule_id"] for one in (await listed(web, mine, NS)).body["items"]] == ["hourly"]
    elsewhere = await listed(web, mine, OTHER)
    assert elsewhere.problem == "not-found"
    stream = await ask(web.app, "GET", "/api/v1/events", b"", mine, headers={"fencepost-namespace": OTHER})
    assert stream.problem == "not-found"


async def test_one_that_is_good_everywhere_is_at_home_where_the_server_is() -> None:
    web = Web(namespace=OTHER)
    await web.open()
    everywhere = await token(web, EVERYWHERE)
    await web.house.put("hourly")  # in NS
    assert (await listed(web, everywhere)).body["items"] == []
    assert len((await listed(web, everywhere, NS)).body["items"]) == 1
    await web.house.memory.jobs.register(OTHER, JOBS)
    assert (await web.post("/api/v1/jobs/resize/enqueue", {}, everywhere)).body["new"] is True
    assert len(await web.house.memory.ledger.list(OTHER, RunFilter())) == 1


@pytest.mark.parametrize("verb", ["GET /schedules", "DELETE /schedules/hourly"])
async def test_a_body_that_is_not_read_is_refused(web: Web, verb: str) -> None:
    await web.house.put("hourly")
    method, path = verb.split(" ")
    answer = await ask(web.app, method, f"/api/v1{path}", json.dumps({"reason": "old"}).encode())
    assert answer.problem == "invalid"
    assert "query" in answer.body["detail"]
    assert len((await listed(web)).body["items"]) == 1


async def test_a_version_that_is_not_compared_is_refused(web: Web) -> None:
    await web.house.put("hourly")
    for verb in ("pause", "resume", "trigger"):
        path = f"/api/v1/schedules/hourly/{verb}"
        answer = await ask(web.app, "POST", path, b"{}", headers={"if-match": '"v9"'})
        assert answer.problem == "invalid"
        assert "If-Match" in answer.body["detail"]


async def test_a_calendar_is_written_by_whoever_knows_what_is_there(web: Web) -> None:
    async def put(body: dict[str, Any], version: str | None) -> Answer:
        headers = {} if version is None else {"if-match": version}
        return await ask(web.app, "PUT", "/api/v1/calendars/de", json.dumps(body).encode(), headers=headers)

    assert (await put({"weekend": "SUN"}, None)).problem == "precondition-required"
    assert (await put({"weekend": "SUN"}, "*")).headers["etag"] == '"v1"'
    looked = await web.get("/api/v1/calendars/de")
    assert looked.headers["etag"] == '"v1"'
    dry = await put({"weekend": "MON", "dry_run": True}, '"v1"')
    assert (dry.body["revision"], dry.headers.get("etag")) == (2, None)
    assert (await put({"weekend": "MON"}, looked.headers["etag"])).headers["etag"] == '"v2"'
    assert (await put({"weekend": "TUE"}, looked.headers["etag"])).problem == "changed"
    assert (await put({"weekend": "TUE"}, '"v99"')).status == 412
    gone = await ask(web.app, "DELETE", "/api/v1/calendars/de", headers={"if-match": '"v1"'})
    assert (gone.status, gone.problem) == (412, "changed")
    assert (await web.get("/api/v1/calendars/de")).body["weekend"] == ["MON"]


async def test_a_job_in_the_path_is_not_found_and_one_in_a_body_does_not_fit(web: Web) -> None:
    assert (await web.get("/api/v1/jobs/nope")).problem == "not-found"
    assert (await web.post("/api/v1/jobs/nope/enqueue", {})).problem == "not-found"
    added = {"schedule_id": "hourly", "job": "nope", "every": "1h"}
    assert (await web.post("/api/v1/schedules", added)).problem == "unknown-job"


def test_what_makes_a_secret_promises_nothing_of_a_key_and_all_name_the_namespace() -> None:
    keyless, every = set(), set()
    for path, methods in describe()["paths"].items():
        for method, one in methods.items():
            named = {parameter["name"] for parameter in one.get("parameters", ())}
            if path.startswith("/api/v1/") and path != "/api/v1/events":
                every.add("Fencepost-Namespace" in named)
            if method != "get" and "Idempotency-Key" not in named:
                keyless.add(one["operationId"])
    assert every == {True}
    assert {"tokens.create", "tokens.rotate", "links.open"} <= keyless
    assert not keyless & {"tokens.revoke", "schedules.add"}


async def test_a_schedule_is_put_by_whoever_knows_what_is_there(web: Web) -> None:
    async def put(every: str, version: str | None) -> Answer:
        headers = {} if version is None else {"if-match": version}
        body = json.dumps({"job": "local", "every": every}).encode()
        return await ask(web.app, "PUT", "/api/v1/schedules/hourly", body, headers=headers)

    assert (await put("1h", None)).problem == "precondition-required"
    assert (await put("1h", "*")).headers["etag"] == '"v1"'
    assert (await put("1h", '"v1"')).headers["etag"] == '"v1"'
    assert (await put("2h", '"v1"')).headers["etag"] == '"v2"'
    assert ((await put("3h", '"v1"')).status, (await put("3h", '"v0"')).status) == (412, 412)


async def test_many_schedules_are_put_in_one_request_of_a_bounded_length(web: Web) -> None:
    def entries(count: int) -> bytes:
        some = [{"schedule_id": f"s-{one}", "job": "local", "every": "1h"} for one in range(count)]
        return json.dumps({"schedules": some}).encode()

    async def put(count: int) -> Answer:
        return await ask(web.app, "PUT", "/api/v1/schedules", entries(count))

    answer = await put(1_000)
    assert (answer.status, answer.body["written"]) == (200, True)
    assert {one["change"] for one in answer.body["items"]} == {"created"}
    assert (await put(1_001)).problem == "invalid"
