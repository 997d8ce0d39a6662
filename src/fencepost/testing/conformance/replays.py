"""The behaviour of replays: an ended run goes on its way again, under its own key and by no other."""

from __future__ import annotations

import pytest

from fencepost.model.identifiers import RunKey
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.model.policies import CatchUp
from fencepost.model.run import Claim, Hold, Origin, ProgressReport, Receipt, RunState
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_NS,
    SCHEDULE,
    at,
    claim,
    claim_one,
    claim_request,
    claim_with,
    death,
    due_ticks,
    end_all,
    enqueue,
    expired,
    finish,
    make_spec,
    plan_ticks,
    put,
    read,
    retry,
    start_tick,
    start_ticks,
    states,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, claim_judged, entries, facts_of
from fencepost.testing.conformance.signals import hint

READY, RUNNING, SUCCEEDED = RunState.READY, RunState.RUNNING, RunState.SUCCEEDED


class ReplayContract:
    """What comes back, and how."""

    async def test_what_ended_otherwise_is_not_replayed(self, harness: StoreHarness) -> None:
        dead, fine = await enqueue(harness, "one", "two")
        for claimed in await claim(harness):
            await finish(
                harness, death(claimed.ticket) if claimed.run_key == dead else success(claimed.ticket)
            )
        only = frozenset({RunState.DEAD})
        assert await harness.store.ledger.replay(NS, [dead, fine], 0.0, ANNA, only=only) == [dead]
        assert await states(harness, dead, fine) == [READY, SUCCEEDED]

    async def test_replays_are_not_due_before_the_first_may_be(self, harness: StoreHarness) -> None:
        keys = await enqueue(harness, "one", "two")
        for claimed in await claim(harness):
            await finish(harness, death(claimed.ticket))
        await harness.store.ledger.replay(NS, keys, 5.0, ANNA, first_in_s=30.0)
        due = [(await read(harness, key)).run_at for key in keys]
        assert due == [at(harness, 30), at(harness, 35)]

    async def test_a_replayed_run_is_not_a_new_one(self, harness: StoreHarness) -> None:
        dead = await dead_tick(harness)
        await harness.advance(100)
        assert await replay(harness, dead.run_key) == [dead.run_key]
        run = await read(harness, dead.run_key)
        assert (run.state, run.origin, run.priority) == (READY, Origin.REPLAY, PRIORITY_BEHIND)
        assert (run.attempt, run.attempts_before_replay, run.fence) == (1, 1, 0)
        assert (run.run_at, run.fire_time, run.held) == (harness.now, dead.fire_time, Hold.NONE)
        assert (run.started_at, run.finished_at, run.first_started_at) == (None, None, None)
        assert (run.worker, run.error, run.reason, run.progress) == (None, None, None, None)

    async def test_a_replayed_run_does_not_lose_its_attempts(self, harness: StoreHarness) -> None:
        dead = await dead_tick(harness)
        await replay(harness, dead.run_key)
        (again,) = await start_ticks(harness)
        assert (again.run_key, again.attempt, again.attempts_before_replay) == (dead.run_key, 2, 1)
        assert again.fence > dead.fence
        assert again.first_started_at == again.started_at == harness.now
        await finish(harness, death(again.ticket, "boom again"))
        kept = await harness.store.ledger.attempts(NS, dead.run_key)
        assert [(one.attempt, one.error) for one in kept] == [(1, "boom"), (2, "boom again")]

    async def test_a_second_replay_counts_on(self, harness: StoreHarness) -> None:
        dead = await dead_tick(harness)
        for number in (2, 3):
            await replay(harness, dead.run_key)
            (again,) = await start_ticks(harness)
            assert (again.attempt, again.attempts_before_replay) == (number, number - 1)
            await finish(harness, death(again.ticket))

    async def test_an_old_ticket_is_not_good_for_a_replayed_run(self, harness: StoreHarness) -> None:
        dead = await dead_tick(harness)
        await replay(harness, dead.run_key)
        assert await finish(harness, success(dead.ticket)) is Receipt.REFUSED
        await start_ticks(harness)
        assert await finish(harness, success(dead.ticket)) is Receipt.REFUSED
        assert await states(harness, dead.run_key) == [RUNNING]

    async def test_a_replayed_tick_does_not_escape_its_judge(self, harness: StoreHarness) -> None:
        dead = await dead_tick(harness)
        await replay(harness, dead.run_key)
        assert await claim(harness) == []
        (tick,) = (await facts_of(harness)).due
        assert (tick.run_key, tick.origin) == (dead.run_key, Origin.REPLAY)

    async def test_a_replayed_tick_is_not_too_late(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(catch_up=CatchUp("none", "1m")))
        (key,) = await due_ticks(harness, 60)
        await harness.advance(3600)
        await claim_judged(harness)
        assert await states(harness, key) == [RunState.MISSED]
        await replay(harness, key)
        await harness.advance(3600)
        assert [one.run_key for one in await claim_judged(harness)] == [key]

    async def test_a_replayed_run_by_hand_needs_no_judge(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        await replay(harness, claimed.run_key)
        (again,) = await claim(harness)
        assert (again.attempt, again.attempts_before_replay, again.first_started_at) == (2, 1, harness.now)

    async def test_a_replayed_run_is_not_the_last_success(self, harness: StoreHarness) -> None:
        good = await start_tick(harness)
        await finish(harness, success(good.ticket))
        await replay(harness, good.run_key)
        facts = await facts_of(harness)
        assert (facts.previous, facts.finished, facts.unfinished) == (None, (), ())

    async def test_a_replayed_run_is_not_asked_to_stop_any_more(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
        await finish(harness, retry(claimed.ticket))
        assert await states(harness, claimed.run_key) == [RunState.CANCELLED]
        await replay(harness, claimed.run_key)
        assert not (await read(harness, claimed.run_key)).cancel_requested

    async def test_a_replay_does_not_forget_its_new_round_at_a_rescue(self, harness: StoreHarness) -> None:
        dead = await dead_tick(harness)
        await replay(harness, dead.run_key)
        await start_ticks(harness)
        await harness.advance(3600)
        (found,) = await expired(harness)
        assert found.attempts_before_replay == 1

    async def test_whatever_has_not_ended_is_not_replayed(self, harness: StoreHarness) -> None:
        await put(harness)
        waiting, ahead = await plan_ticks(harness, 30, 600)
        await harness.advance(30)
        running = await claim_one(harness)
        assert await replay(harness, waiting, ahead, running.run_key, RunKey("absent#1")) == []
        assert await states(harness, waiting, ahead) == [READY, RunState.PLANNED]
        assert (await read(harness, waiting)).origin is Origin.LIVE

    async def test_a_withdrawn_run_is_not_replayed(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        assert await replay(harness, key) == []
        assert await states(harness, key) == [RunState.WITHDRAWN]

    async def test_a_stripped_run_by_hand_is_not_replayed(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        await harness.advance(100)
        await harness.store.ledger.forget(10, MANY)
        assert await replay(harness, claimed.run_key) == []
        assert await states(harness, claimed.run_key) == [SUCCEEDED]

    async def test_a_run_of_another_namespace_is_not_replayed(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        assert list(await harness.store.ledger.replay(OTHER_NS, [claimed.run_key], 0.0, ANNA)) == []

    @pytest.mark.parametrize("how", ["skipped", "missed", "cancelled", "succeeded"])
    async def test_no_other_end_is_beyond_a_replay(self, harness: StoreHarness, how: str) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        await end_as(harness, key, RunState(how))
        assert await states(harness, key) == [RunState(how)]
        assert await replay(harness, key) == [key]
        assert [one.run_key for one in await start_ticks(harness)] == [key]

    async def test_many_replays_do_not_come_at_once(self, harness: StoreHarness) -> None:
        keys = await enqueue(harness, "one", "two", "three")
        for claimed in await claim(harness):
            await finish(harness, success(claimed.ticket))
        waiting = await enqueue(harness, "waiting")
        sent = await harness.store.ledger.replay(NS, [keys[0], *waiting, *keys[1:], keys[0]], 30.0, ANNA)
        assert list(sent) == keys
        due = [(await read(harness, key)).run_at for key in keys]
        assert [one - due[0] for one in due] == [at(harness, 30 * nth) - harness.now for nth in range(3)]
        assert harness.now <= due[0] <= at(harness, 30)
        assert await states(harness, *keys) == [READY] * 3

    async def test_a_replay_does_not_wait_for_the_poll(self, harness: StoreHarness) -> None:
        dead = await dead_tick(harness)
        async with hint(harness, Topic.RUNS):
            await replay(harness, dead.run_key)

    async def test_a_replay_does_not_go_unnoticed(self, harness: StoreHarness) -> None:
        dead = await dead_tick(harness)
        await replay(harness, dead.run_key)
        await replay(harness, dead.run_key)
        (entry,) = await entries(harness, subject=dead.run_key)
        assert (entry.action, entry.author, entry.at) == ("run.replay", ANNA, harness.now)
        assert (entry.before["state"], entry.after["state"]) == ("dead", "ready")

    async def test_a_replayed_run_does_not_run_before_live_work(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        await replay(harness, claimed.run_key)
        await harness.advance(10)
        (young,) = await enqueue(harness, "young", priority=4)
        (first,) = await harness.store.ledger.claim_direct(claim_request(), 1)
        assert first.run_key == young


async def replay(harness: StoreHarness, *keys: RunKey) -> list[RunKey]:
    """Send runs on their way again, all at once."""
    return list(await harness.store.ledger.replay(NS, keys, 0.0, ANNA))


async def dead_tick(harness: StoreHarness) -> Claim:
    """A tick whose one attempt failed for good."""
    claimed = await start_tick(harness)
    await harness.store.ledger.report_progress([ProgressReport(claimed.ticket, "half way")])
    await finish(harness, death(claimed.ticket))
    return claimed


async def end_as(harness: StoreHarness, key: RunKey, state: RunState) -> None:
    """Have a due tick end in that state."""
    match state:
        case RunState.SKIPPED:
            await harness.store.ledger.skip(NS, key, ANNA)
        case RunState.CANCELLED:
            await harness.store.ledger.cancel(NS, key, "not this one")
        case RunState.MISSED:
            await claim_with(harness, end_all)
        case _:
            (claimed,) = await start_ticks(harness)
            await finish(harness, success(claimed.ticket))
