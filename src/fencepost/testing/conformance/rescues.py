"""The behaviour of rescues: a run is taken only from an attempt that shows no life, and then for good."""

from __future__ import annotations

from fencepost.model.identifiers import RunKey
from fencepost.model.job import JobSpec
from fencepost.model.rescue import Expired, Rescue
from fencepost.model.run import STOPPED_ON_REQUEST, ProgressReport, Receipt, RunState, Ticket
from fencepost.testing.conformance.builders import (
    ALICE,
    BOB,
    JOB,
    MANY,
    NS,
    claim,
    claim_one,
    enqueue,
    finish,
    read,
    retry,
    states,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness

PAST_S = 31.0


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


async def lose_one(harness: StoreHarness, key: str = "one") -> Ticket:
    """The ticket of an attempt that has shown no life for too long."""
    claimed = await claim_one(harness, key)
    await harness.advance(PAST_S)
    return claimed.ticket


async def expired(harness: StoreHarness, limit: int = MANY) -> list[Expired]:
    """What the reaper sees."""
    return list(await harness.store.ledger.expired(limit))


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
