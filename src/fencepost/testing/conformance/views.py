"""The behaviour of what boards and live streams read."""

from __future__ import annotations

from datetime import timedelta

from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, Namespace, ScheduleId
from fencepost.model.run import Origin, RunState
from fencepost.model.views import (
    ERROR_SHOWN_MAX,
    Attention,
    News,
    RunMark,
    Standing,
    TrafficBucket,
    bucket_start,
)
from fencepost.testing.conformance.builders import (
    ALICE,
    JOB,
    MANY,
    NS,
    OTHER_JOB,
    OTHER_NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    at,
    claim,
    claim_one,
    claim_request,
    close_to,
    death,
    due_ticks,
    end_all,
    enqueue,
    finish,
    plan_ticks,
    put,
    read,
    register,
    retry,
    shard_for,
    start_ticks,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, park

LONG_S = 1_000_000.0


class StripContract:
    """The last runs of many schedules."""

    async def test_a_strip_has_the_last_runs_and_not_the_first(self, harness: StoreHarness) -> None:
        await put(harness)
        keys = await due_ticks(harness, 60, 120, 180)
        marks = await strip(harness, 2)
        assert [one.run_key for one in marks] == keys[1:]
        assert [one.state for one in marks] == [RunState.READY, RunState.READY]

    async def test_a_tick_that_has_not_fired_is_in_no_strip(self, harness: StoreHarness) -> None:
        await put(harness)
        keys = await plan_ticks(harness, 60, 120)
        assert await strip(harness) == []
        await harness.advance(60)
        assert [one.run_key for one in await strip(harness)] == keys[:1]

    async def test_a_schedule_is_not_given_the_runs_of_another(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await put(harness, namespace=OTHER_NS)
        mine = await plan_ticks(harness, 60)
        others = await plan_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        await plan_ticks(harness, 50, namespace=OTHER_NS)
        await harness.advance(60)
        wanted = [OTHER_SCHEDULE, SCHEDULE, SCHEDULE, ScheduleId("absent")]
        found = await harness.store.ledger.strips(NS, wanted, MANY)
        assert {one: [mark.run_key for mark in marks] for one, marks in found.items()} == {
            SCHEDULE: mine,
            OTHER_SCHEDULE: others,
        }

    async def test_a_mark_does_not_lose_how_late_it_was_and_how_long_it_took(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        fired = harness.now
        await harness.advance(1.25)
        (claimed,) = await start_ticks(harness)
        (running,) = await strip(harness)
        assert running == RunMark(key, fired, RunState.RUNNING, Origin.LIVE, 1.25, None, 1)
        await harness.advance(2.5)
        await finish(harness, success(claimed.ticket))
        (ended,) = await strip(harness)
        assert ended == RunMark(key, fired, RunState.SUCCEEDED, Origin.LIVE, 1.25, 2.5, 1)


class TrafficContract:
    """What fired of late, counted."""

    async def test_no_run_is_counted_in_another_bucket(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.advance(60 - (harness.now.timestamp() % 60))
        start = harness.now
        await due_ticks(harness, 60, 119, 120, 130)
        buckets = await harness.store.ledger.traffic(NS, 60, 60)
        # The first bucket is whole, though only its last part lies in what was asked for.
        assert [one.at for one in buckets] == [start + timedelta(seconds=60 * n) for n in (1, 2)]
        assert [one.counts for one in buckets] == [{RunState.READY: 2}, {RunState.READY: 2}]

    async def test_a_bucket_in_which_nothing_fired_is_not_left_out(self, harness: StoreHarness) -> None:
        buckets = await harness.store.ledger.traffic(NS, 600, 60)
        first = bucket_start(harness.now - timedelta(seconds=600), 60)
        assert list(buckets) == [TrafficBucket(first + timedelta(seconds=60 * n)) for n in range(11)]

    async def test_lateness_is_not_an_average(self, harness: StoreHarness) -> None:
        keys = await enqueue(harness, *(f"run-{number}" for number in range(20)))
        for _ in keys:
            await harness.advance(1)
            assert len(await claim(harness, limit=1)) == 1
        every = await harness.store.ledger.traffic(NS, 60, 3_600)
        (bucket,) = [one for one in every if one.counts]
        assert bucket.counts == {RunState.RUNNING: 20}
        assert (bucket.late_p50_s, bucket.late_p95_s, bucket.late_max_s) == (10.0, 19.0, 20.0)

    async def test_how_long_runs_took_is_not_an_average(self, harness: StoreHarness) -> None:
        await enqueue(harness, *(f"run-{number}" for number in range(20)))
        claimed = await claim(harness, limit=20)
        for one in claimed:
            await harness.advance(1)
            await finish(harness, success(one.ticket))
        every = await harness.store.ledger.traffic(NS, 60, 3_600)
        (bucket,) = [one for one in every if one.counts]
        assert (bucket.took_p50_s, bucket.took_p95_s, bucket.took_max_s) == (10.0, 19.0, 20.0)

    async def test_a_run_that_goes_on_has_not_taken_any_time(self, harness: StoreHarness) -> None:
        await enqueue(harness, "run-1")
        await claim(harness)
        await harness.advance(5)
        (bucket,) = [one for one in await harness.store.ledger.traffic(NS, 60, 3_600) if one.counts]
        assert (bucket.took_p50_s, bucket.took_p95_s, bucket.took_max_s) == (None, None, None)

    async def test_a_retry_does_not_hide_how_late_the_first_attempt_was(self, harness: StoreHarness) -> None:
        """Not while it waits for its next attempt, nor once it was called off or has begun again."""
        await put(harness)
        keys = await due_ticks(harness, 30, 60)
        for claimed in await start_ticks(harness):
            await finish(harness, retry(claimed.ticket, in_s=300))
        await harness.store.ledger.cancel(NS, keys[0], "not wanted")
        (bucket,) = [one for one in await harness.store.ledger.traffic(NS, 60, 3_600) if one.counts]
        assert (bucket.late_p50_s, bucket.late_p95_s, bucket.late_max_s) == (0.0, 30.0, 30.0)
        marks = [(one.state, one.attempt, one.late_s) for one in await strip(harness)]
        assert marks == [(RunState.CANCELLED, 1, 30.0), (RunState.READY, 1, 0.0)]
        await harness.advance(301)
        (again,) = await claim(harness)
        await finish(harness, retry(again.ticket, in_s=300))
        run = await read(harness, again.run_key)
        assert (run.attempt, run.due_at, run.late_s) == (2, at(harness, -301), 0.0)

    async def test_what_did_not_begin_has_no_lateness(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 60)
        await harness.store.ledger.claim_ticks(claim_request(), MANY, end_all)
        (bucket,) = [one for one in await harness.store.ledger.traffic(NS, 60, 3_600) if one.counts]
        assert bucket.counts == {RunState.MISSED: 1}
        assert (bucket.late_p50_s, bucket.late_p95_s, bucket.late_max_s) == (None, None, None)

    async def test_jobs_are_not_tallied_together(self, harness: StoreHarness) -> None:
        await enqueue(harness, "one", "two")
        await enqueue(harness, "three", job=OTHER_JOB)
        await enqueue(harness, "four", namespace=OTHER_NS)
        first, *_ = await claim(harness)
        await finish(harness, success(first.ticket))
        await enqueue(harness, "five", run_at=at(harness, 60))
        expected: dict[JobName, dict[RunState, int]] = {
            JOB: {RunState.RUNNING: 1, RunState.SUCCEEDED: 1},
            OTHER_JOB: {RunState.RUNNING: 1},
        }
        tallied = await harness.store.ledger.tally_by_job(NS, 60)
        assert {job: dict(counts) for job, counts in tallied.items()} == expected

    async def test_only_what_a_worker_should_have_taken_by_now_is_overdue(
        self, harness: StoreHarness
    ) -> None:
        overdue = harness.store.ledger.overdue
        await put(harness)
        await due_ticks(harness, 1)
        await enqueue(harness, "direct")
        await enqueue(harness, "other", namespace=OTHER_NS)
        await enqueue(harness, "later", run_at=at(harness, 3_600))
        assert await overdue(NS, 3_600, 60) == 0
        await harness.advance(61)
        assert await overdue(NS, 3_600, 60) == 2
        assert await overdue(NS, 3_600, 300) == 0
        assert await overdue(NS, 30, 0) == 0

    async def test_what_is_held_or_frozen_is_not_overdue(self, harness: StoreHarness) -> None:
        store = harness.store
        await put(harness)
        await due_ticks(harness, 1)
        (direct,) = await enqueue(harness, "direct")
        await harness.advance(61)
        for scope in (Scope(ScopeKind.ALL), Scope(ScopeKind.QUEUE, DEFAULT_QUEUE)):
            await store.freezes.freeze(NS, scope, ANNA)
            assert await store.ledger.overdue(NS, 3_600, 60) == 0
            await store.freezes.thaw(NS, scope, ANNA)
            assert await store.ledger.overdue(NS, 3_600, 60) == 2
        await store.freezes.freeze(NS, Scope(ScopeKind.SCHEDULE, SCHEDULE), ANNA)
        assert await store.ledger.overdue(NS, 3_600, 60) == 1
        await store.ledger.hold(NS, direct, ANNA)
        assert await store.ledger.overdue(NS, 3_600, 60) == 0

    async def test_what_runs_and_what_waits_for_its_retry_is_not_overdue(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness, "one")
        await harness.advance(61)
        assert await harness.store.ledger.overdue(NS, 3_600, 60) == 0
        await finish(harness, retry(claimed.ticket, 100))
        await harness.advance(99)
        assert await harness.store.ledger.overdue(NS, 3_600, 60) == 0
        await harness.advance(62)
        assert await harness.store.ledger.overdue(NS, 3_600, 60) == 1

    async def test_what_fired_long_ago_is_not_tallied(self, harness: StoreHarness) -> None:
        await enqueue(harness, "one")
        await harness.advance(61)
        assert await harness.store.ledger.tally_by_job(NS, 60) == {}


class NewsContract:
    """What happened since a moment, for all namespaces at once."""

    async def test_what_began_or_ended_is_not_left_out(self, harness: StoreHarness) -> None:
        first = await claim_one(harness, "one")
        await harness.advance(1)
        await finish(harness, success(first.ticket))
        await harness.advance(1)
        second = await claim_one(harness, "two")
        told = (await news(harness)).runs
        assert [(one.run_key, one.state) for one in told] == [
            (second.run_key, RunState.RUNNING),
            (first.run_key, RunState.SUCCEEDED),
        ]
        assert [one.at for one in told] == [harness.now, at(harness, -1)]
        assert [(one.fence, one.worker) for one in told] == [(second.fence, ALICE), (first.fence, ALICE)]

    async def test_what_happened_before_is_not_told(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        assert (await harness.store.ledger.news(harness.now, MANY, [NS])).runs == ()
        await harness.advance(1)
        await finish(harness, success(claimed.ticket))
        assert (await harness.store.ledger.news(harness.now, MANY, [NS])).runs == ()
        assert len((await harness.store.ledger.news(at(harness, -1), MANY, [NS])).runs) == 1

    async def test_a_run_that_failed_for_now_does_not_go_on_running(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await harness.advance(1)
        await finish(harness, retry(claimed.ticket, in_s=60, error="boom\nat line 3"))
        (told,) = (await news(harness)).runs
        assert (told.state, told.attempt, told.error) == (RunState.READY, 1, "boom")
        assert (told.run_at, told.late_s, told.at) == (at(harness, 60), 0.0, harness.now)

    async def test_a_long_error_does_not_come_whole(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, death(claimed.ticket, "x" * 1_000))
        (told,) = (await news(harness)).runs
        assert told.error == "x" * ERROR_SHOWN_MAX

    async def test_more_than_was_asked_for_is_not_cut_in_silence(self, harness: StoreHarness) -> None:
        await enqueue(harness, "one", "two", "three")
        await claim(harness)
        assert not (await harness.store.ledger.news(at(harness, -LONG_S), 3, [NS])).cut
        found = await harness.store.ledger.news(at(harness, -LONG_S), 2, [NS])
        assert (found.cut, len(found.runs)) == (True, 2)

    async def test_a_tick_that_ended_without_a_start_is_not_left_out(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        await harness.store.ledger.claim_ticks(claim_request(), MANY, end_all)
        (told,) = (await news(harness)).runs
        assert (told.run_key, told.state, told.schedule_id) == (key, RunState.MISSED, SCHEDULE)

    async def test_one_namespace_does_not_count_for_another(self, harness: StoreHarness) -> None:
        await put(harness)
        changed = harness.now
        keys = await enqueue(harness, "one", "two", "three", "four")
        await enqueue(harness, "other", namespace=OTHER_NS)
        await enqueue(harness, "later", run_at=at(harness, 600))
        await harness.store.ledger.hold(NS, keys[0], ANNA)
        await harness.advance(5)
        first, _ = await claim(harness, limit=2)
        await finish(harness, death(first.ticket))
        found = (await news(harness)).standings
        assert set(found) == {NS, OTHER_NS}
        assert found[NS] == Standing(1, 1, 1, 1, 0, 5.0, changed)
        assert found[OTHER_NS] == Standing(1, 0, 0, 0, 0, 5.0, None)

    async def test_a_namespace_that_is_not_asked_for_is_not_told_of(self, harness: StoreHarness) -> None:
        await enqueue(harness, "theirs", namespace=OTHER_NS)
        await claim_one(harness, "mine")
        found = await harness.store.ledger.news(at(harness, -LONG_S), MANY, [OTHER_NS])
        assert (found.runs, set(found.standings), found.standings[OTHER_NS].ready) == ((), {OTHER_NS}, 1)
        nowhere = await harness.store.ledger.news(at(harness, -LONG_S), MANY, [Namespace("nowhere")])
        assert (nowhere.runs, dict(nowhere.standings)) == ((), {"nowhere": Standing()})

    async def test_what_waits_for_its_turn_does_not_wait_for_a_person(self, harness: StoreHarness) -> None:
        await put(harness)
        first, second = await due_ticks(harness, 30, 60)
        await park(harness, second)
        await harness.store.ledger.hold(NS, first, ANNA)
        await enqueue(harness, "one", "two", "three")
        for claimed in await claim(harness):
            await finish(harness, death(claimed.ticket))
        ledger = harness.store.ledger
        assert await ledger.attention(NS, MANY) == Attention(harness.now, dead=3, held=1)
        assert await ledger.attention(NS, 2) == Attention(harness.now, dead=2, held=1)
        assert await ledger.attention(OTHER_NS, MANY) == Attention(harness.now)

    async def test_the_oldest_is_not_hidden_by_a_lane_before_it(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 30)
        await enqueue(harness, "low", priority=5)
        await harness.advance(10)
        await enqueue(harness, "high", priority=1)
        standing = (await news(harness)).standings[NS]
        assert standing.ready == 3
        assert close_to(standing.oldest_ready_s or 0.0, 10)

    async def test_a_change_of_hands_does_not_go_unseen(self, harness: StoreHarness) -> None:
        assert (await news(harness)).leases_at is None
        await harness.advance(5)
        await register(harness.store, shard_for(harness), 3)
        found = await news(harness)
        assert (found.leases_at, found.at) == (harness.now, harness.now)


async def strip(harness: StoreHarness, each: int = MANY) -> list[RunMark]:
    """The last runs of the one schedule."""
    return list((await harness.store.ledger.strips(NS, [SCHEDULE], each)).get(SCHEDULE, []))


async def news(harness: StoreHarness) -> News:
    """Everything that ever happened."""
    return await harness.store.ledger.news(at(harness, -LONG_S), MANY, [NS, OTHER_NS])
