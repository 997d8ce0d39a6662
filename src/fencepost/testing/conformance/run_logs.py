"""The behaviour of the logs of runs: whose lines are taken, what gives way, and how they are read."""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.identifiers import Fence, RunKey
from fencepost.model.rescue import Rescue
from fencepost.model.run import RunState, Ticket
from fencepost.model.run_log import LOG_BEGIN, LogChunk, LogPage, LogPlace, LogSpot
from fencepost.testing.conformance.builders import (
    BOB,
    MANY,
    NS,
    OTHER_NS,
    claim,
    claim_one,
    enqueue,
    finish,
    retry,
    start_tick,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA
from fencepost.testing.conformance.retention import DAY_S, forget
from fencepost.testing.conformance.steps import rescued


class RunLogsContract:
    """What a run leaves to be read."""

    async def test_lines_do_not_change(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        chunk = LogChunk(1, 0, 2, 'one\ntwo — drei "vier"')
        await append(harness, claimed.ticket, chunk)
        (found,) = await harness.store.run_logs.read(NS, claimed.run_key, limit=MANY)
        assert (found.attempt, found.chunk, found.at) == (1, chunk, harness.now)

    async def test_a_repeated_page_is_not_written_twice(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        assert await append(harness, claimed.ticket, chunk(1), chunk(2))
        await harness.advance(5)
        assert await append(harness, claimed.ticket, chunk(2), chunk(3))
        assert await texts(harness, claimed.run_key) == ["chunk 1", "chunk 2", "chunk 3"]

    async def test_what_gives_way_is_not_kept_and_all_else_is(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await append(harness, claimed.ticket, *map(chunk, range(1, 6)))
        page = LogPage(claimed.ticket, (chunk(6),), kept_through=2, kept_from=5)
        assert list(await harness.store.run_logs.append([page])) == [True]
        assert await texts(harness, claimed.run_key) == ["chunk 1", "chunk 2", "chunk 5", "chunk 6"]

    async def test_pages_do_not_change_places(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", "b", "c")
        one, two, three = (claimed.ticket for claimed in await claim(harness))
        pages = [
            LogPage(one, (chunk(1), chunk(2))),
            LogPage(replace(two, fence=Fence(two.fence + 100)), (chunk(1),)),
            LogPage(three, (chunk(7),)),
        ]
        assert list(await harness.store.run_logs.append(pages)) == [True, False, True]
        assert await texts(harness, one.run_key) == ["chunk 1", "chunk 2"]
        assert await texts(harness, two.run_key) == []
        assert await texts(harness, three.run_key) == ["chunk 7"]
        assert list(await harness.store.run_logs.append([])) == []

    async def test_the_last_lines_are_taken_after_the_end(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        assert await append(harness, claimed.ticket, chunk(1))
        assert await texts(harness, claimed.run_key) == ["chunk 1"]

    async def test_the_lines_of_a_lost_attempt_are_not_taken(self, harness: StoreHarness) -> None:
        first, second = await rescued(harness)
        assert not await append(harness, first.ticket, chunk(1))
        assert await append(harness, second.ticket, chunk(1))
        (found,) = await harness.store.run_logs.read(NS, first.run_key, limit=MANY)
        assert found.attempt == 2

    async def test_lines_are_not_taken_between_a_rescue_and_the_next_attempt(
        self, harness: StoreHarness
    ) -> None:
        claimed = await claim_one(harness)
        await harness.advance(31)
        await harness.store.ledger.rescue([Rescue(claimed.ticket, RunState.READY, "silent")])
        assert not await append(harness, claimed.ticket, chunk(1))
        assert await texts(harness, claimed.run_key) == []

    async def test_a_replayed_run_does_not_take_lines_of_before(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await append(harness, claimed.ticket, chunk(1))
        await finish(harness, success(claimed.ticket))
        await harness.store.ledger.replay(NS, [claimed.run_key], 0.0, ANNA)
        assert not await append(harness, claimed.ticket, chunk(2))
        assert await texts(harness, claimed.run_key) == ["chunk 1"]

    async def test_no_other_ticket_writes_to_a_log(self, harness: StoreHarness) -> None:
        ticket = (await claim_one(harness)).ticket
        for wrong in (replace(ticket, attempt=2), replace(ticket, namespace=OTHER_NS)):
            assert not await append(harness, wrong, chunk(1))
        assert await texts(harness, ticket.run_key) == []

    async def test_attempts_do_not_mix_their_lines(self, harness: StoreHarness) -> None:
        first = await claim_one(harness)
        await append(harness, first.ticket, chunk(1), chunk(2))
        await finish(harness, retry(first.ticket))
        (second,) = await claim(harness, BOB)
        page = LogPage(second.ticket, (chunk(5),), kept_through=0, kept_from=5)
        await harness.store.run_logs.append([page])
        assert await texts(harness, first.run_key) == ["chunk 1", "chunk 2", "chunk 5"]
        assert await texts(harness, first.run_key, attempt=1) == ["chunk 1", "chunk 2"]
        assert await texts(harness, first.run_key, attempt=2) == ["chunk 5"]

    async def test_reading_on_does_not_begin_anew(self, harness: StoreHarness) -> None:
        first = await claim_one(harness)
        await append(harness, first.ticket, *map(chunk, (1, 2, 3)))
        await finish(harness, retry(first.ticket))
        (second,) = await claim(harness, BOB)
        await append(harness, second.ticket, chunk(1))
        seen, place = [], LogPlace(0)
        while found := await harness.store.run_logs.read(NS, first.run_key, after=place, limit=2):
            assert len(found) <= 2
            seen += [(one.attempt, one.chunk.number) for one in found]
            place = found[-1].place
        assert seen == [(1, 1), (1, 2), (1, 3), (2, 1)]

    async def test_reading_on_in_many_logs_does_not_mix_them(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", "b", "c")
        one, two, silent = await claim(harness)
        await append(harness, one.ticket, *map(chunk, (1, 2, 3, 4)))
        await append(harness, two.ticket, chunk(7))
        spots = [
            LogSpot(NS, two.run_key, LOG_BEGIN),
            LogSpot(NS, one.run_key, LogPlace(1, 1)),
            LogSpot(NS, silent.run_key, LOG_BEGIN),
            LogSpot(OTHER_NS, one.run_key, LOG_BEGIN),
            LogSpot(NS, one.run_key, LogPlace(1, 3)),
        ]
        found = await harness.store.run_logs.read_on(spots, 2)
        assert [[each.chunk.number for each in chunks] for chunks in found] == [[7], [2, 3], [], [], [4]]
        assert list(await harness.store.run_logs.read_on([], 2)) == []

    async def test_the_tail_is_not_the_head(self, harness: StoreHarness) -> None:
        first = await claim_one(harness)
        await append(harness, first.ticket, *map(chunk, (1, 2, 3)))
        await finish(harness, retry(first.ticket))
        (second,) = await claim(harness, BOB)
        await append(harness, second.ticket, chunk(9))
        tail = await harness.store.run_logs.tail(NS, first.run_key, limit=2)
        assert [one.place for one in tail] == [LogPlace(1, 3), LogPlace(2, 9)]
        tail = await harness.store.run_logs.tail(NS, first.run_key, attempt=1, limit=2)
        assert [one.chunk.text for one in tail] == ["chunk 2", "chunk 3"]

    async def test_forget_does_not_keep_the_log_of_a_tick(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await append(harness, claimed.ticket, chunk(1))
        await finish(harness, success(claimed.ticket))
        await harness.advance(DAY_S + 1)
        assert await forget(harness) == 1
        assert await texts(harness, claimed.run_key) == []

    async def test_forget_does_not_keep_the_log_of_a_run_by_hand(self, harness: StoreHarness) -> None:
        claimed, kept = await claim_one(harness), await claim_one(harness, "two")
        await append(harness, claimed.ticket, chunk(1))
        await append(harness, kept.ticket, chunk(1))
        await finish(harness, success(claimed.ticket))
        await harness.advance(DAY_S + 1)
        assert await forget(harness) == 1
        assert await texts(harness, claimed.run_key) == []
        assert await texts(harness, kept.run_key) == ["chunk 1"]


def chunk(number: int) -> LogChunk:
    """A chunk of one line."""
    return LogChunk(number, number - 1, 1, f"chunk {number}")


async def append(harness: StoreHarness, ticket: Ticket, *chunks: LogChunk) -> bool:
    """Add to the log of one attempt; whether it was taken."""
    (taken,) = await harness.store.run_logs.append([LogPage(ticket, chunks)])
    return taken


async def texts(harness: StoreHarness, run_key: RunKey, attempt: int | None = None) -> list[str]:
    """The chunks of a run's log."""
    found = await harness.store.run_logs.read(NS, run_key, attempt=attempt, limit=MANY)
    return [one.chunk.text for one in found]
