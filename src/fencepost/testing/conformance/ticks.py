"""The behaviour of claims of ticks: the store gathers the facts, the judge decides, the store obeys."""

from __future__ import annotations

import asyncio

from fencepost.model.claiming import ClaimRequest, End, ScheduleFacts, Start, StartedRun, Verdict
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import JobName, Queue
from fencepost.model.policies import CatchUp, Overlap
from fencepost.model.run import RunState
from fencepost.testing.conformance.builders import (
    ALICE,
    BOB,
    EPOCH,
    JOB,
    MANY,
    NS,
    OTHER_JOB,
    OTHER_NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    Witness,
    at,
    claim,
    claim_request,
    claim_with,
    due_ticks,
    end_all,
    finish,
    leave_all,
    make_spec,
    plan_ticks,
    put,
    read,
    retry,
    start_all,
    start_ticks,
    states,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness

READY, RUNNING, MISSED = RunState.READY, RunState.RUNNING, RunState.MISSED


class TickContract:
    """Judged under the schedule's lock."""

    async def test_a_started_tick_is_not_silent_about_its_schedule(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(payload={"n": 1}))
        (key,) = await due_ticks(harness, 60)
        await harness.advance(5)
        (claimed,) = await start_ticks(harness)
        assert (claimed.run_key, claimed.schedule_id, claimed.version) == (key, SCHEDULE, 1)
        assert (claimed.attempt, claimed.epoch, claimed.payload) == (1, EPOCH, {"n": 1})
        assert claimed.fire_time == claimed.run_at == at(harness, -5)
        assert claimed.started_at == harness.now
        record = await read(harness, key)
        assert (record.state, record.worker) == (RUNNING, ALICE)
        assert (record.attempt, record.fence) == (1, claimed.fence)

    async def test_a_tick_is_not_started_twice(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 30, 60)
        batches = await asyncio.gather(*(start_ticks(harness, limit=1) for _ in range(4)))
        claimed = [one.run_key for batch in batches for one in batch]
        rest = [one.run_key for one in await start_ticks(harness)]
        assert len(claimed + rest) == len(set(claimed + rest)) == 2

    async def test_a_tick_without_a_verdict_stays_due(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        assert await claim_with(harness, leave_all) == []
        assert await states(harness, key) == [READY]
        assert len(await start_ticks(harness)) == 1

    async def test_an_ended_tick_does_not_run(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        assert await claim_with(harness, end_all) == []
        record = await read(harness, key)
        assert (record.state, record.reason) == (MISSED, "too late")
        assert (record.finished_at, record.attempt, record.fence) == (harness.now, 0, 0)
        assert await start_ticks(harness) == []

    async def test_one_verdict_does_not_decide_another(self, harness: StoreHarness) -> None:
        await put(harness)
        keys = await due_ticks(harness, 10, 20, 30)

        def judge(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
            return [End(keys[0], RunState.SKIPPED, "overlap"), Start(keys[2])]

        assert [one.run_key for one in await claim_with(harness, judge)] == [keys[2]]
        assert await states(harness, *keys) == [RunState.SKIPPED, READY, RUNNING]

    async def test_a_judge_that_fails_changes_nothing(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        (first,) = await plan_ticks(harness, 30)
        (second,) = await due_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        asked: list[ScheduleFacts] = []

        def judge(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
            asked.append(facts)
            if len(asked) == 2:
                raise ArithmeticError("the judge is mistaken")
            return start_all(facts, now, room)

        try:
            await claim_with(harness, judge)
        except ArithmeticError:
            pass
        else:
            raise AssertionError("the judge's fault went unnoticed")
        assert await states(harness, first, second) == [READY, READY]
        assert len(await start_ticks(harness)) == 2

    async def test_the_judge_does_not_see_the_future(self, harness: StoreHarness) -> None:
        await put(harness)
        due = await plan_ticks(harness, 10, 20)
        await plan_ticks(harness, 60)
        await harness.advance(25)
        witness = await judged(harness)
        (facts,) = witness.facts
        assert [tick.run_key for tick in facts.due] == due
        assert [tick.fire_time for tick in facts.due] == [at(harness, -15), at(harness, -5)]
        assert facts.newest_due == at(harness, -5)
        assert (facts.namespace, facts.schedule_id) == (NS, SCHEDULE)
        assert (witness.times, witness.rooms) == ([harness.now], [MANY])

    async def test_the_judge_is_not_asked_where_nothing_is_due(self, harness: StoreHarness) -> None:
        await put(harness)
        await plan_ticks(harness, 60)
        assert (await judged(harness)).facts == []

    async def test_the_judge_sees_unfinished_and_finished(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 10, 20, 30, 40)
        one, two, three, four = await start_ticks(harness)
        await plan_ticks(harness, 1)
        await harness.advance(2)
        await finish(harness, success(two.ticket))
        await harness.advance(5)
        await finish(harness, success(one.ticket))
        last_finished_at = harness.now
        await finish(harness, retry(three.ticket, in_s=600))
        (facts,) = (await judged(harness)).facts
        first_started_at = three.started_at
        assert facts.unfinished == (
            StartedRun(three.run_key, three.fire_time, first_started_at=first_started_at),
            StartedRun(four.run_key, four.fire_time, first_started_at=first_started_at),
        )
        assert facts.finished == (
            StartedRun(one.run_key, one.fire_time, last_finished_at, first_started_at=first_started_at),
            StartedRun(two.run_key, two.fire_time, at(harness, -5), first_started_at=first_started_at),
        )

    async def test_what_ended_before_anything_was_due_is_not_shown(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 10)
        (one,) = await start_ticks(harness)
        await finish(harness, success(one.ticket))
        await due_ticks(harness, 60)
        (facts,) = (await judged(harness)).facts
        assert facts.finished == ()

    async def test_a_run_that_never_started_is_not_finished(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 60)
        await claim_with(harness, end_all)
        await due_ticks(harness, 60)
        (facts,) = (await judged(harness)).facts
        assert (facts.unfinished, facts.finished, facts.previous) == ((), (), None)

    async def test_the_judge_does_not_mistake_one_schedules_runs_for_anothers(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await due_ticks(harness, 30)
        await start_ticks(harness)
        await due_ticks(harness, 30, schedule_id=OTHER_SCHEDULE)
        (facts,) = (await judged(harness)).facts
        assert facts.schedule_id == OTHER_SCHEDULE
        assert facts.unfinished == ()

    async def test_a_tick_is_judged_by_the_version_that_planned_it(self, harness: StoreHarness) -> None:
        late = CatchUp("latest", "2h")
        await put(harness, make_spec(overlap=Overlap.ALLOW, catch_up=late))
        await due_ticks(harness, 30)
        await put(harness, make_spec(overlap=Overlap.SKIP))
        await due_ticks(harness, 30)
        (facts,) = (await judged(harness)).facts
        assert [tick.overlap for tick in facts.due] == [Overlap.ALLOW, Overlap.SKIP]
        assert [tick.catch_up for tick in facts.due] == [late, CatchUp()]

    async def test_previous_is_the_last_success_and_not_the_last_failure(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 60)
        (good,) = await start_ticks(harness)
        await finish(harness, success(good.ticket))
        await due_ticks(harness, 60)
        (bad,) = await start_ticks(harness)
        assert (good.previous, bad.previous) == (None, good.fire_time)
        await finish(harness, retry(bad.ticket, in_s=600))
        await due_ticks(harness, 60)
        (next_one,) = await start_ticks(harness)
        assert next_one.previous == good.fire_time

    async def test_no_more_schedules_are_locked_than_asked_for(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await plan_ticks(harness, 60)
        await due_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        witness = Witness()
        await harness.store.ledger.claim_ticks(claim_request(), 1, witness)
        assert (len(witness.facts), witness.rooms) == (1, [1])

    async def test_the_judge_is_not_offered_more_room_than_is_left(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await plan_ticks(harness, 10, 20)
        await due_ticks(harness, 30, 40, schedule_id=OTHER_SCHEDULE)
        rooms: list[int] = []

        def judge(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
            rooms.append(room)
            return start_all(facts, now, room)

        claimed = await harness.store.ledger.claim_ticks(claim_request(), 3, judge)
        assert len(claimed) == 3
        assert rooms[0] == 3
        assert all(room <= 1 for room in rooms[1:])

    async def test_foreign_ticks_are_not_judged(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(queue=Queue("heavy")))
        await put(harness, make_spec(job=JobName("unheard-of")), OTHER_SCHEDULE)
        await plan_ticks(harness, 60)
        await due_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        assert (await judged(harness)).facts == []

    async def test_a_worker_is_not_given_the_job_of_another_version(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(job=JOB))
        (mine,) = await due_ticks(harness, 30)
        await put(harness, make_spec(job=OTHER_JOB))
        (other,) = await due_ticks(harness, 30)
        wanted = claim_request(jobs=(JOB,))
        (facts,) = (await judged(harness, wanted)).facts
        assert [tick.run_key for tick in facts.due] == [mine]
        assert facts.newest_due == harness.now
        (claimed,) = await harness.store.ledger.claim_ticks(wanted, MANY, start_all)
        assert claimed.run_key == mine
        assert await states(harness, other) == [READY]

    async def test_a_retry_is_not_judged(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 60)
        (claimed,) = await start_ticks(harness)
        await finish(harness, retry(claimed.ticket))
        assert (await judged(harness)).facts == []
        assert len(await claim(harness, BOB)) == 1

    async def test_fences_of_ticks_rise_strictly(self, harness: StoreHarness) -> None:
        await put(harness)
        fences = []
        for _ in range(3):
            await due_ticks(harness, 30, 60)
            fences += sorted(one.fence for one in await start_ticks(harness))
        assert fences == sorted(set(fences))

    async def test_one_schedules_backlog_does_not_hide_another(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await plan_ticks(harness, 10, 20, 30)
        await due_ticks(harness, 40, schedule_id=OTHER_SCHEDULE)
        witness = Witness()
        await harness.store.ledger.claim_ticks(claim_request(), 2, witness)
        assert {facts.schedule_id for facts in witness.facts} == {SCHEDULE, OTHER_SCHEDULE}


class SweepContract:
    """Late ticks are accounted for even where no worker wants them."""

    async def test_a_sweep_does_not_start_anything(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        await harness.advance(120)
        assert await harness.store.ledger.sweep_late(60, MANY, start_all) == 0
        assert await states(harness, key) == [READY]

    async def test_the_judge_of_a_sweep_is_not_offered_room(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 60)
        await harness.advance(120)
        witness = Witness()
        await harness.store.ledger.sweep_late(60, MANY, witness)
        assert (witness.rooms, witness.times) == ([0], [harness.now])

    async def test_a_sweep_does_not_miss_other_queues_jobs_and_namespaces(
        self, harness: StoreHarness
    ) -> None:
        spec = make_spec(job=JobName("unheard-of"), queue=Queue("heavy"))
        await put(harness, spec)
        await put(harness, spec, namespace=OTHER_NS)
        (mine,) = await plan_ticks(harness, 60)
        (other,) = await due_ticks(harness, 60, namespace=OTHER_NS)
        await harness.advance(120)
        assert await harness.store.ledger.sweep_late(60, MANY, end_all) == 2
        record = await read(harness, mine)
        assert (record.state, record.reason, record.finished_at) == (
            MISSED,
            "too late",
            harness.now,
        )
        assert (await read(harness, other, OTHER_NS)).state is MISSED

    async def test_a_sweep_does_not_look_at_what_is_hardly_late(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 60)
        await harness.advance(59)
        witness = Witness()
        assert await harness.store.ledger.sweep_late(60, MANY, witness) == 0
        assert witness.facts == []

    async def test_a_sweep_does_not_touch_retries_and_running_runs(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 30, 60)
        one, two = await start_ticks(harness)
        await finish(harness, retry(one.ticket))
        await harness.advance(3600)
        assert await harness.store.ledger.sweep_late(60, MANY, end_all) == 0
        assert await states(harness, one.run_key, two.run_key) == [READY, RUNNING]

    async def test_a_sweep_does_not_exceed_its_limit_of_schedules(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await plan_ticks(harness, 30, 60)
        await due_ticks(harness, 30, 60, schedule_id=OTHER_SCHEDULE)
        await harness.advance(3600)
        counts = [await harness.store.ledger.sweep_late(60, 1, end_all) for _ in range(3)]
        assert counts == [2, 2, 0]


async def judged(harness: StoreHarness, wanted: ClaimRequest | None = None) -> Witness:
    """What a judge gets to see."""
    witness = Witness()
    await harness.store.ledger.claim_ticks(wanted or claim_request(), MANY, witness)
    return witness
