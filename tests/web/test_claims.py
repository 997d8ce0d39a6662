"""Work for workers outside: who gets what, who waits, and what a lost answer costs."""

import asyncio
import json
from typing import Any

import pytest

from fencepost.model.claiming import ClaimRequest
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import (
    DEFAULT_QUEUE,
    JobName,
    Namespace,
    ScheduleId,
    job_key,
    outside_worker,
)
from fencepost.model.job import JobSpec
from fencepost.model.run import NewRun, RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.triggers import Every
from tests.services.house import NS, START, until
from tests.web.house import CLAIMS, Web, ask

WORDS = {
    *("run_key", "job", "attempt", "fence", "epoch", "schedule_id", "fire_time", "version", "payload"),
    *("previous", "after", "started_at", "timeout_s", "heartbeat_every_s", "alive_for_s", "traceparent"),
}
LONG_S = 60


async def test_a_due_run_is_claimed_under_a_fence(web: Web) -> None:
    key = await web.house.enqueue("7", "resize", image_id=7)
    (run,) = await web.claim("w1")
    assert set(run) == WORDS
    assert (run["run_key"], run["attempt"], run["payload"]) == (key, 1, {"image_id": 7})
    assert (run["timeout_s"], run["heartbeat_every_s"], run["alive_for_s"]) == (None, 5.0, 30.0)
    assert run["started_at"] == run["fire_time"] == "2026-03-01T12:00:00Z"
    record = await web.house.run(key)
    assert (record.state, record.fence, record.worker) == (
        RunState.RUNNING,
        run["fence"],
        "http/w1@FENCEPOST_TOKEN",
    )


async def test_a_claim_is_not_without_what_its_run_followed(web: Web) -> None:
    load = JobSpec(JobName("load"), external=True, open_payload=True, after=(JobName("resize"),))
    await web.house.memory.jobs.register(NS, [load])
    key = await web.house.enqueue("7", "resize")
    (run,) = await web.claim("w1")
    assert run["after"] == []
    await web.report(run, "complete", result={"width": 800})
    for _ in range(2):  # The second time the answer to the first was lost.
        (followed,) = (await web.claim("w1", "load", known=[run["fence"]]))[0]["after"]
        assert (followed["run_key"], followed["state"]) == (key, "succeeded")
        assert followed["result"] == '{"width":800}'


async def test_nothing_due_is_an_empty_list_and_no_more_than_asked_for_is_given(web: Web) -> None:
    assert await web.claim() == []
    for number in range(3):
        await web.house.enqueue(str(number), "resize")
    first = await web.claim("w1", limit=2)
    second = await web.claim("w2", limit=2)
    assert (len(first), len(second)) == (2, 1)
    fences = [one["fence"] for one in (*first, *second)]
    assert fences == sorted(set(fences))


async def test_runs_of_the_program_itself_are_not_given_away(web: Web) -> None:
    await web.house.enqueue("1", "local")
    answer = await web.post(CLAIMS, {"worker": "w1", "jobs": ["local"]})
    assert (answer.status, answer.problem) == (422, "unknown-job")
    assert "is not external" in answer.body["detail"]
    assert await web.claim() == []


async def test_an_unregistered_job_is_refused_with_a_near_name(web: Web) -> None:
    answer = await web.post(CLAIMS, {"worker": "w1", "jobs": ["resise"]})
    assert answer.problem == "unknown-job"
    assert "did you mean resize?" in answer.body["detail"]


async def test_queues_are_those_of_the_jobs_unless_given(web: Web) -> None:
    key = await web.enqueue("1", "bulk")
    assert await web.claim("w1", "bulk", queues=["default"]) == []
    assert [one["run_key"] for one in await web.claim("w1", "bulk")] == [key]


async def test_a_tick_is_judged_before_it_is_given(web: Web) -> None:
    await web.house.put_spec("beat", ScheduleSpec(JobName("resize"), Every("1h").to_json()))
    await web.house.memory.ledger.trigger(NS, ScheduleId("beat"), StoreTime(START))
    web.house.clock.advance(3600)
    assert await web.claim() == []
    (run,) = await web.house.runs("beat")
    assert run.state is RunState.MISSED


async def test_a_claim_waits_for_work_and_a_hint_ends_the_wait() -> None:
    web = Web(poll_s=3600)
    await web.open()
    waiting = asyncio.create_task(web.claim("w1", wait_s=LONG_S))
    await until(lambda: len(web.room) == 1)
    key = await web.house.enqueue("1", "resize")
    async with asyncio.timeout(10):
        (run,) = await waiting
    assert run["run_key"] == key
    assert len(web.room) == 0


async def test_a_wait_in_vain_ends_after_its_time(web: Web) -> None:
    async with asyncio.timeout(10):
        assert await web.claim("w1", wait_s=0.05) == []


async def test_a_caller_that_hangs_up_waits_no_more_and_claims_nothing(web: Web) -> None:
    gone = asyncio.Event()
    body = json.dumps({"worker": "w1", "jobs": ["resize"], "wait_s": LONG_S}).encode()
    waiting = asyncio.create_task(ask(web.app, "POST", CLAIMS, body, gone=gone))
    await until(lambda: len(web.room) == 1)
    gone.set()
    async with asyncio.timeout(10):
        await waiting
    assert len(web.room) == 0
    key = await web.house.enqueue("1", "resize")
    assert (await web.house.run(key)).state is RunState.READY


