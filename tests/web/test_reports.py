"""Heartbeats and reports: accepted while the attempt owns its run, and never after."""

import asyncio
import logging
import re
from typing import Any

import pytest

from fencepost.model.identifiers import RunKey
from fencepost.model.run import RunState
from fencepost.services.reaper import Reaper
from fencepost.telemetry.logs import FIELDS
from tests.services.house import NS
from tests.web.house import Web, ask, run_path

HARD_KEYS = [
    "a/b",
    "a:b",
    "100%",
    "%2F",
    "a?b=c",
    "..",
    "../..",
    "ünï/✓",
    "a b",
    "+",
    "a\\b",
    "a;b",
    "a&b",
    "%",
]


async def claimed(web: Web, key: str = "1", job: str = "resize") -> dict[str, Any]:
    await web.house.enqueue(key, job)
    (run,) = await web.claim("w1", job)
    return run


async def rescued(web: Web) -> None:
    """Time passes without a sign of life, and somebody notices."""
    reaper = Reaper(web.house.store, web.house.settings)
    for _ in range(4):
        await reaper.run_once()
        web.house.clock.advance(10)
    await reaper.run_once()


@pytest.mark.parametrize("key", HARD_KEYS)
async def test_a_run_is_found_by_its_key_whatever_that_holds(web: Web, key: str) -> None:
    run = await claimed(web, key)
    assert run["run_key"] == f"resize#{key}"
    assert (await web.report(run, "heartbeat")).status == 200
    assert (await web.report(run, "complete")).body == {"receipt": "accepted"}
    assert (await web.house.run(run["run_key"])).state is RunState.SUCCEEDED


@pytest.mark.parametrize("segment", ["nothing", "%00", "%FF", "a%0Ab", "x" * 800, "resize%2523" + "1"])
async def test_a_key_that_no_run_has_is_not_found(web: Web, segment: str) -> None:
    await claimed(web)
    answer = await web.post(f"/api/v1/runs/{segment}/complete", {"attempt": 1, "fence": 1})
    assert (answer.status, answer.problem) == (404, "not-found")


async def test_a_key_that_is_not_encoded_finds_no_route(web: Web) -> None:
    run = await claimed(web, "a/b")
    answer = await web.post("/api/v1/runs/resize%23a/b/complete", {"attempt": 1, "fence": run["fence"]})
    assert answer.problem == "not-found"


async def test_a_heartbeat_extends_life_and_keeps_the_progress(web: Web) -> None:
    run = await claimed(web)
    web.house.clock.advance(20)
    answer = await web.report(run, "heartbeat", progress=0.4, note="page 4\0")
    assert answer.body == {"cancel_requested": False, "alive_for_s": 30.0}
    record = await web.house.run(run["run_key"])
    assert record.progress is not None
    assert "0.4" in record.progress
    await web.report(run, "heartbeat")
    web.house.clock.advance(20)
    await Reaper(web.house.store, web.house.settings).run_once()
    assert (await web.house.run(run["run_key"])).state is RunState.RUNNING


async def test_a_heartbeat_brings_the_request_to_stop_and_a_failure_then_is_a_stop(web: Web) -> None:
    run = await claimed(web)
    await web.house.memory.ledger.cancel(NS, RunKey(run["run_key"]), "enough")
    assert (await web.report(run, "heartbeat")).body["cancel_requested"] is True
    assert (await web.report(run, "fail", error="stopped")).body == {"receipt": "accepted"}
    assert (await web.house.run(run["run_key"])).state is RunState.CANCELLED


async def test_no_heartbeat_is_accepted_past_the_timeout(web: Web) -> None:
    run = await claimed(web, job="short")
    web.house.clock.advance(6)
    assert (await web.report(run, "heartbeat")).body["alive_for_s"] == 4.0
    web.house.clock.advance(4)
    late = await web.report(run, "heartbeat")
    assert (late.status, late.problem) == (409, "run-lost")
    assert "timeout" in late.body["detail"]
    web.house.clock.advance(0.001)
    await Reaper(web.house.store, web.house.settings).run_once()
    assert (await web.house.run(run["run_key"])).state is RunState.READY


async def test_a_run_whose_timeout_is_shorter_than_a_heartbeat_is_rescued_at_its_timeout(web: Web) -> None:
    run = await claimed(web, job="short")
    web.house.clock.advance(10.001)
    await Reaper(web.house.store, web.house.settings).run_once()
    assert (await web.house.run(run["run_key"])).state is RunState.READY


