"""More than the quota of a namespace is refused over HTTP by its name, with what to do."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.model.quotas import Quota
from fencepost.telemetry.events import QuotaRefused, listen
from fencepost.web import serving as serving_module
from tests.web.house import Web

SCHEDULES = "/api/v1/schedules"
RUNS = "/api/v1/jobs/local/enqueue"


def schedule(name: str, every: str = "1m") -> dict[str, Any]:
    return {"schedule_id": name, "job": "local", "every": every}


@pytest.fixture
def heard() -> Any:
    events: list[Any] = []
    unlisten = listen(events.append)
    yield events
    unlisten()


async def web_with(**settings: Any) -> Web:
    web = Web(**settings)
    await web.open()
    return web


async def test_one_schedule_too_many_is_refused(heard: list[Any]) -> None:
    web = await web_with(quota_schedules=2)
    assert [(await web.post(SCHEDULES, schedule(name))).status for name in "ab"] == [200, 200]
    refused = await web.post(SCHEDULES, schedule("c"))
    assert (refused.status, refused.problem, refused.body["quota"]) == (429, "quota-exceeded", "schedules")
    assert refused.body["detail"] == (
        "namespace default: has 2 schedules, and its quota is 2; remove some, or have quota_schedules raised "
        "for all, or quota_exceptions for this namespace"
    )
    assert QuotaRefused(Quota.SCHEDULES) in heard
    assert (await web.get(f"{SCHEDULES}/c")).status == 404


@pytest.mark.parametrize(("every", "status"), [("30s", 429), ("1m", 200), ("1h", 200)])
async def test_a_schedule_that_fires_too_often_is_refused(every: str, status: int) -> None:
    web = await web_with(quota_interval_s=60)
    answer = await web.post(SCHEDULES, schedule("a", every))
    assert answer.status == status, answer.body
    if status != 200:
        assert answer.body["quota"] == "interval_s"
        assert "may fire every 60 s at most, this one fires 30 s after another time" in answer.body["detail"]


async def test_runs_are_enqueued_up_to_the_reserve_and_then_refused(heard: list[Any]) -> None:
    web = await web_with(quota_enqueues_per_s=0.1)
    first, second = [await web.post(RUNS, {"key": key, "payload": {}}) for key in "ab"]
    assert first.status == 200, first.body
    assert (second.status, second.body["quota"]) == (429, "enqueues_per_s")
    assert QuotaRefused(Quota.ENQUEUES_PER_S) in heard


async def busy_web(monkeypatch: pytest.MonkeyPatch, at_once: int) -> Web:
    """A server that makes so many runs at once for a namespace and then none for long; with a schedule and
    three dead runs."""
    monkeypatch.setattr(serving_module, "ENQUEUES_RESERVE_S", 1_000.0 * at_once)
    web = await web_with(quota_enqueues_per_s=0.001)
    await web.post(SCHEDULES, schedule("beat"))
    for key in DEAD:
        await web.enqueue(key, "resize")
    for run in await web.claim(limit=len(DEAD)):
        await web.report(run, "fail", error="Broken", permanent=True)
    return web


DEAD = ["x", "y", "z"]
DEAD_KEYS = [f"resize#{key}" for key in DEAD]
TICK = f"{SCHEDULES}/beat/ticks/2026-03-01T12:30:00Z"
MAKES_RUNS: dict[str, tuple[str, Any, int]] = {
    "enqueue": (RUNS, {"payload": {}}, 1),
    "trigger": (f"{SCHEDULES}/beat/trigger", {}, 1),
    "hold an unplanned tick": (f"{TICK}/hold", {}, 1),
    "skip an unplanned tick": (f"{TICK}/skip", {}, 1),
    "replay one": ("/api/v1/runs/replay", {"run_keys": DEAD_KEYS[:1]}, 1),
    "replay in bulk": ("/api/v1/runs/replay", {"run_keys": DEAD_KEYS}, 3),
    "replay dead ones": ("/api/v1/dead/replay", {"everything": True}, 3),
}


@pytest.mark.parametrize(("path", "body", "runs"), MAKES_RUNS.values(), ids=MAKES_RUNS)
async def test_every_verb_that_makes_runs_counts_them(
    path: str, body: Any, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = await busy_web(monkeypatch, at_once=runs)
    answer = await web.post(path, body)
    assert answer.status == 200, answer.body
    assert (await web.post(RUNS, {"payload": {}})).body["quota"] == "enqueues_per_s"


@pytest.mark.parametrize(("path", "body", "runs"), MAKES_RUNS.values(), ids=MAKES_RUNS)
async def test_runs_that_do_not_fit_are_refused_as_a_whole(
    path: str, body: Any, runs: int, monkeypatch: pytest.MonkeyPatch, heard: list[Any]
) -> None:
    web = await busy_web(monkeypatch, at_once=3)
    for _ in range(4 - runs):
        assert (await web.post(RUNS, {"payload": {}})).status == 200
    before = await web.house.runs()
    refused = await web.post(path, body)
    assert (refused.status, refused.body["quota"]) == (429, "enqueues_per_s"), refused.body
    asks = "1 run" if runs == 1 else f"{runs} runs"
    assert refused.body["detail"] == (
        f"namespace default: asks for {asks} and may make {runs - 1} now, as its "
        "quota is 0.001 per second; try again in 1000 s, or have quota_enqueues_per_s raised for all, or "
        "quota_exceptions for this namespace"
    )
    assert refused.headers["retry-after"] == "1000"
    assert await web.house.runs() == before
    assert QuotaRefused(Quota.ENQUEUES_PER_S) in heard


async def test_a_bulk_that_never_fits_is_told_how_many_may_be_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    web = await busy_web(monkeypatch, at_once=2)
    refused = await web.post("/api/v1/runs/replay", {"run_keys": DEAD_KEYS})
    assert (refused.status, "retry-after" in refused.headers) == (429, False)
    assert "; ask for at most 2 at once, or have" in refused.body["detail"]


async def test_a_run_that_is_not_made_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    web = await busy_web(monkeypatch, at_once=3)
    waiting = [await web.enqueue(key, "resize") for key in "abc"]
    left = await web.post("/api/v1/runs/replay", {"run_keys": waiting})
    assert left.body == {"replayed": [], "left": waiting}
    assert (await web.post("/api/v1/dead/replay", {"everything": True})).body["replayed"] == DEAD_KEYS


async def test_a_backfill_is_filled_by_request_as_far_as_the_quota_goes(
    monkeypatch: pytest.MonkeyPatch, heard: list[Any]
) -> None:
    web = await busy_web(monkeypatch, at_once=4)
    asked = {"schedule_id": "beat", "since": "2026-03-01T11:00:00Z", "until": "2026-03-01T12:00:00Z"}
    started = await web.post("/api/v1/backfills", asked)
    fill = f"/api/v1/backfills/{started.body['backfill_id']}/fill"
    filled = [(await web.post(fill, {})).body["runs"] for _ in range(2)]
    assert filled == [{"ready": 4}, {"ready": 4}]
    assert QuotaRefused(Quota.ENQUEUES_PER_S) in heard
    assert (await web.post(RUNS, {"payload": {}})).status == 429


async def test_an_exception_is_of_one_namespace_alone() -> None:
    web = await web_with(quota_schedules=1, quota_exceptions="default:schedules=2")
    assert [(await web.post(SCHEDULES, schedule(name))).status for name in "abc"] == [200, 200, 429]
