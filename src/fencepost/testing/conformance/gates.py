"""The behaviour of catch-up gates: runs behind a closed gate wait for a person."""

from __future__ import annotations

import pytest

from fencepost.model.audit import HOUSE, Action
from fencepost.model.claiming import Admit, CloseGate, GateFacts, Start, Wait
from fencepost.model.gate import ClosedGate, GateDecision
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.policies import CatchUp, GateTerms
from fencepost.model.run import Hold, RunState
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import (
    NS,
    OTHER_NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    at,
    death,
    due_ticks,
    finish,
    make_spec,
    put,
    read,
    start_ticks,
    states,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import (
    ANNA,
    BEN,
    admit,
    claim_judged,
    decide,
    entries,
    facts_of,
    holds,
    is_anything_due,
)
from fencepost.testing.conformance.signals import hint

WHY = "3 of the last 4 catch-up runs failed"
MISSED, READY = RunState.MISSED, RunState.READY


class GateContract:
    """Closing, deciding, and what counts afterwards."""

    async def test_a_closed_gate_does_not_let_catch_up_through(self, harness: StoreHarness) -> None:
        keys = await three_behind_the_gate(harness)
        assert await holds(harness, *keys) == [Hold.GATE] * 3
        assert not await is_anything_due(harness)
        assert await start_ticks(harness) == []

    async def test_a_closed_gate_does_not_hold_live_work(self, harness: StoreHarness) -> None:
        await three_behind_the_gate(harness)
        (live,) = await due_ticks(harness, 60)
        assert [one.run_key for one in await start_ticks(harness)] == [live]

    async def test_what_the_closing_judgement_admits_is_held_too(self, harness: StoreHarness) -> None:
        await put(harness)
        first, second = await due_ticks(harness, 30, 60)
        await decide(harness, CloseGate(WHY), Admit(first), Admit(second))
        assert await holds(harness, first, second) == [Hold.GATE, Hold.GATE]

    async def test_a_closing_does_not_hold_what_runs_or_is_live(self, harness: StoreHarness) -> None:
        await put(harness)
        first, second, live = await due_ticks(harness, 30, 60, 90)
        await decide(harness, Admit(first), Admit(second))
        await decide(harness, Start(first))
        await decide(harness, CloseGate(WHY))
        assert await holds(harness, first, second, live) == [Hold.NONE, Hold.GATE, Hold.NONE]

    async def test_a_closed_gate_is_not_hidden(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 10, 20)
        for number, claimed in enumerate(await start_ticks(harness)):
            await harness.advance(10 * number + 10)
            await finish(harness, success(claimed.ticket))
        await three_behind_the_gate(harness)
        oldest, newest = at(harness, -60), harness.now
        await harness.advance(60)
        (gate,) = await harness.store.gates.closed(NS)
        closed_at = at(harness, -60)
        terms = closed_at, WHY, 3, oldest, newest, gate.run_s, gate.spec_text
        assert gate == ClosedGate(NS, SCHEDULE, *terms)
        assert gate.spec == make_spec()
        assert gate.run_s == pytest.approx(20)
        assert gate.load_s == pytest.approx(60)
        assert list(await harness.store.gates.closed(OTHER_NS)) == []

    async def test_gates_of_schedules_do_not_mix(self, harness: StoreHarness) -> None:
        await three_behind_the_gate(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        (other,) = await due_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        await admit(harness, other)
        assert await holds(harness, other) == [Hold.NONE]
        await decide(harness, CloseGate(WHY))
        assert [one.schedule_id for one in await harness.store.gates.closed(NS)] == [SCHEDULE, OTHER_SCHEDULE]

    async def test_a_closed_gate_is_not_left_out_of_what_waits_for_a_person(
        self, harness: StoreHarness
    ) -> None:
        await three_behind_the_gate(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await due_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        await decide(harness, CloseGate(WHY))
        assert await gates_counted(harness) == (2, 2)
        assert (await harness.store.ledger.attention(NS, 1)).gates == 1, "no further than asked for"
        await harness.store.gates.decide(NS, SCHEDULE, GateDecision.OPEN, ANNA)
        assert await gates_counted(harness) == (1, 1)
        assert await gates_counted(harness, OTHER_NS) == (0, 0)

    async def test_the_house_does_not_close_a_gate_in_silence(self, harness: StoreHarness) -> None:
        await three_behind_the_gate(harness)
        (entry,) = await entries(harness)
        assert (entry.action, entry.subject, entry.author) == (Action.GATE_CLOSE, SCHEDULE, HOUSE)
        assert entry.before != entry.after

    async def test_a_closed_gate_is_not_closed_again(self, harness: StoreHarness) -> None:
        await three_behind_the_gate(harness)
        (young,) = await due_ticks(harness, 60)
        await decide(harness, CloseGate("another reason"))
        (gate,) = await harness.store.gates.closed(NS)
        assert (gate.reason, gate.closed_at) == (WHY, at(harness, -60))
        assert await holds(harness, young) == [Hold.NONE]
        assert len(await entries(harness, action=Action.GATE_CLOSE)) == 1

    async def test_what_is_admitted_later_is_held_as_well(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(catch_up=CatchUp("sequential", "1h")))
        (first,) = await due_ticks(harness, 60)
        await admit(harness, first)
        await decide(harness, CloseGate(WHY))
        (later_one,) = await due_ticks(harness, 60)
        await harness.advance(600)
        assert await claim_judged(harness) == []
        assert await holds(harness, first, later_one) == [Hold.GATE, Hold.GATE]

    async def test_an_opened_gate_does_not_keep_anything(self, harness: StoreHarness) -> None:
        keys = await three_behind_the_gate(harness)
        async with hint(harness, Topic.RUNS):
            assert await decided(harness, GateDecision.OPEN) == 3
        assert await holds(harness, *keys) == [Hold.NONE] * 3
        assert list(await harness.store.gates.closed(NS)) == []
        assert [one.run_key for one in await start_ticks(harness)] == keys

    async def test_only_the_latest_is_let_through(self, harness: StoreHarness) -> None:
        keys = await three_behind_the_gate(harness)
        assert await decided(harness, GateDecision.LATEST) == 1
        assert await states(harness, *keys) == [MISSED, MISSED, READY]
        assert await holds(harness, *keys) == [Hold.NONE] * 3
        assert [one.run_key for one in await start_ticks(harness)] == keys[-1:]

    async def test_what_is_dropped_does_not_run_and_says_why(self, harness: StoreHarness) -> None:
        keys = await three_behind_the_gate(harness)
        assert await decided(harness, GateDecision.DROP) == 0
        assert await states(harness, *keys) == [MISSED] * 3
        run = await read(harness, keys[0])
        assert run.finished_at == harness.now
        assert all(word in str(run.reason) for word in ("drop", ANNA.name, str(ANNA.reason)))
        assert await start_ticks(harness) == []

    @pytest.mark.parametrize("decision", list(GateDecision))
    async def test_a_decision_is_not_made_in_silence_or_twice(
        self, harness: StoreHarness, decision: GateDecision
    ) -> None:
        await three_behind_the_gate(harness)
        assert await decided(harness, decision) is not None
        assert await decided(harness, decision) is None
        (entry,) = await entries(harness, author=ANNA.name)
        assert (entry.action, entry.subject) == (Action(f"gate.{decision}"), SCHEDULE)
        assert entry.before != entry.after

    async def test_a_gate_that_is_not_closed_is_not_decided(self, harness: StoreHarness) -> None:
        assert await decided(harness, GateDecision.OPEN) is None
        await put(harness)
        assert await decided(harness, GateDecision.DROP) is None
        assert await entries(harness) == []

    async def test_an_opened_gate_does_not_undo_another_hold(self, harness: StoreHarness) -> None:
        first, second, _ = await three_behind_the_gate(harness)
        await harness.store.ledger.hold(NS, first, BEN)
        await decided(harness, GateDecision.OPEN)
        assert await holds(harness, first, second) == [Hold.OPERATOR, Hold.NONE]


class GateFactContract:
    """By what a gate is closed again."""

    async def test_live_ticks_do_not_count_as_waiting(self, harness: StoreHarness) -> None:
        await put(harness)
        first, second, _ = await due_ticks(harness, 20, 40, 60)
        await admit(harness, first, second)
        assert (await facts_of(harness)).gate == GateFacts(closed=False, waiting=2)

    async def test_what_is_held_by_an_operator_waits_all_the_same(self, harness: StoreHarness) -> None:
        await put(harness)
        first, second = await due_ticks(harness, 30, 60)
        await admit(harness, first, second)
        await harness.store.ledger.hold(NS, first, ANNA)
        assert (await facts_of(harness)).gate.waiting == 2

    async def test_the_judge_is_told_of_a_closed_gate(self, harness: StoreHarness) -> None:
        await three_behind_the_gate(harness)
        (late,) = await due_ticks(harness, 60)
        await admit(harness, late)
        assert (await facts_of(harness)).gate == GateFacts(closed=True), "nothing more is looked up"

    async def test_what_was_told_to_wait_is_not_counted_again(self, harness: StoreHarness) -> None:
        await put(harness)
        first, second = await due_ticks(harness, 30, 60)
        await admit(harness, first, second)
        assert (await facts_of(harness)).gate.waiting == 2
        await decide(harness, Wait(first, "waits"), Wait(second, "waits"))
        (third,) = await due_ticks(harness, 60)
        assert (await facts_of(harness)).gate.waiting == 0, "nothing new catches up"
        await admit(harness, third)
        assert (await facts_of(harness)).gate.waiting == 3

    async def test_no_more_wait_than_the_gate_can_tell_apart(self, harness: StoreHarness) -> None:
        catch_up = CatchUp("sequential", "1h", GateTerms(waiting_max=2))
        await put(harness, make_spec(catch_up=catch_up))
        await admit(harness, *await due_ticks(harness, 10, 20, 30, 40))
        assert (await facts_of(harness)).gate.waiting == 3

    async def test_a_tick_that_waited_live_is_new_to_catch_up(self, harness: StoreHarness) -> None:
        await put(harness)
        first, _ = await due_ticks(harness, 30, 60)
        await decide(harness, Wait(first, "waits"))
        await admit(harness, first)
        assert (await facts_of(harness)).gate.waiting == 1

    async def test_what_was_let_through_does_not_count_as_waiting_again(self, harness: StoreHarness) -> None:
        await three_behind_the_gate(harness)
        await decided(harness, GateDecision.OPEN)
        assert (await facts_of(harness)).gate == GateFacts(closed=False, waiting=0)
        (late,) = await due_ticks(harness, 60)
        await admit(harness, late)
        assert (await facts_of(harness)).gate.waiting == 1

    async def test_only_ended_catch_up_runs_count_as_failed_or_not(self, harness: StoreHarness) -> None:
        await put(harness)
        keys = await due_ticks(harness, 10, 20, 30, 40)
        await admit(harness, *keys[:3])
        await harness.store.ledger.skip(NS, keys[2], ANNA)
        good, bad, live = await decide(harness, *(Start(keys[number]) for number in (0, 1, 3)))
        for outcome in (success(good.ticket), death(live.ticket), death(bad.ticket)):
            await harness.advance(1)
            await finish(harness, outcome)
        (late,) = await due_ticks(harness, 60)
        assert (await facts_of(harness)).gate.failed in ((), (True, False))
        await admit(harness, late)
        assert (await facts_of(harness)).gate.failed == (True, False)

    async def test_failures_before_the_opening_do_not_close_it_again(self, harness: StoreHarness) -> None:
        await put(harness)
        keys = await due_ticks(harness, 10, 20, 30)
        await admit(harness, *keys)
        (bad,) = await decide(harness, Start(keys[0]))
        await finish(harness, death(bad.ticket))
        await decide(harness, CloseGate(WHY))
        await harness.advance(1)
        await decided(harness, GateDecision.OPEN)
        assert (await facts_of(harness)).gate.failed == ()
        await harness.advance(1)
        (worse,) = await decide(harness, Start(keys[1]))
        await finish(harness, death(worse.ticket))
        assert (await facts_of(harness)).gate.failed == (True,)

    async def test_the_judge_of_the_house_closes_a_gate_before_it_starts_more(
        self, harness: StoreHarness
    ) -> None:
        catch_up = CatchUp("sequential", "1h", GateTerms(waiting_max=2))
        await put(harness, make_spec(catch_up=catch_up))
        keys = await due_ticks(harness, 10, 20, 30)
        await harness.advance(600)
        assert await claim_judged(harness) == []
        assert await claim_judged(harness) == []
        (gate,) = await harness.store.gates.closed(NS)
        assert gate.held == 3
        await decided(harness, GateDecision.OPEN)
        assert [one.run_key for one in await claim_judged(harness)] == keys[:1]


async def three_behind_the_gate(harness: StoreHarness) -> list[RunKey]:
    """Three catch-up ticks of the one schedule, and its gate closed."""
    await put(harness)
    keys = await due_ticks(harness, 30, 60, 90)
    await admit(harness, *keys)
    await decide(harness, CloseGate(WHY))
    return keys


async def decided(harness: StoreHarness, decision: GateDecision) -> int | None:
    """What becomes of the gate of the one schedule."""
    return await harness.store.gates.decide(NS, SCHEDULE, decision, ANNA)


async def gates_counted(harness: StoreHarness, namespace: Namespace = NS) -> tuple[int, int]:
    """As pages and as streams have it."""
    ledger = harness.store.ledger
    news = await ledger.news(at(harness, -60), 1, [namespace])
    return (await ledger.attention(namespace, 10)).gates, news.standings[namespace].gates
