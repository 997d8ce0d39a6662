"""The behaviour of freezes: nothing of a frozen scope is started, and nothing of it is lost."""

from __future__ import annotations

import pytest

from fencepost.model.audit import Action
from fencepost.model.claiming import Outlook, nothing_due
from fencepost.model.clocks import later
from fencepost.model.freeze import Freeze, Scope, ScopeKind, label_scope
from fencepost.model.identifiers import tick_key
from fencepost.model.run import Hold, RunFilter, RunState
from fencepost.model.schedule import Schedule
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    at,
    claim,
    claim_request,
    death,
    due_ticks,
    end_all,
    enqueue,
    finish,
    make_spec,
    plan_ticks,
    put,
    read,
    retry,
    start_all,
    start_tick,
    start_ticks,
    states,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, BEN, entries, holds, is_asked
from fencepost.testing.conformance.signals import hint

ALL = Scope(ScopeKind.ALL)
ONE = Scope(ScopeKind.SCHEDULE, SCHEDULE)
RED = label_scope("team=red")
RED_SPEC = make_spec(labels={"team": "red", "tier": "1"})
BLUE_SPEC = make_spec(labels={"team": "blue"})
FROZEN, FREE = Hold.FROZEN, Hold.NONE


class FreezeContract:
    """Freezing and thawing."""

    async def test_a_frozen_schedule_does_not_start(self, harness: StoreHarness) -> None:
        await put(harness)
        due, ahead = await plan_ticks(harness, 60, 6000)
        await harness.advance(60)
        assert await harness.store.freezes.freeze(NS, ONE, ANNA)
        assert await holds(harness, due, ahead) == [FROZEN, FROZEN]
        assert await start_ticks(harness) == []
        assert not await is_asked(harness)
        assert await outlook(harness) == nothing_due(harness.now)
        assert (await known(harness)).frozen

    async def test_a_freeze_does_not_reach_other_schedules_or_runs_by_hand(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        (other,) = await due_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        (hand,) = await enqueue(harness, "one")
        await harness.store.freezes.freeze(NS, ONE, ANNA)
        assert [one.run_key for one in await start_ticks(harness)] == [other]
        assert [one.run_key for one in await claim(harness)] == [hand]

    async def test_ticks_of_a_frozen_schedule_are_planned_and_held(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.store.freezes.freeze(NS, ONE, ANNA)
        (key,) = await due_ticks(harness, 60)
        assert await holds(harness, key) == [FROZEN]
        extra = await harness.store.ledger.trigger(NS, SCHEDULE, at(harness, 1))
        assert extra is not None
        assert await holds(harness, extra) == [FROZEN]
        assert await start_ticks(harness) == []

    async def test_what_runs_is_let_finish(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await harness.store.freezes.freeze(NS, ONE, ANNA)
        (pulse,) = await harness.store.ledger.pulse([claimed.ticket], 30)
        assert (pulse.owned, pulse.cancel_requested) == (True, False)
        await finish(harness, success(claimed.ticket))
        run = await read(harness, claimed.run_key)
        assert (run.state, run.held) == (RunState.SUCCEEDED, FREE)

    async def test_what_runs_is_listed_once(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await harness.store.freezes.freeze(NS, ONE, ANNA)
        unended = RunFilter(states=(RunState.RUNNING, RunState.READY))
        listed = await harness.store.ledger.list(NS, unended)
        assert [run.run_key for run in listed] == [claimed.run_key]

    async def test_the_retry_of_what_ran_is_held(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await harness.store.freezes.freeze(NS, ONE, ANNA)
        await finish(harness, retry(claimed.ticket))
        assert await holds(harness, claimed.run_key) == [FROZEN]
        assert await claim(harness) == []
        await harness.store.freezes.thaw(NS, ONE, ANNA)
        (again,) = await claim(harness)
        assert again.attempt == 2

    async def test_a_replay_of_a_frozen_schedule_is_held(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await finish(harness, death(claimed.ticket))
        await harness.store.freezes.freeze(NS, ONE, ANNA)
        await harness.store.ledger.replay(NS, [claimed.run_key], 0.0, ANNA)
        assert await holds(harness, claimed.run_key) == [FROZEN]
        assert await start_ticks(harness) == []

    async def test_a_thawed_schedule_does_not_stay_behind(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.store.freezes.freeze(NS, ONE, ANNA)
        due, ahead = await plan_ticks(harness, 60, 120)
        await harness.advance(60)
        async with hint(harness, Topic.RUNS):
            assert await harness.store.freezes.thaw(NS, ONE, BEN)
        assert await holds(harness, due, ahead) == [FREE, FREE]
        assert not (await known(harness)).frozen
        assert [one.run_key for one in await start_ticks(harness)] == [due]
        (fresh,) = await due_ticks(harness, 300)
        assert await holds(harness, fresh) == [FREE]

    async def test_a_thaw_does_not_undo_an_operators_hold(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        await harness.store.ledger.hold(NS, key, BEN)
        await harness.store.freezes.freeze(NS, ONE, ANNA)
        await harness.store.freezes.thaw(NS, ONE, ANNA)
        assert await holds(harness, key) == [Hold.OPERATOR]

    async def test_a_frozen_label_does_not_spare_who_gets_it_later(self, harness: StoreHarness) -> None:
        await put(harness, BLUE_SPEC)
        (key,) = await due_ticks(harness, 60)
        await harness.store.freezes.freeze(NS, RED, ANNA)
        assert await holds(harness, key) == [FREE]
        assert (await put(harness, RED_SPEC)).frozen
        (young,) = await due_ticks(harness, 60)
        assert await holds(harness, key, young) == [FROZEN, FROZEN]
        assert (await put(harness, RED_SPEC, OTHER_SCHEDULE)).frozen

    async def test_a_schedule_that_loses_a_frozen_label_does_not_stay_frozen(
        self, harness: StoreHarness
    ) -> None:
        await put(harness, RED_SPEC)
        (key,) = await due_ticks(harness, 60)
        await harness.store.freezes.freeze(NS, RED, ANNA)
        assert not (await put(harness, BLUE_SPEC)).frozen
        assert await holds(harness, key) == [FREE]

    async def test_a_frozen_label_reaches_exactly_who_has_it(self, harness: StoreHarness) -> None:
        await put(harness, RED_SPEC)
        await put(harness, BLUE_SPEC, OTHER_SCHEDULE)
        (red,) = await plan_ticks(harness, 60)
        (blue,) = await due_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        await harness.store.freezes.freeze(NS, label_scope("tier=red"), ANNA)
        assert await holds(harness, red, blue) == [FREE, FREE]
        await harness.store.freezes.freeze(NS, RED, ANNA)
        assert await holds(harness, red, blue) == [FROZEN, FREE]
        assert [one.run_key for one in await start_ticks(harness)] == [blue]

    async def test_a_schedule_under_two_freezes_is_not_thawed_by_one(self, harness: StoreHarness) -> None:
        freezes = harness.store.freezes
        await put(harness, RED_SPEC)
        (key,) = await due_ticks(harness, 60)
        await freezes.freeze(NS, RED, ANNA)
        await freezes.freeze(NS, ONE, ANNA)
        await freezes.thaw(NS, RED, ANNA)
        assert (await known(harness)).frozen
        assert await holds(harness, key) == [FROZEN]
        await freezes.thaw(NS, ONE, ANNA)
        assert await holds(harness, key) == [FREE]

    async def test_a_schedule_that_is_not_there_yet_is_frozen_when_it_comes(
        self, harness: StoreHarness
    ) -> None:
        assert await harness.store.freezes.freeze(NS, ONE, ANNA)
        assert (await put(harness)).frozen
        (key,) = await due_ticks(harness, 60)
        assert await holds(harness, key) == [FROZEN]

    async def test_an_edit_does_not_thaw(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.store.freezes.freeze(NS, ONE, ANNA)
        assert (await put(harness, make_spec(every_s=90))).frozen
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.store.schedules.resume(NS, SCHEDULE)
        assert (await known(harness)).frozen
        (key,) = await due_ticks(harness, 60)
        assert await holds(harness, key) == [FROZEN]

    async def test_a_freeze_does_not_reach_another_namespace(self, harness: StoreHarness) -> None:
        await put(harness, namespace=OTHER_NS)
        (key,) = await due_ticks(harness, 60, namespace=OTHER_NS)
        for scope in (ALL, ONE):
            await harness.store.freezes.freeze(NS, scope, ANNA)
        claimed = await harness.store.ledger.claim_ticks(claim_request(namespace=OTHER_NS), MANY, start_all)
        assert [one.run_key for one in claimed] == [key]

    async def test_held_ticks_are_not_ended_while_the_freeze_lasts(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        await harness.store.freezes.freeze(NS, ONE, ANNA)
        await harness.advance(10_000)
        assert await harness.store.ledger.sweep_late(60, MANY, end_all) == 0
        assert await states(harness, key) == [RunState.READY]

    async def test_a_frozen_tick_can_still_be_withdrawn(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.store.freezes.freeze(NS, ONE, ANNA)
        (key,) = await plan_ticks(harness, 60)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        run = await read(harness, key)
        assert (run.state, run.held) == (RunState.WITHDRAWN, FREE)


class FreezeOfAllContract:
    """Everything at once, and the book of freezes."""

    async def test_nothing_at_all_is_started(self, harness: StoreHarness) -> None:
        await put(harness)
        due, ahead = await plan_ticks(harness, 60, 6000)
        await enqueue(harness, "one")
        await harness.advance(60)
        await harness.store.freezes.freeze(NS, ALL, ANNA)
        assert await claim(harness) == []
        assert await start_ticks(harness) == []
        assert not await is_asked(harness)
        assert await outlook(harness) == nothing_due(harness.now)
        assert await states(harness, due, ahead) == [RunState.READY, RunState.PLANNED]

    async def test_a_retry_waits_for_the_thaw(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await harness.store.freezes.freeze(NS, ALL, ANNA)
        await finish(harness, retry(claimed.ticket))
        assert await claim(harness) == []
        async with hint(harness, Topic.RUNS):
            await harness.store.freezes.thaw(NS, ALL, ANNA)
        assert len(await claim(harness)) == 1

    async def test_a_thaw_of_everything_does_not_thaw_what_is_frozen_by_itself(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        for scope in (ONE, ALL):
            await harness.store.freezes.freeze(NS, scope, ANNA)
        await harness.store.freezes.thaw(NS, ALL, ANNA)
        assert await holds(harness, key) == [FROZEN]
        assert await start_ticks(harness) == []

    async def test_planning_goes_on(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.store.freezes.freeze(NS, ALL, ANNA)
        (key,) = await due_ticks(harness, 60)
        assert key == tick_key(SCHEDULE, harness.now, 1)
        await harness.store.freezes.thaw(NS, ALL, ANNA)
        assert [one.run_key for one in await start_ticks(harness)] == [key]

    async def test_a_scope_is_not_frozen_or_thawed_twice(self, harness: StoreHarness) -> None:
        freezes = harness.store.freezes
        assert [await freezes.freeze(NS, ONE, ANNA) for _ in range(2)] == [True, False]
        assert [await freezes.thaw(NS, ONE, BEN) for _ in range(2)] == [True, False]
        actions = [(one.action, one.author) for one in await entries(harness)]
        assert actions == [(Action.THAW, BEN), (Action.FREEZE, ANNA)]

    async def test_a_freeze_is_not_kept_secret(self, harness: StoreHarness) -> None:
        freezes, since = harness.store.freezes, harness.now
        for scope in (ONE, RED, ALL):
            await freezes.freeze(NS, scope, ANNA)
            await harness.advance(1)
        assert list(await freezes.all(NS)) == [
            Freeze(NS, ALL, later(since, 2), ANNA),
            Freeze(NS, RED, later(since, 1), ANNA),
            Freeze(NS, ONE, since, ANNA),
        ]
        assert list(await freezes.all(OTHER_NS)) == []

    @pytest.mark.parametrize("scope", [ALL, RED, ONE], ids=str)
    async def test_a_freeze_does_not_go_unlogged(self, harness: StoreHarness, scope: Scope) -> None:
        await harness.store.freezes.freeze(NS, scope, ANNA)
        (entry,) = await entries(harness, subject=str(scope))
        assert (entry.action, entry.at) == (Action.FREEZE, harness.now)
        assert entry.before != entry.after


async def outlook(harness: StoreHarness) -> Outlook:
    """What waits for a worker of this suite."""
    return await harness.store.ledger.outlook(claim_request())


async def known(harness: StoreHarness) -> Schedule:
    """The one schedule as the store holds it."""
    schedule = await harness.store.schedules.get(NS, SCHEDULE)
    assert schedule is not None
    return schedule
