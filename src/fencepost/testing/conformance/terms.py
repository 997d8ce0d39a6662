"""The behaviour of what the ledger remembers of its leaders: their terms, and the writes it refused."""

from __future__ import annotations

from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.leader import Refusal
from fencepost.model.lease import Granted
from fencepost.testing.conformance.builders import ALICE, BOB, MANY, NS, at, register
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA

FIRST, SECOND = Shard(0), Shard(1)
Seen = tuple[int, int, NodeId, float, float | None]


class TermContract:
    """Who led which shard, from when until when."""

    async def test_a_term_does_not_outlive_the_next(self, harness: StoreHarness) -> None:
        await register(harness.store, FIRST, 3)
        await harness.advance(10)
        await register(harness.store, FIRST, 5, BOB)
        await harness.advance(10)
        assert await terms(harness) == [(0, 5, BOB, 10, None), (0, 3, ALICE, 20, 10)]

    async def test_the_same_grant_again_is_no_new_term(self, harness: StoreHarness) -> None:
        await register(harness.store, FIRST, 3)
        await harness.advance(10)
        await register(harness.store, FIRST, 3)
        assert await terms(harness) == [(0, 3, ALICE, 10, None)]

    async def test_a_grant_that_was_refused_is_no_term(self, harness: StoreHarness) -> None:
        await register(harness.store, FIRST, 3)
        assert not await register(harness.store, FIRST, 2, BOB)
        assert await terms(harness) == [(0, 3, ALICE, 0, None)]

    async def test_a_shard_does_not_end_the_term_of_another(self, harness: StoreHarness) -> None:
        await harness.store.epochs.register({FIRST: Granted(Epoch(3)), SECOND: Granted(Epoch(4))}, ALICE)
        await harness.advance(10)
        await register(harness.store, SECOND, 7, BOB)
        assert await terms(harness, FIRST) == [(0, 3, ALICE, 10, None)]
        assert await terms(harness, SECOND) == [(1, 7, BOB, 0, None), (1, 4, ALICE, 10, 0)]

    async def test_a_new_cut_begins_new_terms_and_ends_those_of_shards_that_are_gone(
        self, harness: StoreHarness
    ) -> None:
        await register(harness.store, FIRST, 3)
        await register(harness.store, SECOND, 4)
        await harness.advance(10)
        await harness.store.epochs.reshard(1, NS, ANNA)
        assert await terms(harness, FIRST) == [(0, 4, ALICE, 0, None), (0, 3, ALICE, 10, 0)]
        assert await terms(harness, SECOND) == [(1, 4, ALICE, 10, 0)]
        await harness.advance(10)
        await harness.store.epochs.reshard(2, NS, ANNA)
        assert await terms(harness, SECOND) == [(1, 4, ALICE, 20, 10)]
        await register(harness.store, SECOND, 9, BOB)
        assert await terms(harness, SECOND) == [(1, 9, BOB, 0, None), (1, 4, ALICE, 20, 10)]

    async def test_pages_of_terms_neither_repeat_nor_leave_out(self, harness: StoreHarness) -> None:
        for epoch in range(1, 6):
            await register(harness.store, FIRST, epoch)
        book = harness.store.epochs
        first = await book.terms(None, None, 2)
        second = await book.terms(None, first[-1].number, 2)
        third = await book.terms(None, second[-1].number, 2)
        assert [one.epoch for one in (*first, *second, *third)] == [5, 4, 3, 2, 1]

    async def test_a_refusal_does_not_go_without_who_leads_by_then(self, harness: StoreHarness) -> None:
        await register(harness.store, FIRST, 5, BOB)
        book = harness.store.epochs
        await book.note_refusal(FIRST, Epoch(3), ALICE)
        await harness.advance(1)
        await book.note_refusal(SECOND, Epoch(3), ALICE)
        second, first = await book.refusals(None, MANY)
        before = at(harness, -1)
        assert first == Refusal(first.number, before, FIRST, Epoch(3), ALICE, Epoch(5), BOB)
        assert second == Refusal(second.number, harness.now, SECOND, Epoch(3), ALICE, Epoch(0), None)
        assert list(await book.refusals(second.number, MANY)) == [first]

    async def test_trimming_does_not_take_the_latest_nor_who_leads(self, harness: StoreHarness) -> None:
        book = harness.store.epochs
        await register(harness.store, SECOND, 1)
        for epoch in range(1, 6):
            await register(harness.store, FIRST, epoch)
            await book.note_refusal(FIRST, Epoch(epoch), BOB)
        assert await book.trim(3, 2) == 2 + 3
        kept = [(one.shard, one.epoch) for one in await book.terms(None, None, MANY)]
        assert kept == [(0, 5), (0, 4), (0, 3), (1, 1)]
        assert [one.epoch for one in await book.refusals(None, MANY)] == [5, 4]
        assert await book.trim(3, 2) == 0


async def terms(harness: StoreHarness, shard: Shard | None = None) -> list[Seen]:
    """Shard, epoch, holder, and how long ago the term began and ended."""

    def ago(moment: object) -> float:
        return (harness.now - moment).total_seconds()  # type: ignore[operator, no-any-return]

    return [
        (one.shard, one.epoch, one.holder, ago(one.since), None if one.until is None else ago(one.until))
        for one in await harness.store.epochs.terms(shard, None, MANY)
    ]
