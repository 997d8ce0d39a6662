"""The behaviour of calendars in a store: no change and no user of a calendar goes unnoticed."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from fencepost.model.calendar import Behind, CalendarRecord
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.json import JsonObject
from fencepost.model.schedule import ScheduleSpec
from fencepost.ports.calendars import USERS_NAMED_MAX
from fencepost.testing.conformance.builders import (
    MANY,
    NEWER_TZDATA,
    NS,
    OTHER_NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    ids_on_two_shards,
    make_spec,
    put,
    shard_for,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, entries

CHRISTMAS: JsonObject = {"name": "de", "weekend": "SAT SUN", "holidays": "2026-12-25", "workdays": ""}
EASTER: JsonObject = {"name": "de", "weekend": "SAT SUN", "holidays": "2026-04-06", "workdays": ""}


class CalendarContract:
    """Calendars by name."""

    async def test_no_calendar_is_there_at_first(self, harness: StoreHarness) -> None:
        calendars = harness.store.calendars
        assert await calendars.get(NS, "de") is None
        assert list(await calendars.all(NS)) == []
        assert await users(harness) == []
        assert await remove(harness) is None

    async def test_a_calendar_does_not_lose_anything_in_the_store(self, harness: StoreHarness) -> None:
        definition: JsonObject = {"name": "née", "deep": {"ids": [1, None, 0.5]}, "empty": ""}
        record = await harness.store.calendars.put(NS, "de", definition)
        assert record == CalendarRecord(NS, "de", 1, definition, harness.now)
        assert await harness.store.calendars.get(NS, "de") == record

    async def test_a_changed_definition_does_not_keep_its_revision(self, harness: StoreHarness) -> None:
        await set_calendar(harness, CHRISTMAS)
        await harness.advance(5)
        record = await set_calendar(harness, EASTER)
        assert (record.revision, record.definition, record.updated_at) == (2, EASTER, harness.now)
        assert (await set_calendar(harness, CHRISTMAS)).revision == 3

    async def test_an_equal_definition_changes_nothing(self, harness: StoreHarness) -> None:
        before = await set_calendar(harness, CHRISTMAS)
        await harness.advance(5)
        assert await set_calendar(harness, dict(reversed(CHRISTMAS.items()))) == before
        assert await harness.store.calendars.get(NS, "de") == before

    async def test_calendars_come_by_name_and_those_of_other_namespaces_do_not(
        self, harness: StoreHarness
    ) -> None:
        for name in ("fr", "at", "de"):
            await set_calendar(harness, CHRISTMAS, name)
        await set_calendar(harness, EASTER, namespace=OTHER_NS)
        assert [one.name for one in await harness.store.calendars.all(NS)] == ["at", "de", "fr"]
        assert [one.definition for one in await harness.store.calendars.all(OTHER_NS)] == [EASTER]
        assert await revision(harness) == 1

    async def test_a_removed_calendar_is_not_there(self, harness: StoreHarness) -> None:
        calendars = harness.store.calendars
        await set_calendar(harness, CHRISTMAS)
        await set_calendar(harness, CHRISTMAS, namespace=OTHER_NS)
        assert await remove(harness) == []
        assert await calendars.get(NS, "de") is None
        assert list(await calendars.all(NS)) == []
        assert await remove(harness) is None
        assert await calendars.get(OTHER_NS, "de") is not None

    async def test_a_name_that_is_used_again_does_not_count_from_one(self, harness: StoreHarness) -> None:
        """A version that was written with the calendar that is gone must not seem newer than this one."""
        await set_calendar(harness, CHRISTMAS)
        await harness.store.calendars.remove(NS, "de")
        await harness.advance(5)
        record = await set_calendar(harness, CHRISTMAS)
        assert (record.revision, record.updated_at) == (2, harness.now)

    @pytest.mark.parametrize("expected", [0, 1, 3])
    async def test_a_calendar_of_another_revision_is_not_overwritten(
        self, harness: StoreHarness, expected: int
    ) -> None:
        await set_calendar(harness, CHRISTMAS)
        before = await set_calendar(harness, EASTER)
        calendars = harness.store.calendars
        for definition in (CHRISTMAS, EASTER):
            put = await calendars.put(NS, "de", definition, expected_revision=expected, author=ANNA)
            assert put is None
        assert await calendars.remove(NS, "de", expected_revision=expected, author=ANNA) is None
        assert await calendars.get(NS, "de") == before
        assert await entries(harness) == []

    async def test_a_caller_that_expects_what_is_there_is_not_refused(self, harness: StoreHarness) -> None:
        calendars = harness.store.calendars
        for number, definition in enumerate((CHRISTMAS, EASTER)):
            record = await calendars.put(NS, "de", definition, expected_revision=number)
            assert record is not None
            assert (record.revision, record.definition) == (number + 1, definition)
            assert await calendars.put(NS, "de", definition, expected_revision=number + 1) == record
        assert await calendars.remove(NS, "de", expected_revision=2) == []
        assert await calendars.get(NS, "de") is None

    async def test_a_calendar_that_is_not_there_has_no_revision_to_expect(
        self, harness: StoreHarness
    ) -> None:
        calendars = harness.store.calendars
        assert await calendars.put(NS, "de", CHRISTMAS, expected_revision=1) is None
        assert await calendars.get(NS, "de") is None
        await set_calendar(harness, CHRISTMAS)
        await remove(harness)
        assert await calendars.put(NS, "de", EASTER, expected_revision=1) is None
        assert await calendars.remove(NS, "de", expected_revision=1) is None
        assert await calendars.get(NS, "de") is None
        anew = await calendars.put(NS, "de", EASTER, expected_revision=0)
        assert anew is not None
        assert anew.revision == 2

    async def test_of_two_who_expect_the_same_revision_one_is_refused(self, harness: StoreHarness) -> None:
        await set_calendar(harness, CHRISTMAS)
        calendars = harness.store.calendars
        days = [{**CHRISTMAS, "holidays": f"2026-12-{day}"} for day in range(10, 20)]
        written = await asyncio.gather(*(calendars.put(NS, "de", one, expected_revision=1) for one in days))
        (won,) = [one for one in written if one is not None]
        assert await calendars.get(NS, "de") == won
        assert won.revision == 2


class CalendarUseContract:
    """Which schedules were written with which revision."""

    async def test_a_calendar_in_use_is_not_removed(self, harness: StoreHarness) -> None:
        calendars = harness.store.calendars
        await set_calendar(harness, CHRISTMAS)
        await put(harness, using(de=1))
        await put(harness, using(de=1), OTHER_SCHEDULE)
        await harness.store.schedules.pause(NS, OTHER_SCHEDULE, "holidays")
        assert await remove(harness) == [SCHEDULE, OTHER_SCHEDULE]
        assert await revision(harness) == 1
        for schedule_id in (SCHEDULE, OTHER_SCHEDULE):
            await harness.store.schedules.remove(NS, schedule_id)
        assert await remove(harness) == []
        assert await calendars.get(NS, "de") is None

    async def test_a_refusal_to_remove_does_not_name_more_users_than_fit(self, harness: StoreHarness) -> None:
        names = [ScheduleId(f"schedule-{number:02}") for number in range(USERS_NAMED_MAX + 1)]
        await set_calendar(harness, CHRISTMAS)
        for name in reversed(names):
            await put(harness, using(de=1), name)
        assert await remove(harness) == names[:-1]
        assert await users(harness) == names
        assert await users(harness, most=2) == names[:2]

    async def test_users_are_not_those_of_another_calendar_or_namespace(self, harness: StoreHarness) -> None:
        await put(harness, using(de=1))
        await put(harness, using(fr=1), OTHER_SCHEDULE)
        await put(harness, using(de=1, fr=1), namespace=OTHER_NS)
        assert await users(harness) == [SCHEDULE]
        assert await users(harness, "fr") == [OTHER_SCHEDULE]
        assert await users(harness, "fr", namespace=OTHER_NS) == [SCHEDULE]

    async def test_users_of_many_calendars_do_not_mix_nor_push_one_another_out(
        self, harness: StoreHarness
    ) -> None:
        for name in ("a", "b", "c"):
            await put(harness, using(de=1, fr=1), ScheduleId(name))
        await put(harness, using(at=1), OTHER_SCHEDULE)
        found = await harness.store.calendars.users(NS, ["fr", "it", "de", "at"], 2)
        assert {name: list(ids) for name, ids in found.items()} == {
            "de": ["a", "b"],
            "fr": ["a", "b"],
            "at": [OTHER_SCHEDULE],
            "it": [],
        }
        assert await harness.store.calendars.users(NS, [], 2) == {}

    async def test_a_calendar_that_is_not_in_the_store_is_no_fault(self, harness: StoreHarness) -> None:
        schedule = await put(harness, using(de=7))
        assert schedule.spec == using(de=7)
        assert await users(harness) == [SCHEDULE]
        assert await behind(harness) == []

    async def test_a_calendar_without_a_revision_is_not_the_stores(self, harness: StoreHarness) -> None:
        await set_calendar(harness, CHRISTMAS)
        await set_calendar(harness, EASTER)
        await put(harness, make_spec(calendars={"de": CHRISTMAS}))
        assert await users(harness) == []
        assert await behind(harness) == []

    async def test_an_edit_does_not_keep_the_calendars_of_the_version_before(
        self, harness: StoreHarness
    ) -> None:
        await put(harness, using(de=1, fr=1))
        await put(harness, using(fr=2, at=1))
        assert [await users(harness, name) for name in ("at", "de", "fr")] == [[SCHEDULE], [], [SCHEDULE]]
        await put(harness, make_spec())
        assert [await users(harness, name) for name in ("at", "de", "fr")] == [[], [], []]

    async def test_other_calendars_alone_do_not_pass_for_an_equal_spec(self, harness: StoreHarness) -> None:
        versions = [(await put(harness, using(de=revision))).version for revision in (1, 1, 2)]
        assert versions == [1, 1, 2]

    async def test_a_put_that_was_refused_does_not_change_what_is_used(self, harness: StoreHarness) -> None:
        await put(harness, using(de=1))
        refused = await harness.store.schedules.put(
            NS, SCHEDULE, using(fr=1), tzdata=NEWER_TZDATA, expected_version=7
        )
        assert refused is None
        assert [await users(harness, name) for name in ("de", "fr")] == [[SCHEDULE], []]

    async def test_a_removed_schedule_uses_nothing_until_its_id_is_used_again(
        self, harness: StoreHarness
    ) -> None:
        await put(harness, using(de=1))
        await harness.store.schedules.remove(NS, SCHEDULE)
        assert await users(harness) == []
        await put(harness, using(de=1))
        assert await users(harness) == [SCHEDULE]

    async def test_a_schedule_is_not_behind_the_revision_that_it_was_written_with(
        self, harness: StoreHarness
    ) -> None:
        await set_calendar(harness, CHRISTMAS)
        await put(harness, using(de=1))
        assert await behind(harness) == []
        await set_calendar(harness, CHRISTMAS)
        assert await behind(harness) == []

    async def test_a_changed_calendar_does_not_leave_its_users_unnoticed(self, harness: StoreHarness) -> None:
        await set_calendar(harness, CHRISTMAS)
        await put(harness)
        await put(harness, using(de=1))
        await put(harness, using(fr=1), OTHER_SCHEDULE)
        await set_calendar(harness, EASTER)
        assert await behind(harness) == [Behind(NS, SCHEDULE, 2)]

    async def test_two_changed_calendars_do_not_count_twice(self, harness: StoreHarness) -> None:
        for definition in (CHRISTMAS, EASTER):
            for name in ("de", "fr"):
                await set_calendar(harness, definition, name)
        await put(harness, using(de=1, fr=1))
        assert await behind(harness) == [Behind(NS, SCHEDULE, 1)]

    async def test_a_renewed_schedule_is_not_behind(self, harness: StoreHarness) -> None:
        await set_calendar(harness, CHRISTMAS)
        await put(harness, using(de=1))
        await set_calendar(harness, EASTER)
        await harness.store.schedules.renew(
            NS, SCHEDULE, using(de=2), tzdata=NEWER_TZDATA, expected_version=1, reason="new holidays"
        )
        assert await behind(harness) == []
        await set_calendar(harness, CHRISTMAS)
        assert await behind(harness) == [Behind(NS, SCHEDULE, 2)]

    async def test_only_active_schedules_are_behind(self, harness: StoreHarness) -> None:
        await set_calendar(harness, CHRISTMAS)
        await put(harness, using(de=1))
        await put(harness, using(de=1), OTHER_SCHEDULE)
        await set_calendar(harness, EASTER)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.store.schedules.remove(NS, OTHER_SCHEDULE)
        assert await behind(harness) == []
        await harness.store.schedules.resume(NS, SCHEDULE)
        assert await behind(harness) == [Behind(NS, SCHEDULE, 2)]

    async def test_no_schedule_is_behind_a_calendar_that_was_removed(self, harness: StoreHarness) -> None:
        """It was written with a calendar that went away at the same moment; when it is back, it counts."""
        for definition in (CHRISTMAS, EASTER):
            await set_calendar(harness, definition)
        await harness.store.calendars.remove(NS, "de")
        await put(harness, using(de=1))
        assert await behind(harness) == []
        await set_calendar(harness, EASTER)
        assert await behind(harness) == [Behind(NS, SCHEDULE, 1)]

    async def test_no_schedule_is_behind_a_namesake_in_another_namespace(self, harness: StoreHarness) -> None:
        await put(harness, using(de=1))
        for definition in (CHRISTMAS, EASTER):
            await set_calendar(harness, definition, namespace=OTHER_NS)
        assert await behind(harness) == []

    async def test_those_behind_are_not_of_other_shards_nor_more_than_asked_for(
        self, harness: StoreHarness
    ) -> None:
        one, other = ids_on_two_shards(harness)
        for schedule_id in (one, other):
            await put(harness, using(de=1), schedule_id)
        for definition in (CHRISTMAS, EASTER):
            await set_calendar(harness, definition)
        assert await behind(harness, one) == [Behind(NS, one, 1)]
        assert await behind(harness, one, other) == [Behind(NS, name, 1) for name in sorted((one, other))]
        assert len(await behind(harness, one, other, limit=1)) == 1
        assert list(await harness.store.calendars.behind([], MANY)) == []


def using(**revisions: int) -> ScheduleSpec:
    """A spec that was written with these revisions of calendars."""
    calendars = {name: {**CHRISTMAS, "revision": revision} for name, revision in revisions.items()}
    return replace(make_spec(), calendars=calendars)


async def set_calendar(
    harness: StoreHarness, definition: JsonObject, name: str = "de", *, namespace: Namespace = NS
) -> CalendarRecord:
    """Write a calendar."""
    record = await harness.store.calendars.put(namespace, name, definition)
    assert record is not None, "a caller without an expected revision is not refused"
    return record


async def remove(harness: StoreHarness) -> list[ScheduleId] | None:
    """Remove the one calendar; returns the schedules that keep it, or None where it is not there."""
    users = await harness.store.calendars.remove(NS, "de")
    return None if users is None else list(users)


async def revision(harness: StoreHarness, name: str = "de") -> int | None:
    """The revision of a calendar, if it is there."""
    record = await harness.store.calendars.get(NS, name)
    return None if record is None else record.revision


async def users(
    harness: StoreHarness, name: str = "de", *, namespace: Namespace = NS, most: int = MANY
) -> list[ScheduleId]:
    """All users of a calendar."""
    return list((await harness.store.calendars.users(namespace, [name], most))[name])


async def behind(harness: StoreHarness, *schedules: ScheduleId, limit: int = MANY) -> list[Behind]:
    """The schedules that are behind, on the shards of these schedules or of the two that this suite has."""
    shards = {shard_for(harness, one) for one in schedules or (SCHEDULE, OTHER_SCHEDULE)}
    return list(await harness.store.calendars.behind(sorted(shards), limit))
