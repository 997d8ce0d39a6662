"""Newer rules move what has not fired, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import pytest

from fencepost.errors import InvalidSpec
from fencepost.model.identifiers import JobName, ScheduleId, Shard
from fencepost.model.json import JsonObject
from fencepost.model.run import RunState
from fencepost.model.schedule import Schedule, ScheduleSpec
from fencepost.operations import pausing
from fencepost.operations.control import Control
from fencepost.services import binding, planner, rules_refresher
from fencepost.services.binding import bound_spec
from fencepost.triggers import Calendar, Cron, Every, tzdata_version
from fencepost.triggers.combine import Combinable
from fencepost.triggers.localtime import zones
from fencepost.triggers.stored import bind
from tests.rows import shards_of
from tests.services.house import NS, START, House, PlanningNode

BERLIN = "Europe/Berlin"
NEWER = "2099a"


@pytest.fixture
def upgrade(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A release with newer zone rules, by which the clocks in Berlin go like those of another zone."""

    def install(like: str) -> None:
        loaded = zones._load(like)
        monkeypatch.setattr(zones, "_load", lambda _: loaded)
        for module in (rules_refresher, planner):
            monkeypatch.setattr(module, "tzdata_version", lambda: NEWER)

    return install


async def leader(house: House) -> PlanningNode:
    node = PlanningNode(house, "alice")
    await node.elector.run_once()
    return node


async def put(house: House, trigger: Combinable, schedule_id: str = "beat") -> Schedule:
    spec = ScheduleSpec(JobName("report"), trigger=trigger.to_json())
    return await house.put_spec(
        schedule_id, await bound_spec(house.memory, NS, ScheduleId(schedule_id), spec)
    )


async def planned(house: House) -> list[datetime]:
    return [one.fire_time for one in await house.runs("beat") if one.state is RunState.PLANNED]


def at(hour: int, minute: int) -> datetime:
    return START.replace(hour=hour, minute=minute)


async def test_a_tick_that_newer_rules_move_is_withdrawn_and_planned_where_it_belongs(
    upgrade: Callable[[str], None],
) -> None:
    house = House()
    await put(house, Cron("30 13,14 * * *", BERLIN))
    house.clock.advance(29 * 60 + 30)
    await (await leader(house)).planner.run_once()
    assert await planned(house) == [at(12, 30)]
    upgrade("Asia/Kolkata")
    node = await leader(house)
    await node.rules_refresher.run_once()
    await node.planner.run_once()

    history = await house.memory.schedules.history(NS, ScheduleId("beat"))
    assert [(one.version, one.tzdata) for one in history] == [(1, "2026a"), (2, NEWER)]
    assert await planned(house) == []
    (withdrawn,) = await house.runs("beat")
    assert (withdrawn.state, withdrawn.reason) == (RunState.WITHDRAWN, rules_refresher.RULES_CHANGED)


async def test_a_tick_that_newer_rules_bring_into_the_horizon_is_planned(
    upgrade: Callable[[str], None],
) -> None:
    house = House()
    await put(house, Cron("31 17 * * *", BERLIN))
    house.clock.advance(30)
    node = await leader(house)
    await node.planner.run_once()
    assert await planned(house) == []
    upgrade("Asia/Kolkata")
    await node.rules_refresher.run_once()
    await (await leader(house)).planner.run_once()
    assert await planned(house) == [at(12, 1)]


async def test_the_next_look_months_ahead_is_moved_by_newer_rules(upgrade: Callable[[str], None]) -> None:
    house = House()
    await put(house, Cron("0 0 1 6 *", BERLIN))
    node = await leader(house)
    await node.planner.run_once()
    upgrade("Asia/Tokyo")
    await node.rules_refresher.run_once()
    house.clock.advance((datetime(2026, 5, 31, 14, 59, 30, tzinfo=UTC) - START).total_seconds())
    await (await leader(house)).planner.run_once()
    assert await planned(house) == [datetime(2026, 5, 31, 15, tzinfo=UTC)]
    assert len(await house.memory.schedules.history(NS, ScheduleId("beat"))) == 1


