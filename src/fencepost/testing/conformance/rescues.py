"""The behaviour of rescues: a run is taken only from an attempt that shows no life, and then for good."""

from __future__ import annotations

from fencepost.model.identifiers import RunKey
from fencepost.model.job import JobSpec
from fencepost.model.rescue import Rescue, Sweep
from fencepost.model.run import STOPPED_ON_REQUEST, ProgressReport, Receipt, RunState, Ticket
from fencepost.testing.conformance.builders import (
    ALICE,
    BOB,
    JOB,
    NS,
    claim,
    claim_one,
    due_ticks,
    enqueue,
    expired,
    finish,
    put,
    read,
    retry,
    start_tick,
    states,
    success,
    sweep,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.limits import limit, take
from fencepost.testing.conformance.operators import park

PAST_S = 31.0
HOUR_S = 3600.0


class GraceContract:
    """Owners who could not speak are not silent."""

    async def test_an_absence_of_the_store_does_not_cost_a_living_owner_its_run(
        self, harness: StoreHarness
    ) -> None:
        claimed = await claim_one(harness)
        await sweep(harness)
        await harness.advance(45)
        assert await sweep(harness) == Sweep((), 45.0)
        assert await rescue(harness, claimed.ticket) is Receipt.REFUSED
        await harness.advance(10)
        assert await sweep(harness) == Sweep()
        await harness.store.ledger.pulse([claimed.ticket], 30)
        for _ in range(2):
            await harness.advance(14)
            assert await sweep(harness) == Sweep()
        assert await finish(harness, success(claimed.ticket)) is Receipt.ACCEPTED

    async def test_a_dead_owner_keeps_its_run_no_longer_than_the_grace(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await sweep(harness)
        await harness.advance(45)
        await sweep(harness)
        for _ in range(3):
            await harness.advance(10)
            assert await sweep(harness) == Sweep()
        await harness.advance(1)
        (found,) = (await sweep(harness)).expired
        assert (found.ticket, found.silent_for_s) == (claimed.ticket, 1.0)
        assert await rescue(harness, claimed.ticket) is Receipt.ACCEPTED

    async def test_a_run_that_was_taken_away_does_not_drown_in_what_ran_since(
        self, harness: StoreHarness
    ) -> None:
        ledger = harness.store.ledger
        assert await ledger.taken_away(NS) is None
        claimed = await claim_one(harness)
        await sweep(harness)
        await harness.advance(45)
        await sweep(harness)
        await harness.advance(45)
        assert await rescue(harness, claimed.ticket) is Receipt.ACCEPTED
        found = await ledger.taken_away(NS)
        assert found is not None
        attempt, run = found
        assert (run.run_key, attempt.fence, attempt.outcome) == (claimed.run_key, claimed.fence, "lost")
        assert run.fence > attempt.fence

    async def test_the_grace_does_not_shorten_a_life(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await harness.store.ledger.pulse([claimed.ticket], 100)
        await sweep(harness)
        await harness.advance(16)
        assert (await sweep(harness)).last_s == 16
        for _ in range(5):
            await harness.advance(14)
            assert await sweep(harness) == Sweep()
        await harness.advance(15)
        assert len((await sweep(harness)).expired) == 1

    async def test_the_second_of_two_reapers_does_not_find_the_gap_again(self, harness: StoreHarness) -> None:
        await sweep(harness)
        await harness.advance(45)
        assert (await sweep(harness)).last_s == 45
        assert await sweep(harness) == Sweep()

    async def test_a_second_absence_is_not_taken_for_the_first(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await sweep(harness)
        for _ in range(3):
            await harness.advance(45)
            assert (await sweep(harness)).last_s == 45
        assert await rescue(harness, claimed.ticket) is Receipt.REFUSED

    async def test_a_second_absence_does_not_begin_the_grace_anew(self, harness: StoreHarness) -> None:
        """Of 30 seconds the owner had 24 while the store was there: 6 are left, however often it goes."""
        claimed = await claim_one(harness)
        await sweep(harness)
        for _ in range(2):
            await harness.advance(45)
            assert (await sweep(harness)).last_s == 45
            await harness.advance(12)
            assert await sweep(harness) == Sweep()
        await harness.advance(45)
        assert (await sweep(harness)).last_s == 45
        assert await rescue(harness, claimed.ticket) is Receipt.REFUSED
        await harness.advance(7)
        (found,) = (await sweep(harness)).expired
        assert (found.ticket, found.silent_for_s) == (claimed.ticket, 1.0)

    async def test_an_owner_who_spoke_between_two_absences_has_the_whole_grace_again(
        self, harness: StoreHarness
    ) -> None:
        claimed = await claim_one(harness)
        await sweep(harness)
        await harness.advance(45)
        await sweep(harness)
        await harness.advance(2)
        await harness.store.ledger.pulse([claimed.ticket], 30)
        for _ in range(2):
            await harness.advance(12)
            await sweep(harness)
        await harness.advance(45)
        await sweep(harness)
        for _ in range(2):
            await harness.advance(15)
            assert await sweep(harness) == Sweep()
        await harness.advance(1)
        assert len((await sweep(harness)).expired) == 1

    async def test_sweeps_in_time_do_not_put_a_rescue_off(self, harness: StoreHarness) -> None:
        await claim_one(harness)
        for _ in range(3):
            assert await sweep(harness) == Sweep()
            await harness.advance(15)
        assert len((await sweep(harness)).expired) == 1

    async def test_a_clock_set_back_does_not_keep_a_dead_owners_run(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await sweep(harness)
        await harness.set_back(HOUR_S)
        assert await sweep(harness) == Sweep((), -HOUR_S)
        for _ in range(3):
            await harness.advance(10)
            assert await sweep(harness) == Sweep()
        await harness.advance(1)
        assert [one.ticket for one in (await sweep(harness)).expired] == [claimed.ticket]

    async def test_a_clock_set_back_does_not_cost_a_living_owner_its_run(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await sweep(harness)
        await harness.set_back(HOUR_S)
        await sweep(harness)
        for _ in range(3):
            await harness.advance(14)
            await harness.store.ledger.pulse([claimed.ticket], 30)
            assert await sweep(harness) == Sweep()

    async def test_a_clock_set_back_by_less_than_a_second_does_not_count(self, harness: StoreHarness) -> None:
        await sweep(harness)
        await harness.set_back(0.9)
        assert await sweep(harness) == Sweep()


class RescueContract:
    """Expired, and rescued."""

    async def test_a_live_run_is_not_expired(self, harness: StoreHarness) -> None:
        await claim_one(harness)
        await harness.advance(29)
        assert await expired(harness) == []

    async def test_a_silent_run_does_not_go_unnoticed(self, harness: StoreHarness) -> None:
        await harness.store.jobs.register(NS, [JobSpec(JOB, at_most_once=True)])
        claimed = await claim_one(harness)
        await harness.advance(PAST_S)
        (found,) = await expired(harness)
        assert (found.ticket, found.worker) == (claimed.ticket, ALICE)
        assert found.job == JobSpec(JOB, at_most_once=True)
        assert not found.cancel_requested
        assert found.silent_for_s > 0

    async def test_an_unknown_job_does_not_hide_a_silent_run(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
        await harness.advance(PAST_S)
        (found,) = await expired(harness)
        assert (found.job, found.cancel_requested) == (None, True)

    async def test_waiting_and_ended_runs_are_not_expired(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", "b", "c")
        one, two = await claim(harness, limit=2)
        await finish(harness, success(one.ticket))
        await finish(harness, retry(two.ticket))
        await harness.advance(PAST_S)
        assert await expired(harness) == []

    async def test_the_oldest_come_first_and_not_more_than_the_limit(self, harness: StoreHarness) -> None:
        tickets = []
        for key in ("a", "b", "c"):
            tickets.append((await claim_one(harness, key)).ticket)
            await harness.advance(1)
        await harness.store.ledger.pulse(tickets[:1], 30)
        await harness.advance(PAST_S)
        order = [tickets[1], tickets[2], tickets[0]]
        assert [one.ticket for one in await expired(harness)] == order
        assert [one.ticket for one in await expired(harness, 2)] == order[:2]

    async def test_a_lost_run_that_was_asked_to_stop_is_not_tried_again(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
        await harness.advance(PAST_S)
        silent = Rescue(claimed.ticket, RunState.READY, "no sign of life")
        assert await harness.store.ledger.rescue([silent]) == [Receipt.ACCEPTED]
        run = await read(harness, claimed.run_key)
        assert (run.state, run.reason) == (RunState.CANCELLED, STOPPED_ON_REQUEST)

    async def test_rescue_kills_the_old_ticket(self, harness: StoreHarness) -> None:
        claimed = await lose_one(harness)
        assert await rescue(harness, claimed) is Receipt.ACCEPTED
        assert (await read(harness, claimed.run_key)).fence > claimed.fence
        assert await finish(harness, success(claimed)) is Receipt.REFUSED
        (pulse,) = await harness.store.ledger.pulse([claimed], 30)
        assert not pulse.owned
        said = ProgressReport(claimed, "still here")
        assert list(await harness.store.ledger.report_progress([said])) == [False]
        assert await states(harness, claimed.run_key) == [RunState.READY]

    async def test_a_rescued_run_is_not_lost(self, harness: StoreHarness) -> None:
        ticket = await lose_one(harness)
        await rescue(harness, ticket, retry_in_s=10)
        record = await read(harness, ticket.run_key)
        assert (record.state, record.worker, record.attempt) == (RunState.READY, None, 1)
        assert (record.run_at - harness.now).total_seconds() == 10
        assert await claim(harness, BOB) == []
        await harness.advance(10)
        (second,) = await claim(harness, BOB)
        assert (second.attempt, second.run_key) == (2, ticket.run_key)
        assert second.fence > record.fence > ticket.fence

    async def test_a_rescue_may_end_the_run(self, harness: StoreHarness) -> None:
        for key, state in (("a", RunState.DEAD), ("b", RunState.CANCELLED)):
            ticket = await lose_one(harness, key)
            assert await rescue(harness, ticket, state) is Receipt.ACCEPTED
            record = await read(harness, ticket.run_key)
            assert (record.state, record.finished_at) == (state, harness.now)
            assert record.reason == "no sign of life"
            assert record.fence > ticket.fence
        assert await claim(harness) == []

    async def test_rescue_does_not_touch_a_run_that_pulsed_meanwhile(self, harness: StoreHarness) -> None:
        ticket = await lose_one(harness)
        await harness.store.ledger.pulse([ticket], 30)
        assert await rescue(harness, ticket) is Receipt.REFUSED
        assert await finish(harness, success(ticket)) is Receipt.ACCEPTED

    async def test_rescue_does_not_touch_a_run_that_finished_meanwhile(self, harness: StoreHarness) -> None:
        ticket = await lose_one(harness)
        await finish(harness, success(ticket))
        assert await rescue(harness, ticket) is not Receipt.ACCEPTED
        assert await states(harness, ticket.run_key) == [RunState.SUCCEEDED]

    async def test_rescue_does_not_touch_the_successor(self, harness: StoreHarness) -> None:
        ticket = await lose_one(harness)
        await rescue(harness, ticket)
        await claim(harness, BOB)
        await harness.advance(PAST_S)
        assert await rescue(harness, ticket) is Receipt.REFUSED
        assert (await read(harness, ticket.run_key)).worker == BOB

    async def test_a_run_is_not_rescued_twice(self, harness: StoreHarness) -> None:
        ticket = await lose_one(harness)
        assert await rescue(harness, ticket) is Receipt.ACCEPTED
        before = await read(harness, ticket.run_key)
        assert await rescue(harness, ticket) is not Receipt.ACCEPTED
        assert await read(harness, ticket.run_key) == before
        assert len(await harness.store.ledger.attempts(NS, ticket.run_key)) == 1

    async def test_a_lost_attempt_is_not_forgotten(self, harness: StoreHarness) -> None:
        ticket = await lose_one(harness)
        await rescue(harness, ticket)
        (attempt,) = await harness.store.ledger.attempts(NS, ticket.run_key)
        assert (attempt.attempt, attempt.fence, attempt.worker) == (1, ticket.fence, ALICE)
        assert (attempt.outcome, attempt.finished_at) == ("lost", harness.now)

    async def test_receipts_of_rescues_do_not_change_places(self, harness: StoreHarness) -> None:
        tickets = [await lose_one(harness, key) for key in ("a", "b")]
        unknown = Ticket(NS, RunKey("report#never"), 1, tickets[0].fence)
        await finish(harness, success(tickets[0]))
        receipts = await harness.store.ledger.rescue([make_rescue(one) for one in (unknown, tickets[1])])
        assert list(receipts) == [Receipt.REFUSED, Receipt.ACCEPTED]
        assert list(await harness.store.ledger.rescue([])) == []

    async def test_a_sweep_is_not_quiet_beside_a_run_that_runs(self, harness: StoreHarness) -> None:
        await claim_one(harness)
        assert not await is_quiet(harness)

    async def test_a_sweep_is_not_quiet_beside_a_tick_that_is_due_or_waits_for_its_turn(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (tick,) = await due_ticks(harness, 5)
        assert not await is_quiet(harness)
        await park(harness, tick)
        assert not await is_quiet(harness)

    async def test_a_sweep_is_not_quiet_beside_a_tick_that_is_tried_again(
        self, harness: StoreHarness
    ) -> None:
        """A freeze may have left it behind."""
        await finish(harness, retry((await start_tick(harness)).ticket, in_s=1_000))
        assert not await is_quiet(harness)

    async def test_a_sweep_is_not_quiet_beside_a_run_that_waits_for_a_limit(
        self, harness: StoreHarness
    ) -> None:
        await limit(harness, rate="6/m")
        await enqueue(harness, "a", "b")
        (started,) = await take(harness)
        await finish(harness, success(started.ticket))
        assert not await is_quiet(harness)


async def is_quiet(harness: StoreHarness) -> bool:
    """Whether a reaper is told so that nothing is to do; the first sweep of a ledger says nothing of that."""
    await sweep(harness)
    return (await sweep(harness)).quiet


async def lose_one(harness: StoreHarness, key: str = "one") -> Ticket:
    """The ticket of an attempt that has shown no life for too long."""
    claimed = await claim_one(harness, key)
    await harness.advance(PAST_S)
    return claimed.ticket


def make_rescue(ticket: Ticket, state: RunState = RunState.READY, retry_in_s: float = 0.0) -> Rescue:
    """A rescue from that attempt."""
    return Rescue(ticket, state, "no sign of life", retry_in_s)


async def rescue(
    harness: StoreHarness,
    ticket: Ticket,
    state: RunState = RunState.READY,
    retry_in_s: float = 0.0,
) -> Receipt:
    """Take one run away from its attempt."""
    (receipt,) = await harness.store.ledger.rescue([make_rescue(ticket, state, retry_in_s)])
    return receipt
