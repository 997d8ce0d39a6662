"""The behaviour of a renewal: the same intent under new rules, from one instant on."""

from __future__ import annotations

from fencepost.model.identifiers import tick_key
from fencepost.model.run import RunState
from fencepost.model.schedule import Schedule, ScheduleSpec, ScheduleState
from fencepost.testing.conformance.builders import (
    NEWER_TZDATA,
    NS,
    OTHER_NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    TZDATA,
    at,
    due_ticks,
    make_plan,
    make_spec,
    plan_ticks,
    put,
    read,
    read_cursor,
    start_ticks,
    states,
    write,
)
from fencepost.testing.conformance.harness import StoreHarness

WITHDRAWN, PLANNED, READY, RUNNING = (
    RunState.WITHDRAWN,
    RunState.PLANNED,
    RunState.READY,
    RunState.RUNNING,
)


class RenewalContract:
    """The next version although the spec may be equal."""

    async def test_an_equal_spec_does_not_keep_a_renewal_from_a_version_of_its_own(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        await plan_ticks(harness, 60)
        await harness.advance(10)
        renewed = await renew(harness, 1)
        assert renewed is not None
        assert (renewed.version, renewed.state, renewed.spec) == (2, ScheduleState.ACTIVE, make_spec())
        assert renewed.planned_through == renewed.updated_at == harness.now
        assert renewed == await harness.store.schedules.get(NS, SCHEDULE)
        old, new = await harness.store.schedules.history(NS, SCHEDULE)
        assert (old.spec, old.tzdata, old.in_force_until) == (make_spec(), TZDATA, harness.now)
        assert (new.spec, new.tzdata, new.in_force_until) == (make_spec(), NEWER_TZDATA, None)
        assert new.in_force_from == harness.now

    async def test_a_renewal_does_not_keep_the_old_spec(self, harness: StoreHarness) -> None:
        await put(harness)
        renewed = await renew(harness, 1, make_spec(every_s=90))
        assert renewed is not None
        assert renewed.spec == make_spec(every_s=90)
        assert (await read_cursor(harness)).spec == make_spec(every_s=90)

    async def test_a_renewal_withdraws_for_its_reason_and_only_what_has_not_fired(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (running,) = await due_ticks(harness, 30)
        await start_ticks(harness)
        keys = await plan_ticks(harness, 10, 20, 30)
        await harness.advance(20)
        await renew(harness, 1)
        assert await states(harness, running, *keys) == [RUNNING, READY, READY, WITHDRAWN]
        withdrawn = await read(harness, keys[2])
        assert (withdrawn.reason, withdrawn.finished_at) == ("newer zone rules", harness.now)

    async def test_a_fire_time_that_a_renewal_withdrew_does_not_stay_empty(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (old,) = await plan_ticks(harness, 60)
        await renew(harness, 1)
        (new,) = await plan_ticks(harness, 60)
        assert new == tick_key(SCHEDULE, at(harness, 60), 2)
        assert await states(harness, old, new) == [WITHDRAWN, PLANNED]

    async def test_a_plan_made_before_a_renewal_is_refused_after_it(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await renew(harness, 1)
        receipt = await write(harness, make_plan(cursor, at(harness, 60)))
        assert (receipt.runs_written, receipt.outdated) == (0, 1)

    async def test_does_not_renew_another_version_than_the_expected(self, harness: StoreHarness) -> None:
        assert await renew(harness, 0) is None
        await put(harness)
        (key,) = await plan_ticks(harness, 60)
        for version in (0, 2):
            assert await renew(harness, version) is None
        assert await states(harness, key) == [PLANNED]
        assert await renew(harness, 1) is not None
        assert await renew(harness, 1) is None
        assert len(await harness.store.schedules.history(NS, SCHEDULE)) == 2

    async def test_does_not_renew_what_is_not_active(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.store.schedules.remove(NS, OTHER_SCHEDULE)
        before = [await harness.store.schedules.get(NS, one) for one in (SCHEDULE, OTHER_SCHEDULE)]
        await harness.advance(5)
        for version in (0, 1):
            assert await renew(harness, version) is None
            assert (
                await harness.store.schedules.renew(
                    NS, OTHER_SCHEDULE, make_spec(), tzdata=TZDATA, expected_version=version, reason="why not"
                )
                is None
            )
        after = [await harness.store.schedules.get(NS, one) for one in (SCHEDULE, OTHER_SCHEDULE)]
        assert after == before

    async def test_a_renewal_does_not_change_what_code_applied(self, harness: StoreHarness) -> None:
        await harness.store.schedules.put(
            NS, SCHEDULE, make_spec(), tzdata=TZDATA, expected_version=0, code_digest="digest-1"
        )
        renewed = await renew(harness, 1, make_spec(every_s=90))
        assert renewed is not None
        assert (renewed.code_spec, renewed.code_digest) == (make_spec(), "digest-1")

    async def test_a_renewal_does_not_touch_other_schedules(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await put(harness, namespace=OTHER_NS)
        (other,) = await plan_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        (foreign,) = await plan_ticks(harness, 60, namespace=OTHER_NS)
        await renew(harness, 1)
        assert await states(harness, other) == [PLANNED]
        assert (await read(harness, foreign, OTHER_NS)).state is PLANNED

    async def test_a_renewal_does_not_forget_what_the_old_version_owed(self, harness: StoreHarness) -> None:
        await put(harness)
        start = harness.now
        await harness.advance(90)
        await renew(harness, 1)
        window = await harness.store.plans.window([(await read_cursor(harness)).shard], 0, 10)
        assert [(one.version, one.planned_through, one.until) for one in window.cursors] == [
            (1, start, harness.now),
            (2, harness.now, None),
        ]


async def renew(
    harness: StoreHarness, expected_version: int, spec: ScheduleSpec | None = None
) -> Schedule | None:
    """Renew the one schedule where its version is the expected one."""
    return await harness.store.schedules.renew(
        NS,
        SCHEDULE,
        spec or make_spec(),
        tzdata=NEWER_TZDATA,
        expected_version=expected_version,
        reason="newer zone rules",
    )