async def test_a_second_request_of_a_worker_takes_the_place_of_its_first(web: Web) -> None:
    first = asyncio.create_task(web.claim("w1", wait_s=LONG_S))
    await until(lambda: len(web.room) == 1)
    second = asyncio.create_task(web.claim("w1", wait_s=LONG_S))
    async with asyncio.timeout(10):
        assert await first == []
    await web.house.enqueue("1", "resize")
    async with asyncio.timeout(10):
        assert len(await second) == 1


async def test_a_room_that_is_full_or_closed_turns_away() -> None:
    web = Web(pollers_max=1)
    await web.open()
    waiting = asyncio.create_task(web.claim("w1", wait_s=LONG_S))
    await until(lambda: len(web.room) == 1)
    full = await web.post(CLAIMS, {"worker": "w2", "jobs": ["resize"], "wait_s": LONG_S})
    assert (full.status, full.problem, full.headers["retry-after"]) == (503, "turned-away", "5")
    web.room.close()
    async with asyncio.timeout(10):
        assert await waiting == []
    closed = await web.post(CLAIMS, {"worker": "w2", "jobs": ["resize"]})
    assert closed.problem == "turned-away"
    assert (await web.get("/readyz", None)).problem == "turned-away"
    assert (await web.get("/healthz", None)).status == 200


async def test_a_claim_whose_answer_was_lost_is_given_again_before_a_new_one(web: Web) -> None:
    await web.house.enqueue("1", "resize")
    (lost,) = await web.claim("w1")
    await web.house.enqueue("2", "resize")
    (again,) = await web.claim("w1", limit=10)
    assert (again["run_key"], again["fence"]) == (lost["run_key"], lost["fence"])
    (new,) = await web.claim("w1", limit=10, known=[lost["fence"]])
    assert new["run_key"] == "resize#2"


async def test_no_worker_adopts_runs_of_another_or_of_the_program(web: Web) -> None:
    await web.house.enqueue("1", "resize")
    await web.house.enqueue("2", "local")
    inside = await web.claim_inside("local")
    await web.claim("w1")
    assert await web.claim("w2") == []
    assert await web.claim("host-1") == []
    assert (await web.house.run(inside.run_key)).worker == "host-1"


async def test_nothing_of_another_namespace_is_given_or_can_be_reported_on(web: Web) -> None:
    other = Namespace("other")
    key = job_key(JobName("resize"), "1")
    ledger = web.house.memory.ledger
    await ledger.enqueue(other, [NewRun(key, JobName("resize"), {}, DEFAULT_QUEUE, 2)])
    claim_request = ClaimRequest(
        outside_worker("w1", "FENCEPOST_TOKEN"), (DEFAULT_QUEUE,), (JobName("resize"),), 30.0, other
    )
    (claim,) = await ledger.claim_direct(claim_request, 1)
    assert await web.claim("w1") == []
    run = {"run_key": key, "attempt": claim.attempt, "fence": claim.fence}
    assert (await web.report(run, "complete")).problem == "not-found"


async def test_a_claim_past_the_timeout_is_not_given_again(web: Web) -> None:
    await web.house.enqueue("1", "short")
    (run,) = await web.claim("w1", "short")
    assert (run["timeout_s"], run["alive_for_s"], run["heartbeat_every_s"]) == (10.0, 10.0, 5.0)
    web.house.clock.advance(10)
    assert await web.claim("w1", "short") == []


async def test_a_store_that_is_away_is_said_so_and_the_claim_is_safe_to_repeat(web: Web) -> None:
    await web.house.enqueue("1", "resize")
    web.house.store.fail_after("ledger.claim_direct")
    answer = await web.post(CLAIMS, {"worker": "w1", "jobs": ["resize"]})
    assert (answer.status, answer.problem, answer.headers["retry-after"]) == (503, "store-unavailable", "1")
    assert "unknown" in answer.body["detail"]
    assert "the line is dead" not in answer.content.decode()
    (run,) = await web.claim("w1")
    assert (run["run_key"], run["attempt"]) == ("resize#1", 1)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"worker": ""}, "worker"),
        ({"worker": "a b"}, "worker"),
        ({"worker": "w1\n"}, "worker"),
        ({"jobs": ["resize\n"]}, "jobs"),
        ({"queues": ["default\n"]}, "queues"),
        ({"worker": "x" * 201}, "worker"),
        ({"jobs": []}, "jobs"),
        ({"jobs": ["x"] * 101}, "jobs"),
        ({"jobs": "resize"}, "jobs"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"wait_s": -1}, "wait_s"),
        ({"wait_s": 61}, "wait_s"),
        ({"wait_s": float("nan")}, None),
        ({"known": [0]}, "known"),
        ({"known": [2**63]}, "known"),
        ({"known": list(range(1, 1_002))}, "known"),
        ({"queue": "x"}, "unknown field `queue`"),
        ({"cursor": "x"}, "unknown field `cursor`"),
    ],
)
async def test_what_is_out_of_bounds_or_unknown_is_refused(
    web: Web, change: dict[str, Any], complaint: str | None
) -> None:
    answer = await web.post(CLAIMS, {"worker": "w1", "jobs": ["resize"], **change})
    assert (answer.status, answer.problem) in ((422, "invalid"), (400, "malformed"))
    if complaint is not None:
        assert complaint in answer.body["detail"]
        assert answer.body["errors"]
