"""The behaviour of hints. Waiting for one is bounded; no test waits for time to pass."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fencepost.model.audit import HOUSE
from fencepost.model.identifiers import Shard
from fencepost.model.lease import Granted
from fencepost.model.node import Node, NodeReport
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import (
    ALICE,
    NS,
    SCHEDULE,
    TZDATA,
    by_hand,
    claim_one,
    death,
    finish,
    make_spec,
    plan_ticks,
    put,
    retry,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness

PATIENCE_S = 10.0
SHARD = Shard(0)


class SignalContract:
    """Who is told of what."""

    async def test_an_enqueued_run_does_not_wait_for_the_poll(self, harness: StoreHarness) -> None:
        async with hint(harness, Topic.RUNS):
            await harness.store.ledger.enqueue(NS, [by_hand("one"), by_hand("two")])

    async def test_a_trigger_does_not_wait_for_the_poll(self, harness: StoreHarness) -> None:
        await put(harness)
        async with hint(harness, Topic.RUNS):
            await harness.store.ledger.trigger(NS, SCHEDULE, harness.now)

    async def test_a_plan_does_not_wait_for_the_poll(self, harness: StoreHarness) -> None:
        await put(harness)
        async with hint(harness, Topic.RUNS):
            await plan_ticks(harness, 60)

    async def test_a_retry_at_once_does_not_wait_for_the_poll(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        async with hint(harness, Topic.RUNS):
            await finish(harness, retry(claimed.ticket))

    async def test_the_end_of_an_awaited_run_is_told(self, harness: StoreHarness) -> None:
        for key, how in (("good", success), ("kept", partial(success, output="42")), ("bad", death)):
            claimed = await claim_one(harness, key)
            assert await harness.store.ledger.await_end(NS, claimed.run_key)
            async with hint(harness, Topic.ENDED):
                await finish(harness, how(claimed.ticket))

    async def test_an_awaited_run_that_is_called_off_is_told(self, harness: StoreHarness) -> None:
        run = by_hand("one")
        await harness.store.ledger.enqueue(NS, [run])
        assert await harness.store.ledger.await_end(NS, run.run_key)
        async with hint(harness, Topic.ENDED):
            await harness.store.ledger.cancel(NS, run.run_key, "not needed")

    async def test_the_end_of_a_run_that_is_not_awaited_is_not_told(self, harness: StoreHarness) -> None:
        first, second = await claim_one(harness, "one"), await claim_one(harness, "two")
        assert await harness.store.ledger.await_end(NS, second.run_key)
        told = asyncio.Event()
        stop = await harness.store.signals.listen(Topic.ENDED, told.set)
        try:
            await finish(harness, success(first.ticket))
            async with hint(harness, Topic.RUNS):
                await harness.store.ledger.enqueue(NS, [by_hand("three")])
            assert not told.is_set()
        finally:
            stop()

    async def test_a_run_that_has_ended_or_was_never_there_is_not_awaited(
        self, harness: StoreHarness
    ) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        assert not await harness.store.ledger.await_end(NS, claimed.run_key)
        assert not await harness.store.ledger.await_end(NS, by_hand("nowhere").run_key)

    async def test_a_released_lease_does_not_wait_for_the_poll(self, harness: StoreHarness) -> None:
        answers = await harness.store.leases.acquire([SHARD], ALICE, 10)
        held = {shard: one.epoch for shard, one in answers.items() if isinstance(one, Granted)}
        async with hint(harness, Topic.LEASES):
            await harness.store.leases.release(held, ALICE)

    async def test_a_node_that_leaves_does_not_wait_to_be_missed(self, harness: StoreHarness) -> None:
        async with hint(harness, Topic.LEASES):
            await harness.store.nodes.leave(ALICE)

    async def test_a_node_that_is_drained_does_not_wait_for_its_beat(self, harness: StoreHarness) -> None:
        await harness.store.nodes.beat(Node(ALICE, "host", 1, True, True), NodeReport(), 10)
        async with hint(harness, Topic.LEASES):
            await harness.store.nodes.drain(ALICE, True, NS, HOUSE)

    async def test_a_new_cut_of_the_shards_does_not_wait_for_the_beat(self, harness: StoreHarness) -> None:
        async with hint(harness, Topic.LEASES):
            await harness.store.epochs.reshard(harness.shards + 3, NS, HOUSE)

    async def test_a_changed_schedule_does_not_wait_for_the_poll(self, harness: StoreHarness) -> None:
        schedules = harness.store.schedules
        async with hint(harness, Topic.SCHEDULES):
            await put(harness)
        async with hint(harness, Topic.SCHEDULES):
            await put(harness, make_spec(every_s=90))
        async with hint(harness, Topic.SCHEDULES):
            await schedules.pause(NS, SCHEDULE, "holidays")
        async with hint(harness, Topic.SCHEDULES):
            await schedules.resume(NS, SCHEDULE)
        async with hint(harness, Topic.SCHEDULES):
            await schedules.renew(
                NS, SCHEDULE, make_spec(), tzdata=TZDATA, expected_version=3, reason="newer zone rules"
            )
        async with hint(harness, Topic.SCHEDULES):
            await schedules.remove(NS, SCHEDULE)

    async def test_a_changed_calendar_does_not_wait_for_the_poll(self, harness: StoreHarness) -> None:
        calendars = harness.store.calendars
        async with hint(harness, Topic.CALENDARS):
            await calendars.put(NS, "de", {"holidays": ""})
        async with hint(harness, Topic.CALENDARS):
            await calendars.put(NS, "de", {"holidays": "2026-12-25"})
        async with hint(harness, Topic.CALENDARS):
            await calendars.remove(NS, "de")

    async def test_a_listener_that_stopped_is_not_told(self, harness: StoreHarness) -> None:
        told: list[str] = []
        stop = await harness.store.signals.listen(Topic.RUNS, lambda: told.append("stopped"))
        async with hint(harness, Topic.RUNS):
            await harness.store.ledger.enqueue(NS, [by_hand("one")])
        stop()
        before = len(told)
        async with hint(harness, Topic.RUNS):
            await harness.store.ledger.enqueue(NS, [by_hand("two")])
        assert before >= 1
        assert len(told) == before

    async def test_one_listener_does_not_take_the_hint_from_another(self, harness: StoreHarness) -> None:
        async with hint(harness, Topic.RUNS), hint(harness, Topic.RUNS):
            await harness.store.ledger.enqueue(NS, [by_hand("one")])


@asynccontextmanager
async def hint(harness: StoreHarness, topic: Topic) -> AsyncIterator[None]:
    """Demand a hint about the topic, from what is done inside."""
    heard = asyncio.Event()
    stop = await harness.store.signals.listen(topic, heard.set)
    try:
        # A listener is called after each reconnection too, and connecting is one.
        heard.clear()
        yield
        await asyncio.wait_for(heard.wait(), PATIENCE_S)
    finally:
        stop()
