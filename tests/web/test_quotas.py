"""More than the quota of a namespace is refused over HTTP by its name, with what to do."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.model.quotas import Quota
from fencepost.telemetry.events import QuotaRefused, listen
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


async def test_an_exception_is_of_one_namespace_alone() -> None:
    web = await web_with(quota_schedules=1, quota_exceptions="default:schedules=2")
    assert [(await web.post(SCHEDULES, schedule(name))).status for name in "abc"] == [200, 200, 429]