async def test_rules_that_say_the_same_make_no_version_and_are_not_looked_at_twice(
    upgrade: Callable[[str], None],
) -> None:
    house = House()
    await put(house, Every("10s"))
    node = await leader(house)
    await node.planner.run_once()
    upgrade("Asia/Tokyo")
    await node.rules_refresher.run_once()
    assert len(await house.memory.schedules.history(NS, ScheduleId("beat"))) == 1
    assert len(await planned(house)) == 6
    shards = [Shard(number) for number in range(shards_of(house.memory))]
    assert await house.memory.plans.outlived(shards, NEWER, 10) == []


async def test_what_has_fired_stays_as_it_was(upgrade: Callable[[str], None]) -> None:
    house = House()
    await put(house, Cron("1,30 13 * * *", BERLIN))
    house.clock.advance(30)
    node = await leader(house)
    await node.planner.run_once()
    house.clock.advance(60)
    upgrade("Asia/Kolkata")
    await node.rules_refresher.run_once()
    (fired,) = await house.runs("beat")
    assert (fired.fire_time, fired.state) == (at(12, 1), RunState.READY)


async def test_without_a_grant_nothing_is_refreshed(upgrade: Callable[[str], None]) -> None:
    house = House()
    await put(house, Cron("30 13 * * *", BERLIN))
    upgrade("Asia/Kolkata")
    node = PlanningNode(house, "alice")
    assert await node.rules_refresher.run_once() == rules_refresher.REST_S
    assert house.store.calls == []


def days(*holidays: str) -> JsonObject:
    return Calendar("de", holidays=list(holidays)).to_json()


async def test_a_changed_calendar_moves_what_has_not_fired() -> None:
    house = House()
    house.clock.advance((datetime(2026, 3, 2, 8, 59, 30, tzinfo=UTC) - START).total_seconds())
    await house.memory.calendars.put(NS, "de", days())
    await put(house, Calendar("de").business_days(at="09:00"))
    node = await leader(house)
    await node.planner.run_once()
    assert await planned(house) == [datetime(2026, 3, 2, 9, tzinfo=UTC)]
    await house.memory.calendars.put(NS, "de", days("2026-03-02"))
    await node.rules_refresher.run_once()
    await node.planner.run_once()
    assert await planned(house) == []
    house.clock.advance(24 * 3600)
    await node.elector.run_once()
    await node.planner.run_once()
    assert await planned(house) == [datetime(2026, 3, 3, 9, tzinfo=UTC)]
    assert await node.rules_refresher.run_once() == rules_refresher.REST_S
    assert len(await house.memory.schedules.history(NS, ScheduleId("beat"))) == 2


async def test_a_schedule_that_can_no_longer_fire_keeps_others_from_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = House()
    await house.memory.calendars.put(NS, "de", days())
    await put(house, Calendar("de").business_days(at="09:00"), "beat")
    await put(house, Calendar("de").business_days(at="10:00"), "other")
    node = await leader(house)
    await house.memory.calendars.put(NS, "de", days("2026-03-02"))
    original = bind

    def broken(trigger: Combinable, calendars: Mapping[str, JsonObject], schedule_id: str) -> Combinable:
        if schedule_id == "beat":
            raise InvalidSpec("broken")
        return original(trigger, calendars, schedule_id)

    monkeypatch.setattr(binding, "bind", broken)
    await node.rules_refresher.run_once()
    await node.rules_refresher.run_once()
    current = [await house.memory.schedules.get(NS, ScheduleId(name)) for name in ("beat", "other")]
    assert [one and one.version for one in current] == [1, 2]