async def test_a_worker_that_beats_and_does_not_get_on_loses_its_run(web: Web) -> None:
    run = await claimed(web, job="watched")
    web.house.clock.advance(25)
    assert (await web.report(run, "heartbeat", progress=0.5)).body["alive_for_s"] == 30.0
    web.house.clock.advance(25)
    assert (await web.report(run, "heartbeat")).body["alive_for_s"] == 15.0
    web.house.clock.advance(14)
    assert (await web.report(run, "heartbeat")).body["alive_for_s"] == 1.0
    web.house.clock.advance(1)
    late = await web.report(run, "heartbeat")
    assert (late.status, late.problem) == (409, "run-lost")
    assert "nothing of its progress for 40s" in late.body["detail"]


async def test_a_heartbeat_that_is_overtaken_by_a_rescue_is_refused(web: Web) -> None:
    run = await claimed(web)
    held = web.house.store.hold("ledger.pulse")
    beating = asyncio.create_task(web.report(run, "heartbeat"))
    await held.reached.wait()
    await rescued(web)
    held.go.set()
    assert (await beating).problem == "run-lost"


async def test_a_stale_worker_is_told_so_and_changes_nothing(web: Web) -> None:
    stale = await claimed(web)
    await rescued(web)
    (fresh,) = await web.claim("w2")
    assert fresh["fence"] > stale["fence"]
    for verb, more in [("heartbeat", {}), ("complete", {"result": "x"}), ("fail", {"error": "x"})]:
        answer = await web.report(stale, verb, **more)
        assert (answer.status, answer.problem) == (409, "run-lost"), verb
        assert "it is running" in answer.body["detail"]
    assert (await web.house.run(fresh["run_key"])).state is RunState.RUNNING
    assert (await web.report(fresh, "complete")).body == {"receipt": "accepted"}
    assert (await web.report(stale, "complete")).status == 409


@pytest.mark.parametrize("verb", ["complete", "fail"])
async def test_a_repeated_report_is_said_so_and_the_first_stands(web: Web, verb: str) -> None:
    run = await claimed(web)
    assert (await web.report(run, verb, **_words(verb))).body == {"receipt": "accepted"}
    before = await web.house.run(run["run_key"])
    for again in ("complete", "fail"):
        answer = await web.report(run, again, **_words(again))
        assert (answer.status, answer.body) == (200, {"receipt": "repeated"})
    assert await web.house.run(run["run_key"]) == before
    assert (await web.report(run, "heartbeat")).problem == "run-lost"


async def test_a_report_whose_answer_was_lost_is_safe_to_repeat(web: Web) -> None:
    run = await claimed(web)
    web.house.store.fail_after("ledger.finish")
    assert (await web.report(run, "complete")).problem == "store-unavailable"
    assert (await web.report(run, "complete")).body == {"receipt": "repeated"}


async def test_failures_follow_the_policy_of_the_job(web: Web) -> None:
    run = await claimed(web)
    await web.report(run, "fail", error="Busy: x", detail="trace", retry_after_s=45)
    record = await web.house.run(run["run_key"])
    assert (record.state, record.error) == (RunState.READY, "Busy: x")
    assert (record.run_at - web.house.clock.wall()).total_seconds() == 45
    web.house.clock.advance(45)
    (again,) = await web.claim("w1")
    assert again["attempt"] == 2
    await web.report(again, "fail", error="Broken", permanent=True)
    assert (await web.house.run(run["run_key"])).state is RunState.DEAD


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        ("done", "done"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (0, "0"),
        (False, "false"),
        ("a\0b", "a\ufffdb"),
    ],
)
async def test_a_result_is_kept_as_text(web: Web, result: Any, kept: str) -> None:
    run = await claimed(web)
    assert (await web.report(run, "complete", result=result)).status == 200
    (attempt,) = await web.house.memory.ledger.attempts(NS, RunKey(run["run_key"]))
    assert attempt.output == kept


async def test_of_a_long_result_the_beginning_is_kept_with_a_note(web: Web) -> None:
    run = await claimed(web)
    assert (await web.report(run, "complete", result=["first", "x" * 70_000])).status == 200
    (attempt,) = await web.house.memory.ledger.attempts(NS, RunKey(run["run_key"]))
    assert attempt.output is not None
    assert attempt.output.startswith('["first","xxx')
    assert attempt.output.endswith("x… (70012 characters; the rest is not kept)")


async def test_an_absence_of_the_store_does_not_take_a_run_from_a_worker_outside(web: Web) -> None:
    run = await claimed(web)
    reaper = Reaper(web.house.store, web.house.settings)
    await reaper.run_once()
    web.house.clock.advance(59)
    await reaper.run_once()
    web.house.clock.advance(10)
    await reaper.run_once()
    assert (await web.report(run, "heartbeat")).status == 200
    assert (await web.report(run, "complete")).status == 200


