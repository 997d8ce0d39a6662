"""A namespace with many backfills keeps no other waiting, and writes no more runs than its quota."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from fencepost.model.backfill import Backfill, NewBackfill
from fencepost.model.identifiers import JobName, Namespace, ScheduleId
from fencepost.model.quotas import Quota
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.tables import RUNS
from fencepost.operations import backfills as backfill_operations
from fencepost.operations.control import Control
from fencepost.services import backfiller as backfiller_module
from fencepost.services.backfiller import IDLE_S, LOOK_AGAIN_S, Backfiller
from fencepost.telemetry.events import QuotaRefused, listen
from fencepost.triggers import Every
from tests.rows import rows_of
from tests.services.conftest import Lines
from tests.services.house import START, House

BUSY, CALM, THIRD = Namespace("busy"), Namespace("calm"), Namespace("third")


async def begin(house: House, namespace: Namespace, count: int, runs: int = 3) -> None:
    """So many backfills, each of a schedule of its own and of so many runs."""
    spec = ScheduleSpec(JobName("report"), trigger=Every(10).to_json())
    verbs = Control(house.memory, namespace)
    for number in range(count):
        name = ScheduleId(f"beat-{number:03}")
        await house.memory.schedules.put(namespace, name, spec, tzdata="2026a", expected_version=0)
        await backfill_operations.start(verbs, NewBackfill(name, START - timedelta(seconds=10 * runs), START))


def backfiller(house: House) -> Backfiller:
    return Backfiller(house.store, house.settings, house.clock)


def filled_in_order(house: House) -> list[Namespace]:
    """Whose backfills were filled, one after the other."""
    fills = (arguments for name, arguments in house.store.calls if name == "backfills.fill")
    backfills: list[Backfill] = [one[0] for one in fills]
    return [one.namespace for one in backfills]


def written(house: House) -> Counter[Namespace]:
    return Counter(run["namespace"] for run in rows_of(house.memory, RUNS))


@pytest.fixture
def heard() -> Iterator[list[Any]]:
    events: list[Any] = []
    unlisten = listen(events.append)
    yield events
    unlisten()


async def test_one_namespace_with_many_backfills_holds_up_no_other() -> None:
    """Without turns the first hundred are all of the busy one, in every pass."""
    house = House()
    await begin(house, BUSY, 150)
    await begin(house, CALM, 1)
    await backfiller(house).run_once()
    assert written(house)[CALM] == 3
    assert filled_in_order(house)[:3] == [BUSY, CALM, BUSY]


async def test_who_comes_after_the_windows_of_a_pass_comes_first_in_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backfiller_module, "ACTIVE_MAX", 2)
    monkeypatch.setattr(backfiller_module, "WINDOWS_MAX", 1)
    house = House()
    for name in (BUSY, CALM, THIRD):
        await begin(house, name, 1, runs=300)
    service = backfiller(house)
    await service.run_once()
    assert filled_in_order(house) == [BUSY, CALM]
    await service.run_once()
    assert filled_in_order(house) == [BUSY, CALM, THIRD]


async def test_where_all_had_their_turn_it_begins_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfiller_module, "ACTIVE_MAX", 1)
    monkeypatch.setattr(backfiller_module, "WINDOWS_MAX", 1)
    house = House()
    await begin(house, BUSY, 1)
    service = backfiller(house)
    assert [await service.run_once() for _ in range(3)] == [0.0, 0.0, IDLE_S]


async def test_backfills_keep_to_the_quota_of_their_namespace_and_lose_nothing(
    lines: Lines, heard: list[Any]
) -> None:
    house = House(quota_planned_per_s=10)
    reserve = int(10 * (house.settings.horizon_s + 2 * house.settings.plan_every_s))
    await begin(house, BUSY, 5, runs=200)
    await begin(house, CALM, 1, runs=200)
    service = backfiller(house)
    assert [await service.run_once() for _ in range(2)] == [0.0, LOOK_AGAIN_S]
    assert written(house) == {BUSY: reserve, CALM: 200}
    for passes in range(1, 4):
        house.clock.advance(1)
        assert await service.run_once() == LOOK_AGAIN_S
        assert written(house)[BUSY] == reserve + 10 * passes
    assert heard.count(QuotaRefused(Quota.PLANNED_PER_S)) == 1
    assert len(lines.about("backfilled later: over its quota")) == 1
    house.clock.advance(60)
    assert [await service.run_once() for _ in range(3)][-1] == IDLE_S
    assert written(house) == {BUSY: 5 * 200, CALM: 200}
