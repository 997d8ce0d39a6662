"""The behaviour of the ledger towards an attempt: what it may write, and until when."""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.identifiers import Fence, RunKey
from fencepost.model.run import STOPPED_ON_REQUEST, Outcome, Pulse, Receipt, RunState, Ticket
from fencepost.testing.conformance.builders import (
    ALICE,
    BOB,
    NS,
    OTHER_NS,
    claim,
    claim_one,
    death,
    enqueue,
    expired,
    finish,
    not_begun,
    read,
    retry,
    start_tick,
    states,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness

READY, RUNNING = RunState.READY, RunState.RUNNING


class ReportContract:
    """Every write shows its ticket."""

    async def test_a_success_is_not_left_running(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        assert await finish(harness, success(claimed.ticket)) is Receipt.ACCEPTED
        record = await read(harness, claimed.run_key)
        assert (record.state, record.finished_at) == (RunState.SUCCEEDED, harness.now)
        assert (record.error, record.attempt, record.fence) == (None, 1, claimed.fence)

    async def test_a_death_does_not_hide_its_cause(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        outcome = death(claimed.ticket, "boom", reason="retries exhausted")
        assert await finish(harness, outcome) is Receipt.ACCEPTED
        record = await read(harness, claimed.run_key)
        assert (record.state, record.error) == (RunState.DEAD, "boom")
        assert (record.reason, record.finished_at) == ("retries exhausted", harness.now)

    async def test_an_attempt_may_end_as_cancelled(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
        outcome = Outcome(claimed.ticket, RunState.CANCELLED, reason="enough")
        assert await finish(harness, outcome) is Receipt.ACCEPTED
        assert await states(harness, claimed.run_key) == [RunState.CANCELLED]

    async def test_a_run_that_was_asked_to_stop_is_not_tried_again(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
        assert await finish(harness, retry(claimed.ticket)) is Receipt.ACCEPTED
        record = await read(harness, claimed.run_key)
        assert (record.state, record.reason) == (RunState.CANCELLED, STOPPED_ON_REQUEST)
        assert record.finished_at == harness.now
        assert await claim(harness) == []
        assert len(await harness.store.ledger.attempts(NS, claimed.run_key)) == 1

    async def test_an_end_without_error_and_output_keeps_no_attempt(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, Outcome(claimed.ticket, READY, "not yet", retry_in_s=0.0))
        (again,) = await claim(harness)
        await finish(harness, Outcome(again.ticket, RunState.DEAD, "never"))
        assert (await read(harness, claimed.run_key)).reason == "never"
        assert list(await harness.store.ledger.attempts(NS, claimed.run_key)) == []

    async def test_an_attempt_that_had_not_begun_does_not_count(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        before = await read(harness, claimed.run_key)
        await harness.advance(5)
        assert await finish(harness, not_begun(claimed.ticket)) is Receipt.ACCEPTED
        assert await finish(harness, not_begun(claimed.ticket)) is Receipt.REPEATED
        record = await read(harness, claimed.run_key)
        assert (record.state, record.attempt, record.attempts_before_replay) == (READY, 1, 1)
        assert (record.run_at, record.first_started_at, record.worker) == (before.run_at, None, None)
        assert list(await harness.store.ledger.attempts(NS, claimed.run_key)) == []

        (again,) = await claim(harness)
        assert (again.attempt, again.attempts_before_replay, again.first_started_at) == (2, 1, harness.now)
        assert again.fence > claimed.fence
        assert await finish(harness, not_begun(claimed.ticket)) is Receipt.REFUSED

    async def test_a_run_that_was_asked_to_stop_is_not_given_back(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
        assert await finish(harness, not_begun(claimed.ticket)) is Receipt.ACCEPTED
        assert (await read(harness, claimed.run_key)).state is RunState.CANCELLED
        assert await claim(harness) == []

    async def test_a_later_attempt_that_had_not_begun_does_not_count(self, harness: StoreHarness) -> None:
        first = await claim_one(harness)
        await finish(harness, retry(first.ticket))
        await harness.advance(5)
        (second,) = await claim(harness)
        await finish(harness, not_begun(second.ticket))
        (third,) = await claim(harness)
        assert (third.attempt - third.attempts_before_replay, third.first_started_at) == (
            2,
            first.first_started_at,
        )

    async def test_a_tick_that_is_given_back_keeps_when_it_was_judged(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        assert await finish(harness, not_begun(claimed.ticket)) is Receipt.ACCEPTED
        await harness.advance(5)
        (again,) = await claim(harness)
        assert (again.run_key, again.attempts_before_replay, again.first_started_at) == (
            claimed.run_key,
            1,
            claimed.first_started_at,
        )

    async def test_repeated_report_is_told_apart_from_a_refused_one(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        assert await finish(harness, success(claimed.ticket)) is Receipt.REPEATED
        stranger = replace(claimed.ticket, fence=Fence(claimed.fence + 1))
        assert await finish(harness, success(stranger)) is Receipt.REFUSED

    async def test_a_repeated_report_does_not_change_the_first(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        before = await read(harness, claimed.run_key)
        await harness.advance(5)
        assert await finish(harness, death(claimed.ticket)) is Receipt.REPEATED
        assert await read(harness, claimed.run_key) == before
        assert list(await harness.store.ledger.attempts(NS, claimed.run_key)) == []

    async def test_a_repeated_failure_does_not_delay_the_retry(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, retry(claimed.ticket, in_s=10))
        before = await read(harness, claimed.run_key)
        await harness.advance(5)
        assert await finish(harness, retry(claimed.ticket, in_s=10)) is Receipt.REPEATED
        assert await read(harness, claimed.run_key) == before

    async def test_a_late_report_does_not_finish_its_successor(self, harness: StoreHarness) -> None:
        first = await claim_one(harness)
        await finish(harness, retry(first.ticket))
        (second,) = await claim(harness, BOB)
        assert await finish(harness, success(first.ticket)) is Receipt.REFUSED
        record = await read(harness, first.run_key)
        assert (record.state, record.fence, record.worker) == (RUNNING, second.fence, BOB)

    async def test_a_wrong_ticket_does_not_finish_anything(self, harness: StoreHarness) -> None:
        ticket = (await claim_one(harness)).ticket
        wrong = [
            replace(ticket, attempt=2),
            replace(ticket, attempt=0),
            replace(ticket, fence=Fence(0)),
            replace(ticket, namespace=OTHER_NS),
            replace(ticket, run_key=RunKey("report#never")),
        ]
        receipts = await harness.store.ledger.finish([success(one) for one in wrong])
        assert set(receipts) == {Receipt.REFUSED}
        assert await states(harness, ticket.run_key) == [RUNNING]

    async def test_what_is_no_key_does_not_stand_in_the_way_of_those_beside_it(
        self, harness: StoreHarness
    ) -> None:
        """A payload may contain any separator that a store puts between keys."""
        ticket = (await claim_one(harness)).ticket
        odd = [replace(ticket, run_key=RunKey(f"{ticket.run_key}{sign}x")) for sign in "\x1e\x1f\n, {}"]
        receipts = await harness.store.ledger.finish([success(one) for one in (*odd, ticket)])
        assert list(receipts) == [Receipt.REFUSED] * len(odd) + [Receipt.ACCEPTED]

    async def test_a_run_that_was_not_started_is_not_finished(self, harness: StoreHarness) -> None:
        (key,) = await enqueue(harness, "one")
        outcome = success(Ticket(NS, key, 1, Fence(1)))
        assert await finish(harness, outcome) is Receipt.REFUSED
        assert await states(harness, key) == [READY]

    async def test_receipts_do_not_change_places(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", "b", "c")
        one, two, three = (claimed.ticket for claimed in await claim(harness))
        await finish(harness, success(two))
        outcomes = [success(replace(three, attempt=9)), success(two), death(one)]
        receipts = await harness.store.ledger.finish(outcomes)
        assert list(receipts) == [Receipt.REFUSED, Receipt.REPEATED, Receipt.ACCEPTED]
        assert list(await harness.store.ledger.finish([])) == []

    async def test_a_retry_does_not_keep_its_worker(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        assert await finish(harness, retry(claimed.ticket, in_s=10)) is Receipt.ACCEPTED
        record = await read(harness, claimed.run_key)
        assert (record.state, record.worker, record.finished_at) == (READY, None, None)
        assert (record.attempt, record.error) == (1, "boom")
        assert (record.run_at - harness.now).total_seconds() == 10
        assert record.fire_time == claimed.fire_time

    async def test_a_second_attempt_is_not_the_first(self, harness: StoreHarness) -> None:
        first = await claim_one(harness)
        await finish(harness, retry(first.ticket))
        await harness.advance(5)
        (second,) = await claim(harness, BOB)
        assert (second.run_key, second.attempt) == (first.run_key, 2)
        assert second.fence > first.fence
        assert second.started_at == harness.now

    async def test_failed_attempts_are_not_forgotten(self, harness: StoreHarness) -> None:
        first = await claim_one(harness)
        await finish(harness, retry(first.ticket, error="boom", detail="Traceback 1"))
        (second,) = await claim(harness, BOB)
        await harness.advance(5)
        await finish(harness, death(second.ticket, "bang", detail="Traceback 2", output="log"))
        attempts = await harness.store.ledger.attempts(NS, first.run_key)
        assert [one.attempt for one in attempts] == [1, 2]
        assert [one.fence for one in attempts] == [first.fence, second.fence]
        assert [one.worker for one in attempts] == [ALICE, BOB]
        assert [one.error for one in attempts] == ["boom", "bang"]
        assert [one.detail for one in attempts] == ["Traceback 1", "Traceback 2"]
        assert [one.output for one in attempts] == [None, "log"]
        assert attempts[1].started_at == second.started_at
        assert attempts[1].finished_at == harness.now

    async def test_a_success_without_output_leaves_no_attempt(self, harness: StoreHarness) -> None:
        silent = await claim_one(harness, "silent")
        await finish(harness, success(silent.ticket))
        assert list(await harness.store.ledger.attempts(NS, silent.run_key)) == []

    async def test_the_output_of_a_success_is_not_lost(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket, output="42 rows"))
        (attempt,) = await harness.store.ledger.attempts(NS, claimed.run_key)
        assert (attempt.output, attempt.error) == ("42 rows", None)

    async def test_a_refused_report_leaves_no_attempt(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, death(replace(claimed.ticket, fence=Fence(0))))
        assert list(await harness.store.ledger.attempts(NS, claimed.run_key)) == []

    async def test_a_pulse_keeps_a_run_from_expiring(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await harness.advance(29)
        assert await pulse(harness, claimed.ticket) == Pulse(True)
        await harness.advance(29)
        assert await expired(harness) == []
        await harness.advance(2)
        assert len(await expired(harness)) == 1

    async def test_a_pulse_does_not_keep_what_is_not_owned(self, harness: StoreHarness) -> None:
        first = await claim_one(harness)
        await finish(harness, retry(first.ticket))
        assert not (await pulse(harness, first.ticket)).owned
        (second,) = await claim(harness, BOB)
        assert not (await pulse(harness, first.ticket)).owned
        await finish(harness, success(second.ticket))
        assert not (await pulse(harness, second.ticket)).owned

    async def test_a_pulse_does_not_miss_a_request_to_stop(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
        assert await pulse(harness, claimed.ticket) == Pulse(True, cancel_requested=True)

    async def test_pulses_do_not_change_places(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", "b", "c")
        tickets = [claimed.ticket for claimed in await claim(harness)]
        await finish(harness, success(tickets[1]))
        pulses = await harness.store.ledger.pulse(tickets[::-1], 30)
        assert [one.owned for one in pulses] == [True, False, True]
        assert list(await harness.store.ledger.pulse([], 30)) == []


async def pulse(harness: StoreHarness, ticket: Ticket) -> Pulse:
    """One heartbeat of one attempt."""
    (answer,) = await harness.store.ledger.pulse([ticket], 30)
    return answer
