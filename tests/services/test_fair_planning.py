"""A busy namespace keeps no other waiting for its plans, and has no more of them than its quota."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import reduce
from operator import or_
from typing import Any

import pytest

from fencepost.core.fair_share import Allowance, in_turn, passed_over
from fencepost.errors import QuotaExceeded
from fencepost.model.clocks import Monotonic
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, Namespace, ScheduleId, Shard
from fencepost.model.plan import Cursor, Plan, PlanReceipt
from fencepost.model.quotas import Quota, Quotas
from fencepost.model.run import RunFilter
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.tables import RUNS
from fencepost.services.binding import bound_spec
from fencepost.telemetry.events import QuotaRefused, listen
from fencepost.triggers import At, Combinable, Cron, Every
from tests.rows import rows_of
from tests.services.house import START, House
from tests.services.test_planner import leader

BUSY, CALM = Namespace("busy"), Namespace("calm")


async def put(house: House, namespace: Namespace, count: int, every_s: float) -> None:
    spec = ScheduleSpec(JobName("report"), trigger=Every(every_s).to_json())
    for number in range(count):
        name = ScheduleId(f"beat-{number:03}")
        await house.memory.schedules.put(namespace, name, spec, tzdata="2026a", expected_version=0)


def watched(house: House, monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans in the order in which they are written."""
    written: list[Plan] = []
    write = house.memory.plans.write

    async def watching(plans: Sequence[Plan]) -> PlanReceipt:
        written.extend(plans)
        return await write(plans)

    monkeypatch.setattr(house.memory.plans, "write", watching)
    return written


def planned(house: House, namespace: Namespace) -> int:
    return sum(run["namespace"] == namespace for run in rows_of(house.memory, RUNS))


async def test_plans_go_round_the_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House(plan_runs_max=1_000)
    await put(house, BUSY, 20, every_s=0.1)
    await put(house, CALM, 3, every_s=60)
    node, written = await leader(house), watched(house, monkeypatch)
    await node.planner.run_once()
    assert [one.cursor.namespace for one in written[:6]] == [BUSY, CALM] * 3
    assert (planned(house, BUSY), planned(house, CALM)) == (20 * 600, 3)