async def test_a_paused_schedule_is_left_alone(upgrade: Callable[[str], None]) -> None:
    house = House()
    await put(house, Cron("30 13 * * *", BERLIN))
    await house.memory.schedules.pause(NS, ScheduleId("beat"), "a holiday")
    upgrade("Asia/Kolkata")
    node = await leader(house)
    await node.rules_refresher.run_once()
    assert len(await house.memory.schedules.history(NS, ScheduleId("beat"))) == 1
    await house.memory.schedules.resume(NS, ScheduleId("beat"))
    house.clock.advance(timedelta(hours=20).total_seconds())
    await node.elector.run_once()
    assert await node.rules_refresher.run_once() == rules_refresher.REST_S


async def test_a_planner_that_comes_first_does_not_hide_what_older_rules_have_planned(
    upgrade: Callable[[str], None],
) -> None:
    house = House(horizon_s=3600)
    await put(house, Cron("15 14,18 * * *", BERLIN))
    await (await leader(house)).planner.run_once()
    house.clock.advance(20 * 60)
    upgrade("Asia/Kolkata")
    node = await leader(house)
    await node.planner.run_once()
    await node.rules_refresher.run_once()
    await node.planner.run_once()
    assert await planned(house) == [at(12, 45)]


async def test_a_schedule_that_newer_code_wrote_does_not_end_the_refresher(
    upgrade: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House()
    await house.memory.calendars.put(NS, "de", days())
    await put(house, Calendar("de").business_days(at="09:00"))
    await house.memory.calendars.put(NS, "de", days("2026-03-02"))
    node = await leader(house)

    async def unreadable(*_: object) -> None:
        raise InvalidSpec("schedule format 2: this release reads format 1")

    monkeypatch.setattr(house.memory.schedules, "get", unreadable)
    assert await node.rules_refresher.run_once() == rules_refresher.REST_S


async def test_what_was_set_aside_goes_when_its_calendar_is_mended() -> None:
    house = House()
    await house.memory.calendars.put(NS, "de", days())
    await put(house, Calendar("de").business_day(20, at="09:00"))
    node = await leader(house)
    fridays = Calendar("de", weekend="SUN,MON,TUE,WED,THU,SAT").to_json()
    await house.memory.calendars.put(NS, "de", fridays)
    await node.rules_refresher.run_once()
    await house.memory.calendars.put(NS, "de", days("2026-03-03"))
    node.rules_refresher.reconsider()
    await node.rules_refresher.run_once()
    current = await house.memory.schedules.get(NS, ScheduleId("beat"))
    assert current is not None
    assert current.version == 2
    assert current.spec.calendars["de"]["revision"] == 3


async def test_a_schedule_that_was_edited_meanwhile_gets_no_second_version(
    upgrade: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House()
    await put(house, Cron("30 13,14 * * *", BERLIN))
    house.clock.advance(29 * 60 + 30)
    node = await leader(house)
    await node.planner.run_once()
    upgrade("Asia/Kolkata")

    async def edit() -> None:
        await put(house, Cron("45 13 * * *", BERLIN))

    house.store.before["schedules.get"].append(edit)
    await node.rules_refresher.run_once()
    history = await house.memory.schedules.history(NS, ScheduleId("beat"))
    assert [one.version for one in history] == [1, 2]


async def test_what_cannot_be_read_is_left_to_a_node_that_can(
    upgrade: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House()
    await put(house, Every("10s"))
    node = await leader(house)
    await node.planner.run_once()
    upgrade("Asia/Tokyo")

    def unreadable(*_: object) -> None:
        raise InvalidSpec("a newer release wrote it")

    monkeypatch.setattr(rules_refresher, "stored_trigger", unreadable)
    assert await node.rules_refresher.run_once() == rules_refresher.REST_S
    shards = [Shard(number) for number in range(shards_of(house.memory))]
    assert len(await house.memory.plans.outlived(shards, NEWER, 10)) == 1


async def test_a_resumed_schedule_is_planned_by_the_rules_of_the_moment() -> None:
    house = House()
    await put(house, Every("10s"))
    verbs = Control(house.memory, NS)
    await pausing.pause(verbs, "beat")
    await pausing.resume(verbs, "beat")
    assert [one.tzdata for one in await verbs.versions("beat")] == ["2026a", tzdata_version()]
