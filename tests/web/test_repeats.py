"""Changes under an `Idempotency-Key`: once, however often the call is made."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from fencepost.errors import StoreUnavailable
from fencepost.model.access import Role
from fencepost.model.identifiers import Namespace
from fencepost.model.run import RunFilter
from fencepost.model.tables import ANSWERS
from fencepost.operations import credentials
from fencepost.operations.control import Control
from fencepost.web import idempotency
from tests.rows import rows_of
from tests.services.house import NS
from tests.web.house import TOKEN, Answer, Web, ask


async def change(web: Web, path: str, body: Any, key: str | None = "k1") -> Answer:
    headers = {} if key is None else {"idempotency-key": key}
    return await ask(web.app, "POST", f"/api/v1{path}", json.dumps(body).encode(), TOKEN, headers=headers)


async def enqueue(web: Web, key: str | None = "k1", **payload: Any) -> Answer:
    return await change(web, "/jobs/resize/enqueue", {"payload": payload}, key)


async def runs(web: Web) -> list[str]:
    return [one.run_key for one in await web.house.memory.ledger.list(NS, RunFilter())]


async def test_a_repeated_call_gets_the_first_answer_and_changes_nothing(web: Web) -> None:
    first, second = await enqueue(web, image_id=7), await enqueue(web, image_id=7)
    assert (first.status, second.status) == (200, 200)
    assert second.body == first.body
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert await runs(web) == [first.body["run_key"]]


async def test_two_who_use_the_same_key_do_not_meet(web: Web) -> None:
    access = Control(web.house.store, NS)
    tokens = [
        (await credentials.create(access, name, Role.OPERATOR)).credential.reveal() for name in ("one", "two")
    ]
    body = json.dumps({"payload": {}}).encode()
    answers = [
        await ask(
            web.app, "POST", "/api/v1/jobs/resize/enqueue", body, one, headers={"idempotency-key": "k1"}
        )
        for one in tokens
    ]
    assert [one.body["new"] for one in answers] == [True, True]
    assert len(set(await runs(web))) == 2


async def test_without_a_key_every_call_is_a_call(web: Web) -> None:
    assert {(await enqueue(web, None)).status for _ in range(2)} == {200}
    assert len(await runs(web)) == 2


async def test_a_key_is_not_good_for_something_else(web: Web) -> None:
    await enqueue(web, image_id=7)
    assert (await enqueue(web, image_id=8)).problem == "key-misused"
    other = await change(web, "/jobs/resize/enqueue", {"payload": {"image_id": 7}, "key": "k1"})
    assert other.problem == "key-misused"
    assert len(await runs(web)) == 1


async def test_a_key_of_one_operation_is_not_good_for_another_that_is_asked_the_same(web: Web) -> None:
    """A thaw that was told the answer of the freeze would leave everything frozen, and say it is done."""
    assert (await change(web, "/freezes", {})).body["changed"]
    assert (await change(web, "/freezes/thaw", {})).problem == "key-misused"


async def test_the_same_key_in_two_namespaces_is_two_keys(web: Web) -> None:
    for namespace in (NS, Namespace("elsewhere")):
        headers = {"idempotency-key": "k1", "fencepost-namespace": namespace}
        answer = await ask(web.app, "POST", "/api/v1/freezes", b"{}", TOKEN, headers=headers)
        assert (answer.body["changed"], "idempotency-replayed" in answer.headers) == (True, False)
        assert await web.house.store.freezes.all(namespace)


async def test_a_repeated_edit_is_answered_with_the_etag_of_the_first(web: Web) -> None:
    """Whoever lost the first answer goes on from the version that it made."""
    body = {"schedule_id": "hourly", "job": "resize", "every": "1h"}
    first, second = await change(web, "/schedules", body), await change(web, "/schedules", body)
    assert (first.status, second.status) == (200, 200), first.body
    assert second.headers["etag"] == first.headers["etag"]


@pytest.mark.parametrize("key", ["", "x" * 201, "\x01"])
async def test_a_key_that_is_none_is_refused(web: Web, key: str) -> None:
    assert (await enqueue(web, key)).problem == "invalid"


async def test_a_refused_call_leaves_its_key_free(web: Web) -> None:
    assert (await change(web, "/schedules/none/trigger", {})).problem == "not-found"
    await web.house.put("none")
    assert (await change(web, "/schedules/none/trigger", {})).status == 200


async def test_a_trigger_whose_answer_was_not_kept_writes_its_tick_once(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    await web.house.put("hourly")
    kept = type(web.house.memory.answers).keep

    async def away(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(type(web.house.memory.answers), "keep", away)
    assert (await change(web, "/schedules/hourly/trigger", {})).problem == "store-unavailable"
    monkeypatch.setattr(type(web.house.memory.answers), "keep", kept)
    web.house.clock.advance(idempotency.HOLD_S + 1)
    again = await change(web, "/schedules/hourly/trigger", {})
    assert again.status == 200
    assert [one for one in await runs(web) if one.startswith("hourly#")] == [again.body["run_key"]]


async def test_a_call_whose_outcome_is_unknown_keeps_its_key_held(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first may still be at it, somewhere behind a lost connection."""
    ledger = type(web.house.memory.ledger)
    write = ledger.enqueue

    async def lost(self: Any, *given: Any, **more: Any) -> Any:
        await write(self, *given, **more)
        raise StoreUnavailable("gone")

    with monkeypatch.context() as away:
        away.setattr(ledger, "enqueue", lost)
        assert (await enqueue(web)).problem == "store-unavailable"
    assert (await enqueue(web)).problem == "key-pending"
    web.house.clock.advance(idempotency.HOLD_S + 1)
    assert (await enqueue(web)).status == 200
    assert len(await runs(web)) == 1


async def test_what_makes_a_secret_is_never_kept_to_be_repeated(web: Web) -> None:
    first, second = await change(web, "/links", {}), await change(web, "/links", {})
    assert first.body["link"] != second.body["link"]
    assert rows_of(web.house.memory, ANSWERS) == []


async def test_of_two_calls_at_once_one_is_carried_out(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = asyncio.Event(), asyncio.Event()
    ledger = type(web.house.memory.ledger)
    write = ledger.enqueue

    async def slowly(self: Any, *given: Any, **more: Any) -> Any:
        begun.set()
        await go.wait()
        return await write(self, *given, **more)

    monkeypatch.setattr(ledger, "enqueue", slowly)
    first = asyncio.create_task(enqueue(web))
    await begun.wait()
    meanwhile = await enqueue(web)
    go.set()
    assert (meanwhile.problem, meanwhile.headers["retry-after"]) == ("key-pending", "1")
    assert (await first).status == 200
    assert (await enqueue(web)).headers["idempotency-replayed"] == "true"


async def test_what_only_looks_needs_no_key_and_keeps_none(web: Web) -> None:
    answer = await ask(web.app, "GET", "/api/v1/runs", b"", TOKEN, headers={"idempotency-key": "k1"})
    assert answer.status == 200
    assert (await enqueue(web)).status == 200
