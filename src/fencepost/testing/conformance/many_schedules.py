"""The behaviour of schedules that are written a batch at a time: each has its own fate, and its own entry."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from fencepost.errors import QuotaExceeded
from fencepost.model.audit import Action
from fencepost.model.freeze import label_scope
from fencepost.model.identifiers import ScheduleId
from fencepost.model.run import RunState
from fencepost.model.schedule import AppliedSchedule, DesiredSchedule, ScheduleChange, ScheduleState
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_NS,
    TZDATA,
    make_spec,
    plan_ticks,
    put,
    read_cursor,
    shard_for,
    states,
)
from fencepost.testing.conformance.calendars import CHRISTMAS, using
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, entries
from fencepost.testing.conformance.quotas import at_most
from fencepost.testing.conformance.signals import hint

A, B, C = (ScheduleId(name) for name in "abc")
CREATED, CHANGED, UNCHANGED = ScheduleChange


def desired(*names: ScheduleId, every_s: int = 60, version: int | None = None) -> list[DesiredSchedule]:
    """Schedules that should be alike."""
    return [DesiredSchedule(name, make_spec(every_s=every_s), version) for name in names]


async def put_many(
    harness: StoreHarness, *batch: DesiredSchedule, **terms: Any
) -> Sequence[AppliedSchedule | None]:
    """Write them in anna's name."""
    return await harness.store.schedules.put_many(NS, batch, tzdata=TZDATA, **{"author": ANNA, **terms})


async def changes(
    harness: StoreHarness, *batch: DesiredSchedule, **terms: Any
) -> list[ScheduleChange | None]:
    """Write them; what became of each."""
    return [None if one is None else one.change for one in await put_many(harness, *batch, **terms)]


