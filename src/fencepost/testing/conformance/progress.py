"""The behaviour of progress: the last report stands, and only the run's owner may report."""

from __future__ import annotations

from fencepost.model.run import ProgressReport, RunRecord, Ticket
from fencepost.testing.conformance.builders import (
    BOB,
    NS,
    claim,
    claim_one,
    death,
    enqueue,
    finish,
    read,
    retry,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA
from fencepost.testing.conformance.retention import DAY_S, forget


class ProgressContract:
    """What a job says of itself."""

    async def test_the_last_word_of_progress_stands(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        assert await say(harness, claimed.ticket, "0.1", "first page")
        await harness.advance(5)
        assert await say(harness, claimed.ticket, "0.2", "second page")
        assert words(await read(harness, claimed.run_key)) == ("0.2", "second page")
        assert (await read(harness, claimed.run_key)).progress_at == harness.now

    async def test_a_word_that_is_left_out_does_not_take_the_other_away(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await say(harness, claimed.ticket, "0.1", "first page")
        await say(harness, claimed.ticket, "0.2")
        assert words(await read(harness, claimed.run_key)) == ("0.2", "first page")
        await say(harness, claimed.ticket, note="second page")
        assert words(await read(harness, claimed.run_key)) == ("0.2", "second page")

    async def test_a_sign_of_progress_needs_no_words(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        assert (await read(harness, claimed.run_key)).progress_at is None
        await harness.advance(5)
        assert await say(harness, claimed.ticket)
        run = await read(harness, claimed.run_key)
        assert (*words(run), run.progress_at) == (None, None, harness.now)

    async def test_reports_do_not_change_places(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", "b", "c")
        one, two, three = (claimed.ticket for claimed in await claim(harness))
        await finish(harness, success(two))
        said = [ProgressReport(ticket, f"of {ticket.run_key}") for ticket in (three, two, one)]
        assert list(await harness.store.ledger.report_progress(said)) == [True, False, True]
        for ticket in (one, three):
            assert (await read(harness, ticket.run_key)).progress == f"of {ticket.run_key}"
        assert (await read(harness, two.run_key)).progress is None
        assert list(await harness.store.ledger.report_progress([])) == []

    async def test_a_lost_attempt_does_not_report_progress(self, harness: StoreHarness) -> None:
        first = await claim_one(harness)
        await finish(harness, retry(first.ticket))
        await claim(harness, BOB)
        assert not await say(harness, first.ticket, "0.5", "half way")
        run = await read(harness, first.run_key)
        assert (*words(run), run.progress_at) == (None, None, None)

    async def test_a_replayed_run_does_not_say_how_far_it_once_was(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await say(harness, claimed.ticket, "0.5", "half way")
        await finish(harness, death(claimed.ticket))
        await harness.store.ledger.replay(NS, [claimed.run_key], 0.0, ANNA)
        run = await read(harness, claimed.run_key)
        assert (*words(run), run.progress_at) == (None, None, None)

    async def test_forget_does_not_keep_what_a_run_by_hand_was_at(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await say(harness, claimed.ticket, "0.5", "half way")
        await finish(harness, success(claimed.ticket))
        await harness.advance(DAY_S + 1)
        await forget(harness)
        run = await read(harness, claimed.run_key)
        assert (*words(run), run.progress_at) == (None, None, None)


async def say(
    harness: StoreHarness, ticket: Ticket, progress: str | None = None, note: str | None = None
) -> bool:
    """One report of one attempt; whether it was taken."""
    (taken,) = await harness.store.ledger.report_progress([ProgressReport(ticket, progress, note)])
    return taken


def words(run: RunRecord) -> tuple[str | None, str | None]:
    """How far the run says to be, and what it is at."""
    return run.progress, run.note