async def test_one_namespace_that_fills_the_windows_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without it, all 50 schedules that fire sooner come first, ten times over."""
    house = House(plan_schedules_max=5, plan_ticks_max=60, plan_runs_max=60)
    await put(house, BUSY, 50, every_s=0.1)
    await put(house, CALM, 3, every_s=60)
    node, written = await leader(house), watched(house, monkeypatch)
    await node.planner.run_once()
    places = [place for place, one in enumerate(written) if one.cursor.namespace == CALM]
    assert places == [5, 6, 7]
    while await node.planner.run_once() == 0:
        pass
    assert (planned(house, BUSY), planned(house, CALM)) == (50 * 600, 3)


async def test_a_namespace_beyond_its_quota_is_planned_later_and_loses_nothing() -> None:
    house = House(quota_planned_per_s=20, plan_ticks_max=100)
    reserve_s = house.settings.horizon_s + 2 * house.settings.plan_every_s
    await put(house, BUSY, 4, every_s=0.1)
    await put(house, CALM, 5, every_s=1)
    heard: list[Any] = []
    unlisten = listen(heard.append)
    node = await leader(house)
    assert await node.planner.run_once() == house.settings.plan_every_s
    assert (planned(house, BUSY), planned(house, CALM)) == (20 * reserve_s, 5 * 60)
    assert heard.count(QuotaRefused(Quota.PLANNED_PER_S)) == 1
    house.clock.advance(house.settings.plan_every_s)
    await node.elector.run_once()
    await node.planner.run_once()
    unlisten()
    assert (planned(house, BUSY), planned(house, CALM)) == (20 * (reserve_s + 5), 5 * 65)
    assert await all_planned_in_order(house)


async def all_planned_in_order(house: House) -> bool:
    """Of each schedule the first ticks, without a gap, up to where its cursor is."""
    runs = await house.memory.ledger.list(BUSY, RunFilter(limit=1_000_000))
    by_schedule: dict[str, list[Any]] = {}
    for one in sorted(runs, key=lambda run: run.fire_time):
        by_schedule.setdefault(str(one.schedule_id), []).append(one.fire_time)
    return all(
        times == [START + timedelta(milliseconds=100 * n) for n in range(1, len(times) + 1)]
        for times in by_schedule.values()
    )


async def test_an_exception_gives_one_namespace_another_quota() -> None:
    house = House(quota_planned_per_s=20, quota_exceptions="busy:planned_per_s=1000")
    await put(house, BUSY, 4, every_s=0.1)
    node = await leader(house)
    await node.planner.run_once()
    assert planned(house, BUSY) == 4 * 600


def cursors(*names: str) -> list[Cursor]:
    return [
        Cursor(Namespace(name), ScheduleId(f"s{place}"), Shard(0), 1, START, None, DEFAULT_QUEUE, 2)
        for place, name in enumerate(names)
    ]


@pytest.mark.parametrize(
    ("came", "order"),
    [("", []), ("aaa", [0, 1, 2]), ("aaabbc", [0, 3, 5, 1, 4, 2]), ("abab", [0, 1, 2, 3])],
)
def test_cursors_are_taken_in_turn(came: str, order: list[int]) -> None:
    assert [one.schedule_id for one in in_turn(cursors(*came))] == [f"s{place}" for place in order]


@pytest.mark.parametrize(
    ("before", "came", "after"),
    [("", "aaa", ""), ("", "aaaaaa", "a"), ("a", "bbbbbc", "ab"), ("a", "b", ""), ("ab", "", "")],
)
def test_who_filled_a_window_is_passed_over_until_the_others_are_done(
    before: str, came: str, after: str
) -> None:
    left_out = passed_over(frozenset(map(Namespace, before)), cursors(*came), 6)
    assert left_out == set(after)


def test_an_allowance_fills_with_time_up_to_its_reserve_and_each_has_its_own() -> None:
    allowance, taken = Allowance(reserve_s=10), Counter[str]()
    for name, at, expected in [(BUSY, 0, 50), (BUSY, 1, 5), (CALM, 1, 50), (BUSY, 100, 50)]:
        left = allowance.left(name, 5.0, Monotonic(at))
        assert left == expected
        allowance.spend(name, left)
        taken[name] += left
    assert taken == {BUSY: 105, CALM: 50}


def test_the_smallest_allowance_lets_one_go_now_and_then() -> None:
    allowance = Allowance(reserve_s=10)
    assert allowance.left(BUSY, 0.05, Monotonic(0)) == 1
    allowance.spend(BUSY, 1)
    assert [allowance.left(BUSY, 0.05, Monotonic(at)) for at in (10, 20)] == [0, 1]


async def test_triggers_that_fire_too_often_together_are_refused_at_the_default() -> None:
    """Each fires every 100 ms, which one may; ten of them in turn fire every 10 ms."""
    house = House()
    beats = [Every("100ms", anchor=START + timedelta(milliseconds=10 * number)) for number in range(10)]
    alone, together = (
        ScheduleSpec(JobName("report"), trigger=one.to_json()) for one in (beats[0], reduce(or_, beats))
    )
    with pytest.raises(QuotaExceeded, match=r"may fire every 0\.1 s at most"):
        await bound_spec(house.memory, CALM, ScheduleId("beat"), together, quotas=Quotas())
    found = await bound_spec(house.memory, CALM, ScheduleId("beat"), alone, quotas=Quotas())
    assert found.trigger == beats[0].to_json()


HOURLY, BURST, TICK = Every("1h"), START + timedelta(days=40), timedelta(milliseconds=10)
BURSTS = {
    "a part that begins later": HOURLY | Every("1s").between(BURST, BURST + timedelta(days=1)),
    "a part that fires rarely": HOURLY | Cron("* * 0 24 12 *"),
    "a list of times": At([*(START + timedelta(days=day) for day in range(1, 30)), BURST, BURST + TICK]),
    "a list among others": HOURLY | At([BURST, BURST + TICK]),
}


@pytest.mark.parametrize("trigger", BURSTS.values(), ids=BURSTS)
async def test_a_burst_after_many_fire_times_is_refused_too(trigger: Combinable) -> None:
    spec, quotas = ScheduleSpec(JobName("report"), trigger=trigger.to_json()), Quotas(interval_s=2.0)
    with pytest.raises(QuotaExceeded, match=r"may fire every 2 s at most"):
        await bound_spec(House().memory, CALM, ScheduleId("beat"), spec, quotas=quotas)


async def test_parts_that_keep_their_distance_are_not_refused() -> None:
    trigger = (
        HOURLY | Cron("30 12 24 12 *") | At([BURST + timedelta(minutes=1), BURST + timedelta(minutes=2)])
    )
    spec, quotas = ScheduleSpec(JobName("report"), trigger=trigger.to_json()), Quotas(interval_s=60.0)
    found = await bound_spec(House().memory, CALM, ScheduleId("beat"), spec, quotas=quotas)
    assert found.trigger == spec.trigger