class ManySchedulesContract:
    """Created, changed and left alone together."""

    async def test_each_of_a_batch_is_as_if_it_had_been_put_alone(self, harness: StoreHarness) -> None:
        alone = await put(harness, schedule_id=C)
        async with hint(harness, Topic.SCHEDULES):
            written = await put_many(harness, *desired(B, A))
        assert [one and one.change for one in written] == [CREATED, CREATED]
        found = await harness.store.schedules.get_many(NS, [A, B, ScheduleId("absent"), A])
        assert [one and one.schedule for one in written] == [found[B], found[A]]
        assert {A, B} == set(found)
        for name, one in found.items():
            assert (one.version, one.state, one.spec) == (1, alone.state, alone.spec)
            assert (one.planned_through, one.shard) == (alone.planned_through, shard_for(harness, name))
            assert (await read_cursor(harness, name)).planned_through == alone.planned_through
            assert len(await harness.store.schedules.history(NS, name)) == 1
        logged = {
            one.subject: (one.action, one.before, one.after["version"]) for one in await entries(harness)
        }
        assert logged == dict.fromkeys((A, B), (Action.SCHEDULE_PUT, {}, 1))
        assert await harness.store.schedules.get_many(OTHER_NS, [A, B]) == {}

    async def test_a_batch_does_not_share_a_fate(self, harness: StoreHarness) -> None:
        await put_many(harness, *desired(A, B))
        await harness.store.schedules.remove(NS, B)
        await harness.advance(5)
        batch = *desired(A, every_s=90), *desired(B, C), *desired(ScheduleId("gone"), version=3)
        assert await changes(harness, *batch) == [CHANGED, CREATED, CREATED, None]
        found = await harness.store.schedules.get_many(NS, [A, B, C])
        assert {name: one.version for name, one in found.items()} == {A: 2, B: 2, C: 1}
        assert {one.state for one in found.values()} == {ScheduleState.ACTIVE}
        assert {one.planned_through for one in found.values()} == {harness.now}
        assert await changes(harness, *desired(A, version=1), *desired(C, version=0)) == [None, None]

    async def test_a_batch_that_says_nothing_new_writes_nothing(self, harness: StoreHarness) -> None:
        await put_many(harness, *desired(A, B), code_digest="digest-1")
        (key,) = await plan_ticks(harness, 60, schedule_id=A)
        before, logged = await harness.store.schedules.get_many(NS, [A, B]), len(await entries(harness))
        await harness.advance(5)
        assert await changes(harness, *desired(A, B), code_digest="digest-1") == [UNCHANGED, UNCHANGED]
        assert await harness.store.schedules.get_many(NS, [A, B]) == before
        assert len(await harness.store.schedules.history(NS, A)) == 1
        assert await states(harness, key) == [RunState.PLANNED]
        assert len(await entries(harness)) == logged
        assert list(await put_many(harness)) == []

    async def test_what_code_applied_is_recorded_for_each(self, harness: StoreHarness) -> None:
        await put_many(harness, *desired(A))
        coded = [DesiredSchedule(name, make_spec(), None, make_spec(every_s=90)) for name in (A, B)]
        written = await put_many(harness, *coded, code_digest="digest-2")
        said = [one and (one.change, one.schedule.code_spec, one.schedule.code_digest) for one in written]
        assert said == [(change, make_spec(every_s=90), "digest-2") for change in (UNCHANGED, CREATED)]

    async def test_edits_of_a_batch_withdraw_what_was_planned_of_each_and_of_no_other(
        self, harness: StoreHarness
    ) -> None:
        await put_many(harness, *desired(A, B, C))
        keys = [(await plan_ticks(harness, 30, 60, schedule_id=name)) for name in (A, B, C)]
        await harness.advance(40)
        await put_many(harness, *desired(A, B, every_s=90))
        for name, (first, second) in zip((A, B), keys[:2], strict=True):
            assert await states(harness, first, second) == [RunState.READY, RunState.WITHDRAWN], name
        assert await states(harness, *keys[2]) == [RunState.READY, RunState.PLANNED]
        histories = await harness.store.schedules.histories(NS, [C, A, ScheduleId("absent"), A])
        assert [(name, len(some)) for name, some in histories.items()] == [(C, 1), (A, 2), ("absent", 0)]
        assert histories[A] == await harness.store.schedules.history(NS, A)
        assert [one.in_force_until for one in histories[A]] == [harness.now, None]

    async def test_a_frozen_label_reaches_who_has_it_in_a_batch(self, harness: StoreHarness) -> None:
        red = make_spec(labels={"team": "red"})
        await put(harness, schedule_id=A)
        await put(harness, red, schedule_id=B)
        await harness.store.freezes.freeze(NS, label_scope("team=red"), ANNA)
        batch = DesiredSchedule(A, red), *desired(B), DesiredSchedule(C, red)
        written = await put_many(harness, *batch)
        assert [one and one.schedule.frozen for one in written] == [True, False, True]

    async def test_a_batch_uses_calendars_that_cannot_be_removed_any_more(
        self, harness: StoreHarness
    ) -> None:
        await harness.store.calendars.put(NS, "de", CHRISTMAS)
        await put_many(harness, DesiredSchedule(A, using(de=1)), DesiredSchedule(B, using(de=1)))
        assert await harness.store.calendars.remove(NS, "de") == [A, B]
        await put_many(harness, *desired(A, B))
        assert await harness.store.calendars.remove(NS, "de") == []

    async def test_a_batch_over_quota_leaves_nothing(self, harness: StoreHarness) -> None:
        await put_many(harness, *desired(A, B), admit=at_most)
        with pytest.raises(QuotaExceeded, match="2 are there"):
            await put_many(harness, *desired(A, every_s=90), *desired(C, ScheduleId("d")), admit=at_most)
        page = await harness.store.schedules.page(NS, None, MANY)
        assert [(one.schedule_id, one.version) for one in page] == [(A, 1), (B, 1)]
        assert await changes(harness, *desired(A, B, C), admit=at_most) == [UNCHANGED, UNCHANGED, CREATED]

    async def test_the_same_batch_at_once_is_written_once_in_whatever_order(
        self, harness: StoreHarness
    ) -> None:
        names = [ScheduleId(f"at-once-{number:02}") for number in range(MANY)]
        await put_many(harness, *desired(*names[::3]))
        batches = [desired(*names, every_s=90), desired(*reversed(names), every_s=90)] * 3
        written = await asyncio.gather(*(put_many(harness, *batch) for batch in batches))
        became = [one.change for batch in written for one in batch if one]
        assert len(became) == len(batches) * MANY
        new = len(names[::3])
        assert [became.count(one) for one in (CHANGED, CREATED)] == [new, MANY - new]
        found = await harness.store.schedules.get_many(NS, names)
        assert sorted(one.version for one in found.values()) == [1] * (MANY - new) + [2] * new
