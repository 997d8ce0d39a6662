"""The behaviour of forgetting: rows may go, keys never do."""

from __future__ import annotations

from datetime import datetime

from fencepost.model.identifiers import RunKey
from fencepost.model.policies import Overlap
from fencepost.model.run import RunState
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    SCHEDULE,
    at,
    by_hand,
    claim,
    claim_one,
    death,
    due_ticks,
    enqueue,
    finish,
    make_plan,
    make_spec,
    plan_ticks,
    put,
    read,
    read_cursor,
    start_tick,
    start_ticks,
    states,
    success,
    write,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA

DAY_S = 86_400.0


class RetentionContract:
    """What `forget` may remove."""

    async def test_forget_removes_old_ended_ticks_with_their_attempts(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await finish(harness, death(claimed.ticket))
        await harness.advance(DAY_S + 1)
        assert await forget(harness) == 1
        assert await harness.store.ledger.get(NS, claimed.run_key) is None
        assert list(await harness.store.ledger.attempts(NS, claimed.run_key)) == []
        assert await forget(harness) == 0

    async def test_forget_does_not_remove_the_dead_before_their_own_time(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await finish(harness, death(claimed.ticket))
        await harness.advance(2 * DAY_S)
        forget_ = harness.store.ledger.forget
        assert await forget_(DAY_S, MANY, 3 * DAY_S) == 0
        assert len(await harness.store.ledger.attempts(NS, claimed.run_key)) == 1
        await harness.advance(DAY_S + 1)
        assert await forget_(DAY_S, MANY, 3 * DAY_S) == 1

    async def test_forget_does_not_remove_what_ended_lately(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await harness.advance(10 * DAY_S)
        await finish(harness, success(claimed.ticket))
        await harness.advance(DAY_S - 1)
        assert await forget(harness) == 0
        assert await states(harness, claimed.run_key) == [RunState.SUCCEEDED]

    async def test_forget_does_not_remove_what_has_not_ended(self, harness: StoreHarness) -> None:
        await put(harness)
        first, second = await due_ticks(harness, 30, 60)
        await start_ticks(harness, limit=1)
        await enqueue(harness, "one")
        await harness.advance(10 * DAY_S)
        assert await forget(harness) == 0
        assert await states(harness, first, second) == [RunState.RUNNING, RunState.READY]

    async def test_forget_removes_withdrawn_ticks_too(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60)
        await harness.store.schedules.remove(NS, SCHEDULE)
        await harness.advance(DAY_S + 61)
        assert await forget(harness) == 1
        assert await harness.store.ledger.get(NS, key) is None

    async def test_forget_does_not_exceed_its_limit(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 10, 20, 30)
        for claimed in await start_ticks(harness):
            await finish(harness, success(claimed.ticket))
        await harness.advance(DAY_S + 1)
        assert [await forget(harness, 2) for _ in range(3)] == [2, 1, 0]

    async def test_forget_does_not_reopen_a_fire_time(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await due_ticks(harness, 60)
        fire_time = harness.now
        (claimed,) = await start_ticks(harness)
        await finish(harness, success(claimed.ticket))
        before = await read_cursor(harness)
        await harness.advance(DAY_S + 1)
        await forget(harness)
        assert await read_cursor(harness) == before
        receipt = await write(harness, make_plan(cursor, fire_time))
        assert (receipt.runs_written, receipt.outdated) == (0, 1)

    async def test_forget_keeps_the_key_of_a_run_by_hand(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        await harness.advance(DAY_S + 1)
        await forget(harness)
        assert list(await harness.store.ledger.enqueue(NS, [by_hand("one")])) == [False]
        assert await states(harness, claimed.run_key) == [RunState.SUCCEEDED]

    async def test_forget_does_not_keep_the_contents_of_a_run_by_hand(self, harness: StoreHarness) -> None:
        await enqueue(harness, "one", payload={"secret": 1})
        (claimed,) = await claim(harness)
        await finish(harness, death(claimed.ticket, detail="Traceback"))
        await harness.advance(DAY_S + 1)
        await forget(harness)
        record = await read(harness, claimed.run_key)
        assert (record.payload, record.error) == ({}, None)
        assert list(await harness.store.ledger.attempts(NS, claimed.run_key)) == []

    async def test_forget_does_not_strip_a_run_by_hand_again_and_again(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        await harness.advance(DAY_S + 1)
        await forget(harness)
        assert await forget(harness) == 0

    async def test_forget_does_not_reopen_a_tick_that_was_called_off_ahead(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 2 * DAY_S)
        await harness.store.ledger.skip(NS, key, ANNA)
        await harness.advance(2 * DAY_S)
        assert await forget(harness) == 0
        assert await states(harness, key) == [RunState.SKIPPED]
        await harness.advance(DAY_S + 1)
        assert await forget(harness) == 1

    async def test_forget_does_not_reopen_what_was_called_off_before_an_edit(
        self, harness: StoreHarness
    ) -> None:
        """No planner is there for longer than the retention; then the new version's cursor reaches the
        tick."""
        key, fire_time = await self._called_off(harness)
        await put(harness, make_spec(overlap=Overlap.ALLOW))
        await harness.advance(2 * DAY_S)
        assert await forget(harness) == 0
        assert (await write(harness, make_plan(await read_cursor(harness), fire_time))).runs_written == 0
        assert await states(harness, key) == [RunState.SKIPPED]
        assert await forget(harness) == 1

    async def test_forget_does_not_reopen_what_was_called_off_before_a_pause(
        self, harness: StoreHarness
    ) -> None:
        key, fire_time = await self._called_off(harness)
        schedules = harness.store.schedules
        await schedules.pause(NS, SCHEDULE, "paused")
        await harness.advance(2 * DAY_S)
        assert await forget(harness) == 0
        await schedules.resume(NS, SCHEDULE, back_s=3 * DAY_S)
        assert await forget(harness) == 0
        assert (await write(harness, make_plan(await read_cursor(harness), fire_time))).runs_written == 0
        assert await states(harness, key) == [RunState.SKIPPED]
        assert await forget(harness) == 1

    async def test_forget_does_not_keep_what_was_triggered_during_a_pause(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        await harness.store.schedules.pause(NS, SCHEDULE, "by hand only")
        await harness.advance(60)
        key = await harness.store.ledger.trigger(NS, SCHEDULE, harness.now)
        assert key is not None
        await harness.store.ledger.cancel(NS, key, "not this one")
        await harness.advance(2 * DAY_S)
        assert await forget(harness) == 1

    async def _called_off(self, harness: StoreHarness) -> tuple[RunKey, datetime]:
        """A tick a minute ahead that will not run."""
        await put(harness)
        fire_time = at(harness, 60)
        (key,) = await plan_ticks(harness, 60)
        await harness.store.ledger.skip(NS, key, ANNA)
        return key, fire_time

    async def test_what_may_be_forgotten_is_not_kept_secret(self, harness: StoreHarness) -> None:
        ledger, claimed = harness.store.ledger, await start_tick(harness)
        await finish(harness, success(claimed.ticket))
        await harness.advance(DAY_S + 1)
        assert await ledger.forgotten_before() is None
        await forget(harness)
        assert await ledger.forgotten_before() == at(harness, -DAY_S)

    async def test_what_was_forgotten_once_is_not_remembered_again(self, harness: StoreHarness) -> None:
        claimed, ledger = await start_tick(harness), harness.store.ledger
        await finish(harness, success(claimed.ticket))
        await due_ticks(harness, 60)
        (other,) = await start_ticks(harness)
        await finish(harness, success(other.ticket))
        await harness.advance(2 * DAY_S)
        await ledger.forget(DAY_S, 1)
        mark = await ledger.forgotten_before()
        await ledger.forget(1.5 * DAY_S, MANY)
        assert await ledger.forgotten_before() == mark == at(harness, -DAY_S)

    async def test_runs_by_hand_do_not_move_the_mark(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        await harness.advance(DAY_S + 1)
        assert await forget(harness) == 1
        assert await harness.store.ledger.forgotten_before() is None


async def forget(harness: StoreHarness, limit: int = MANY) -> int:
    """Forget what ended more than a day ago."""
    return await harness.store.ledger.forget(DAY_S, limit)
