"""The behaviour of the store as a whole."""

from __future__ import annotations

from datetime import timedelta

from fencepost.testing.conformance.harness import StoreHarness


class StoreContract:
    """Its clock, its shards, its end."""

    async def test_the_clock_is_not_naive(self, harness: StoreHarness) -> None:
        now = await harness.store.now()
        assert now == harness.now
        assert now.utcoffset() == timedelta(0)

    async def test_the_clock_does_not_move_but_by_the_harness(self, harness: StoreHarness) -> None:
        before = await harness.store.now()
        await harness.advance(90.5)
        assert await harness.store.now() == before + timedelta(seconds=90.5)

    async def test_closing_twice_is_no_fault(self, harness: StoreHarness) -> None:
        await harness.store.close()
        await harness.store.close()
