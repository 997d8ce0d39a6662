"""The behaviour of verdicts: the store does what the judge said, all of it, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.claiming import FINISHED_KEPT, Admit, DueTick, End, Start, StartedRun, Stop, Wait
from fencepost.model.identifiers import Queue
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.model.plan import Fate, Tick
from fencepost.model.policies import BUFFER_MAX, CatchUp
from fencepost.model.run import Hold, Origin, ProgressReport, Receipt, RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.testing.conformance.builders import (
    BOB,
    JOB,
    MANY,
    NS,
    SCHEDULE,
    Witness,
    at,
    claim,
    claim_request,
    due_ticks,
    finish,
    make_plan,
    make_spec,
    plan_ticks,
    put,
    read,
    read_cursor,
    retry,
    start_tick,
    start_ticks,
    states,
    success,
    write,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import (
    ANNA,
    admit,
    decide,
    facts_of,
    holds,
    is_anything_due,
    is_asked,
    park,
)
from fencepost.triggers import Every

HEAVY = Queue("heavy")
READY, RUNNING, CANCELLED = RunState.READY, RunState.RUNNING, RunState.CANCELLED


class VerdictContract:
    """Admit, wait, end, start."""

    async def test_an_admitted_tick_does_not_start_and_does_not_stay_live(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        assert await decide(harness, Admit(key)) == []
        run = await read(harness, key)
        assert (run.state, run.origin, run.priority) == (READY, Origin.CATCH_UP, PRIORITY_BEHIND)
        assert (run.held, run.fence, run.run_at) == (Hold.NONE, 0, run.fire_time)

    async def test_an_admitted_tick_is_not_lost(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(catch_up=CatchUp("parallel(3)")))
        (key,) = await due_ticks(harness, 60)
        await admit(harness, key)
        (tick,) = (await facts_of(harness)).due
        assert (tick.run_key, tick.origin, tick.at_once_max) == (key, Origin.CATCH_UP, 3)
        assert [one.run_key for one in await start_ticks(harness)] == [key]

    async def test_an_admitted_tick_does_not_come_before_live_work(self, harness: StoreHarness) -> None:
        await put(harness)
        late, young = await due_ticks(harness, 30, 60)
        await decide(harness, Admit(late))
        assert [tick.run_key for tick in (await facts_of(harness)).due] == [young, late]

    async def test_a_tick_that_is_admitted_behind_the_gate_is_not_due(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        await decide(harness, Admit(key, held=True))
        assert await holds(harness, key) == [Hold.GATE]
        assert not await is_anything_due(harness)
        assert not await is_asked(harness)

    async def test_a_tick_that_is_admitted_and_waits_is_not_due_by_itself(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        await decide(harness, Admit(key, waits="waits behind another"))
        run = await read(harness, key)
        assert (run.origin, run.priority) == (Origin.CATCH_UP, PRIORITY_BEHIND)
        assert (run.held, run.reason) == (Hold.PARKED, "waits behind another")
        assert not await is_anything_due(harness)
        assert not await is_asked(harness)

    async def test_a_waiting_tick_is_not_due_by_itself(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        await decide(harness, Wait(key, "waits behind another"))
        run = await read(harness, key)
        assert (run.state, run.held, run.reason) == (READY, Hold.PARKED, "waits behind another")
        assert not await is_anything_due(harness)
        assert not await is_asked(harness)

    async def test_a_waiting_tick_is_not_hidden_when_its_schedule_is_judged(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (parked,) = await due_ticks(harness, 30)
        await park(harness, parked)
        (young,) = await due_ticks(harness, 30)
        due = (await facts_of(harness)).due
        assert [(tick.run_key, tick.parked) for tick in due] == [(parked, True), (young, False)]

    async def test_a_waiting_tick_that_starts_is_not_parked_any_more(self, harness: StoreHarness) -> None:
        await put(harness)
        (parked,) = await due_ticks(harness, 30)
        await park(harness, parked)
        await due_ticks(harness, 30)
        (claimed,) = await decide(harness, Start(parked))
        run = await read(harness, parked)
        assert (claimed.run_key, run.state, run.held) == (parked, RUNNING, Hold.NONE)

    async def test_an_end_does_not_forget_whom_it_met(self, harness: StoreHarness) -> None:
        first = await start_tick(harness)
        (key,) = await due_ticks(harness, 60)
        await decide(harness, End(key, RunState.SKIPPED, "overlap", blocked_by=first.run_key))
        run = await read(harness, key)
        assert (run.state, run.reason, run.blocked_by) == (RunState.SKIPPED, "overlap", first.run_key)
        assert (await read(harness, first.run_key)).blocked_by is None

    async def test_an_ended_tick_is_not_held_any_more(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 30)
        await park(harness, key)
        await due_ticks(harness, 30)
        await decide(harness, End(key, RunState.SKIPPED, "overlap"))
        assert await holds(harness, key) == [Hold.NONE]

    async def test_when_a_run_began_does_not_change_with_its_retries(self, harness: StoreHarness) -> None:
        first = await start_tick(harness)
        began = harness.now
        assert (first.first_started_at, (await read(harness, first.run_key)).first_started_at) == (
            began,
            began,
        )
        await harness.advance(5)
        await finish(harness, retry(first.ticket))
        (second,) = await claim(harness)
        assert (second.first_started_at, second.started_at) == (began, harness.now)

    async def test_a_sweep_counts_what_it_admits_and_starts_nothing(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        await harness.advance(120)
        ledger = harness.store.ledger
        assert await ledger.sweep_late(60, MANY, lambda facts, now, room: [Admit(key)]) == 1
        assert (await read(harness, key)).origin is Origin.CATCH_UP

    async def test_a_sweep_does_not_count_what_it_lets_wait(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        await harness.advance(120)
        ledger = harness.store.ledger
        assert await ledger.sweep_late(60, MANY, lambda facts, now, room: [Wait(key, "waits")]) == 0
        assert await holds(harness, key) == [Hold.PARKED]


class StopContract:
    """Runs that have to make way."""

    async def test_a_run_stopped_at_once_does_not_keep_its_ticket(self, harness: StoreHarness) -> None:
        old = await start_tick(harness)
        (key,) = await due_ticks(harness, 60)
        (new,) = await decide(harness, Stop(old.run_key, "terminated", at_once=True), Start(key))
        run = await read(harness, old.run_key)
        assert (run.state, run.reason, run.finished_at) == (CANCELLED, "terminated", harness.now)
        assert run.fence > old.fence
        assert new.run_key == key
        ledger = harness.store.ledger
        assert await finish(harness, success(old.ticket)) is Receipt.REFUSED
        assert list(await ledger.report_progress([ProgressReport(old.ticket, "half")])) == [False]
        assert [one.owned for one in await ledger.pulse([old.ticket], 30)] == [False]
        assert await states(harness, old.run_key, key) == [CANCELLED, RUNNING]

    async def test_an_attempt_that_was_stopped_at_once_is_not_forgotten(self, harness: StoreHarness) -> None:
        old = await start_tick(harness)
        await due_ticks(harness, 60)
        await decide(harness, Stop(old.run_key, "terminated by another", at_once=True))
        (attempt,) = await harness.store.ledger.attempts(NS, old.run_key)
        assert (attempt.attempt, attempt.fence, attempt.outcome) == (1, old.fence, "terminated")

    async def test_a_retry_that_is_stopped_at_once_has_no_attempt_more(self, harness: StoreHarness) -> None:
        old = await start_tick(harness)
        await finish(harness, retry(old.ticket, in_s=600))
        await due_ticks(harness, 60)
        await decide(harness, Stop(old.run_key, "terminated", at_once=True))
        run = await read(harness, old.run_key)
        assert (run.state, run.reason) == (CANCELLED, "terminated")
        assert run.fence > old.fence
        outcomes = [one.outcome for one in await harness.store.ledger.attempts(NS, old.run_key)]
        assert outcomes == ["failed"]

    async def test_a_run_that_is_asked_to_stop_is_not_ended(self, harness: StoreHarness) -> None:
        old = await start_tick(harness)
        (key,) = await due_ticks(harness, 60)
        await decide(harness, Stop(old.run_key, "make way", at_once=False), Wait(key, "waits"))
        run = await read(harness, old.run_key)
        assert (run.state, run.fence, run.cancel_requested) == (RUNNING, old.fence, True)
        (pulse,) = await harness.store.ledger.pulse([old.ticket], 30)
        assert (pulse.owned, pulse.cancel_requested) == (True, True)
        await due_ticks(harness, 60)
        (unfinished,) = (await facts_of(harness)).unfinished
        assert unfinished.cancel_requested

    async def test_a_retry_that_is_asked_to_stop_does_not_run_again(self, harness: StoreHarness) -> None:
        old = await start_tick(harness)
        await finish(harness, retry(old.ticket))
        await due_ticks(harness, 60)
        await decide(harness, Stop(old.run_key, "make way", at_once=False))
        run = await read(harness, old.run_key)
        assert (run.state, run.reason) == (CANCELLED, "make way")
        assert await claim(harness, BOB) == []

    async def test_a_stopped_run_is_not_unfinished_any_more(self, harness: StoreHarness) -> None:
        old = await start_tick(harness)
        await due_ticks(harness, 60)
        await harness.advance(1)
        await decide(harness, Stop(old.run_key, "terminated", at_once=True))
        facts = await facts_of(harness)
        assert facts.unfinished == ()
        assert [one.run_key for one in facts.finished] == [old.run_key]


class FactContract:
    """What the judge gets to know."""

    async def test_a_due_tick_comes_with_all_that_is_known_of_it(self, harness: StoreHarness) -> None:
        spec = make_spec(catch_up=CatchUp("sequential", "2h"))
        await put(harness, spec)
        (key,) = await due_ticks(harness, 60)
        (tick,) = (await facts_of(harness)).due
        due = DueTick(key, harness.now, harness.now, spec.overlap, spec.catch_up)
        assert tick == replace(due, at_once_max=tick.at_once_max)

    async def test_unfinished_runs_come_by_fire_time_and_with_their_origin(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        first, second = await due_ticks(harness, 30, 60)
        await decide(harness, Admit(first), Start(second))
        await decide(harness, Start(first))
        await due_ticks(harness, 60)
        facts = await facts_of(harness)
        first_started_at = at(harness, -60)
        assert facts.unfinished == (
            StartedRun(first, at(harness, -90), origin=Origin.CATCH_UP, first_started_at=first_started_at),
            StartedRun(second, at(harness, -60), first_started_at=first_started_at),
        )

    async def test_a_run_that_starts_does_not_say_that_it_waits(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        (tick,) = await due_ticks(harness, 60)
        await decide(harness, Wait(tick, f"waits behind {claimed.run_key}"))
        await finish(harness, success(claimed.ticket))
        await decide(harness, Start(tick))
        assert (await read(harness, tick)).reason is None

    async def test_finished_runs_are_the_latest_and_not_all(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, *range(10, 10 * (FINISHED_KEPT + 3), 10))
        claims = await start_ticks(harness)
        await plan_ticks(harness, 0.5)
        for one in claims:
            await harness.advance(1)
            await finish(harness, success(one.ticket))
        finished = (await facts_of(harness)).finished
        latest = [one.run_key for one in reversed(claims)][:FINISHED_KEPT]
        assert [one.run_key for one in finished] == latest
        assert finished[0].finished_at == harness.now

    async def test_an_operators_hold_hides_a_tick_from_the_newest_due(self, harness: StoreHarness) -> None:
        await put(harness)
        first, second = await due_ticks(harness, 30, 60)
        await harness.store.ledger.hold(NS, second, ANNA)
        facts = await facts_of(harness)
        assert [tick.run_key for tick in facts.due] == [first]
        assert facts.newest_due == at(harness, -30)

    async def test_a_tick_behind_the_gate_is_not_hidden_from_the_newest_due(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        first, second = await due_ticks(harness, 30, 60)
        await decide(harness, Admit(second, held=True))
        facts = await facts_of(harness)
        assert [tick.run_key for tick in facts.due] == [first]
        assert facts.newest_due == harness.now

    async def test_a_long_backlog_does_not_hide_the_newest_due_or_a_full_buffer(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        keys = await due_ticks(harness, *range(1, 3 * MANY))
        facts = await facts_of(harness)
        assert facts.newest_due == harness.now
        assert BUFFER_MAX < len(facts.due) <= len(keys)
        assert [tick.run_key for tick in facts.due] == keys[: len(facts.due)]

    async def test_a_tick_that_no_planner_has_written_is_not_hidden_from_the_judge(
        self, harness: StoreHarness
    ) -> None:
        await plan_up_to(harness, 30, following_s=60)
        await harness.advance(59)
        assert (await facts_of(harness)).unplanned is None
        await harness.advance(1)
        assert (await facts_of(harness)).unplanned == harness.now

    async def test_a_cursor_that_was_never_planned_names_no_tick(self, harness: StoreHarness) -> None:
        await plan_up_to(harness, 30, following_s=60)
        await harness.advance(50)
        await put(harness, make_spec(every_s=90))
        await harness.advance(50)
        assert (await facts_of(harness)).unplanned is None

    async def test_an_edit_does_not_hide_what_its_planners_have_not_written(
        self, harness: StoreHarness
    ) -> None:
        await plan_up_to(harness, 30, following_s=60)
        unplanned = at(harness, 60)
        await harness.advance(70)
        for every_s in (80, 90):
            await put(harness, make_spec(every_s=every_s))
        await harness.advance(1)
        assert (await facts_of(harness)).unplanned == unplanned

    async def test_where_the_planner_only_looks_again_is_no_tick_to_be_planned(
        self, harness: StoreHarness
    ) -> None:
        """A search for the next fire time was cut there."""
        await plan_up_to(harness, 30, following_s=61)
        await harness.advance(61)
        assert (await facts_of(harness)).unplanned is None

    async def test_a_pause_leaves_no_tick_to_be_planned(self, harness: StoreHarness) -> None:
        await plan_up_to(harness, 30, following_s=60)
        await harness.advance(50)
        await harness.store.schedules.pause(NS, SCHEDULE, "paused")
        await harness.advance(50)
        assert (await facts_of(harness)).unplanned is None

    async def test_what_was_called_off_is_no_tick_to_be_planned(self, harness: StoreHarness) -> None:
        await plan_up_to(harness, 30, following_s=60)
        called_off = Tick(at(harness, 60), at(harness, 60))
        await harness.store.ledger.plan_by_name(NS, SCHEDULE, 1, [called_off], ANNA, fate=Fate.SKIPPED)
        await harness.advance(60)
        assert (await facts_of(harness)).unplanned is None

    async def test_a_parked_tick_of_another_queue_is_not_offered(self, harness: StoreHarness) -> None:
        await put(harness)
        (parked,) = await due_ticks(harness, 30)
        await park(harness, parked)
        await put(harness, make_spec(every_s=90, queue=HEAVY))
        (heavy,) = await due_ticks(harness, 30)
        witness = Witness()
        await harness.store.ledger.claim_ticks(claim_request(queues=(HEAVY,)), MANY, witness)
        assert witness.due == {heavy}
        assert not await is_asked(harness)


async def plan_up_to(harness: StoreHarness, after_s: float, *, following_s: float) -> None:
    """Plan one tick, by planners that know when the next one fires and write it no more."""
    await put(harness, ScheduleSpec(JOB, trigger=Every(30).to_json()))
    plan = make_plan(await read_cursor(harness), at(harness, after_s))
    await write(harness, replace(plan, next_fire_at=at(harness, following_s)))