async def test_a_straggler_is_not_told_its_successors_ticket_but_the_log_is(
    web: Web, work_lines: list[logging.LogRecord]
) -> None:
    stale = await claimed(web)
    await rescued(web)
    web.house.clock.advance(60)
    await web.claim("w2")
    await rescued(web)
    web.house.clock.advance(60)
    (fresh,) = await web.claim("w3")
    work_lines.clear()
    for verb, more in [("heartbeat", {}), ("complete", {}), ("fail", {"error": "x"})]:
        told = (await web.report(stale, verb, **more)).body["detail"]
        numbers = {int(one) for one in re.findall(r"\d+", told.partition(": ")[2])}
        assert numbers == {stale["attempt"], stale["fence"]}, verb
    said = [getattr(one, FIELDS) for one in work_lines]
    assert [(one["now_attempt"], one["now_fence"]) for one in said] == [(3, fresh["fence"])] * 3


async def test_a_run_of_the_program_itself_cannot_be_reported_on(web: Web) -> None:
    await web.house.enqueue("1", "local")
    own = await web.claim_inside("local")
    run = {"run_key": own.run_key, "attempt": own.attempt, "fence": own.fence}
    for verb in ("heartbeat", "complete"):
        assert (await web.report(run, verb)).problem == "run-lost"
    assert (await web.house.run(own.run_key)).state is RunState.RUNNING


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("heartbeat", {"attempt": 1}),
        ("heartbeat", {"attempt": 0, "fence": 1}),
        ("heartbeat", {"attempt": 2**31, "fence": 1}),
        ("heartbeat", {"attempt": 1, "fence": 2**63}),
        ("heartbeat", {"attempt": 1, "fence": 1, "progress": 1.1}),
        ("heartbeat", {"attempt": 1, "fence": 1, "note": "x" * 501}),
        ("heartbeat", {"attempt": 1, "fence": 1, "more": 1}),
        ("complete", {"attempt": 1, "fence": 1, "error": "x"}),
        ("fail", {"attempt": 1, "fence": 1}),
        ("fail", {"attempt": 1, "fence": 1, "error": ""}),
        ("fail", {"attempt": 1, "fence": 1, "error": "x", "retry_after_s": 86_401}),
        ("fail", [1]),
    ],
)
async def test_what_does_not_fit_is_refused(web: Web, verb: str, body: Any) -> None:
    answer = await web.post(run_path("resize#1", verb), body)
    assert (answer.status, answer.problem) == (422, "invalid")


async def test_bodies_that_are_no_json_and_methods_that_are_not_there(web: Web) -> None:
    path = run_path("resize#1", "complete")
    assert (await ask(web.app, "POST", path, b"{")).problem == "malformed"
    assert (await ask(web.app, "POST", path, b"\xff")).problem == "malformed"
    empty = await ask(web.app, "POST", path, b"")
    assert (empty.status, empty.problem) == (422, "invalid")
    assert "missing" in empty.body["detail"]
    for depth in (1_500, 100_000):
        deep = b'{"attempt": 1, "fence": 1, "result": ' + b"[" * depth + b"]" * depth + b"}"
        nested = await ask(web.app, "POST", path, deep)
        assert (nested.status, nested.problem) == (400, "malformed")
        assert "nested" in nested.body["detail"]
    wrong = await web.get(path)
    assert (wrong.status, wrong.problem) == (405, "method-not-allowed")
    assert "POST" in wrong.headers["allow"]


async def test_an_error_of_ours_is_an_id_that_the_log_knows(
    web: Web, monkeypatch: pytest.MonkeyPatch, lines: list[logging.LogRecord]
) -> None:
    async def broken(*_: Any) -> None:
        raise ZeroDivisionError("a secret of ours")

    monkeypatch.setattr(web.verbs, "complete", broken)
    answer = await web.post(run_path("resize#1", "complete"), {"attempt": 1, "fence": 1})
    assert (answer.status, answer.problem) == (500, "unexpected")
    assert b"secret" not in answer.content
    assert b"Traceback" not in answer.content
    (line,) = lines
    assert getattr(line, FIELDS) == {"problem_id": answer.body["problem_id"]}
    assert line.exc_info is not None


async def test_readiness_asks_the_store(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await web.get("/readyz", None)).body == {"status": "ready"}

    async def away() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(web.house.memory, "now", away)
    monkeypatch.setattr("fencepost.web.health.STORE_WITHIN_S", 0.01)
    answer = await web.get("/readyz", None)
    assert (answer.status, answer.problem) == (503, "store-unavailable")
    assert (await web.get("/healthz", None)).body == {"status": "ok"}


def _words(verb: str) -> dict[str, Any]:
    return {"error": "x"} if verb == "fail" else {"result": "x"}
