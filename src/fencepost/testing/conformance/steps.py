"""The behaviour of recorded steps: they outlive the attempt, and only the run's owner adds to them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from fencepost.core.fingerprints import fingerprint_of, fingerprints, step_of, why_differing
from fencepost.model.identifiers import Fence, RunKey
from fencepost.model.rescue import Rescue
from fencepost.model.run import Claim, RunState, Ticket
from fencepost.testing.conformance.builders import (
    BOB,
    NS,
    OTHER_NS,
    claim,
    claim_one,
    death,
    enqueue,
    finish,
    retry,
    start_tick,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA
from fencepost.testing.conformance.retention import DAY_S, forget


class StepContract:
    """What a run has done need not be done again."""

    async def test_a_recorded_step_is_not_lost(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        assert await record(harness, claimed.ticket, "charge", '{"id":7}') == '{"id":7}'
        assert await recorded(harness, claimed.run_key) == {"charge": '{"id":7}'}

    async def test_steps_do_not_change_places(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        for name in ("z", "a", "m"):
            await record(harness, claimed.ticket, name)
        assert list(await recorded(harness, claimed.run_key)) == ["z", "a", "m"]

    async def test_a_later_record_does_not_replace_the_first(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await record(harness, claimed.ticket, "charge", "1")
        assert await record(harness, claimed.ticket, "charge", "2") == "1"
        assert await recorded(harness, claimed.run_key) == {"charge": "1"}

    async def test_fingerprints_of_a_run_that_was_done_again_are_not_lost(
        self, harness: StoreHarness
    ) -> None:
        first = await claim_one(harness)
        await record(harness, first.ticket, *step_of(fingerprint_of(1, "99.00 €")))
        await finish(harness, death(first.ticket))
        await harness.store.ledger.replay(NS, [first.run_key], 0.0, ANNA)
        (second,) = await claim(harness, BOB)
        await record(harness, second.ticket, *step_of(fingerprint_of(2, "990.00 €")))
        assert await record(harness, first.ticket, *step_of(fingerprint_of(3, "0.00 €"))) is None
        found = fingerprints(await recorded(harness, first.run_key))
        assert [(one.attempt, one.text) for one in found] == [(1, "99.00 €"), (2, "990.00 €")]
        assert why_differing(found) is not None

    async def test_of_two_records_at_once_both_hear_the_same(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        every = await asyncio.gather(
            *(record(harness, claimed.ticket, "charge", str(number)) for number in range(4))
        )
        assert set(every) == set((await recorded(harness, claimed.run_key)).values())

    async def test_a_retry_does_not_start_without_what_was_recorded(self, harness: StoreHarness) -> None:
        first = await claim_one(harness)
        await record(harness, first.ticket, "charge", "1")
        await finish(harness, retry(first.ticket))
        (second,) = await claim(harness, BOB)
        assert await record(harness, second.ticket, "charge", "2") == "1"
        assert await record(harness, second.ticket, "mail", "3") == "3"
        assert await recorded(harness, first.run_key) == {"charge": "1", "mail": "3"}

    async def test_a_rescued_run_does_not_forget_its_steps(self, harness: StoreHarness) -> None:
        first, second = await rescued(harness)
        assert await recorded(harness, first.run_key) == {"charge": "1"}
        assert await record(harness, second.ticket, "mail") is not None

    async def test_an_attempt_that_lost_its_run_does_not_record(self, harness: StoreHarness) -> None:
        first, second = await rescued(harness)
        assert await record(harness, first.ticket, "late", "1") is None
        assert await record(harness, first.ticket, "charge", "1") is None
        assert list(await recorded(harness, second.run_key)) == ["charge"]

    async def test_an_attempt_that_has_ended_does_not_record(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        assert await record(harness, claimed.ticket, "late") is None
        again = await claim_one(harness, "two")
        await finish(harness, retry(again.ticket, in_s=60))
        assert await record(harness, again.ticket, "late") is None
        assert await recorded(harness, claimed.run_key) == {}

    async def test_a_wrong_ticket_does_not_record(self, harness: StoreHarness) -> None:
        ticket = (await claim_one(harness)).ticket
        for wrong in (
            replace(ticket, attempt=2),
            replace(ticket, fence=Fence(ticket.fence + 1)),
            replace(ticket, namespace=OTHER_NS),
            replace(ticket, run_key=RunKey("report#never")),
        ):
            assert await record(harness, wrong, "step") is None
            assert await recorded(harness, wrong.run_key) == {}

    async def test_runs_do_not_share_steps(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", "b")
        one, two = await claim(harness)
        await record(harness, one.ticket, "charge", "1")
        assert await record(harness, two.ticket, "charge", "2") == "2"

    async def test_a_replay_does_not_forget_what_was_recorded(self, harness: StoreHarness) -> None:
        first = await claim_one(harness)
        await record(harness, first.ticket, "charge", "1")
        await finish(harness, death(first.ticket))
        await harness.store.ledger.replay(NS, [first.run_key], 0.0, ANNA)
        assert await recorded(harness, first.run_key) == {"charge": "1"}
        assert await record(harness, first.ticket, "late") is None

    async def test_forget_does_not_keep_the_steps_of_a_tick(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await record(harness, claimed.ticket, "charge")
        await finish(harness, success(claimed.ticket))
        await harness.advance(DAY_S + 1)
        assert await forget(harness) == 1
        assert await recorded(harness, claimed.run_key) == {}

    async def test_forget_does_not_keep_the_steps_of_a_run_by_hand(self, harness: StoreHarness) -> None:
        claimed, kept = await claim_one(harness), await claim_one(harness, "two")
        await record(harness, claimed.ticket, "charge")
        await record(harness, kept.ticket, "charge")
        await finish(harness, success(claimed.ticket))
        await harness.advance(DAY_S + 1)
        assert await forget(harness) == 1
        assert await recorded(harness, claimed.run_key) == {}
        assert list(await recorded(harness, kept.run_key)) == ["charge"]


async def record(harness: StoreHarness, ticket: Ticket, name: str, result: str = "null") -> str | None:
    """Record a step of one attempt."""
    return await harness.store.steps.record(ticket, name, result)


async def recorded(harness: StoreHarness, run_key: RunKey) -> dict[str, str]:
    """What a run has recorded."""
    return dict(await harness.store.steps.recorded(NS, run_key))


async def rescued(harness: StoreHarness) -> tuple[Claim, Claim]:
    """An attempt that recorded a step and lost its run, and the one after it."""
    first = await claim_one(harness)
    await record(harness, first.ticket, "charge", "1")
    await harness.advance(31)
    await harness.store.ledger.rescue([Rescue(first.ticket, RunState.READY, "silent")])
    (second,) = await claim(harness, BOB)
    return first, second
