"""The behaviour of a paused queue: nothing of it starts, and everything else goes on."""

from __future__ import annotations

from fencepost.core.limits import decide
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import DEFAULT_QUEUE, Queue, ScheduleId
from fencepost.model.run import RunState
from fencepost.model.status import QueueView
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_JOB,
    OTHER_NS,
    at,
    claim,
    claim_request,
    due_ticks,
    end_all,
    enqueue,
    finish,
    make_spec,
    put,
    read,
    retry,
    start_all,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.limits import limit, take
from fencepost.testing.conformance.operators import ANNA
from fencepost.testing.conformance.signals import hint

MAIL = Queue("mail")
PAUSED = Scope(ScopeKind.QUEUE, DEFAULT_QUEUE)
BOTH = claim_request(queues=(DEFAULT_QUEUE, MAIL))


class QueueFreezeContract:
    """Pause and resume."""

    async def test_nothing_of_a_paused_queue_starts(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a")
        await enqueue(harness, "b", queue=MAIL)
        assert await harness.store.freezes.freeze(NS, PAUSED, ANNA)
        outlook = await harness.store.ledger.outlook(BOTH)
        assert [head.queue for head in outlook.directs] == [MAIL]
        claims = await harness.store.ledger.claim_direct(BOTH, MANY)
        assert [one.run_key for one in claims] == ["report#b"]

    async def test_a_retry_in_a_paused_queue_does_not_start(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a")
        (claimed,) = await claim(harness)
        await harness.store.freezes.freeze(NS, PAUSED, ANNA)
        await finish(harness, retry(claimed.ticket))
        assert await claim(harness) == []

    async def test_a_tick_of_a_paused_queue_does_not_start(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(), ScheduleId("paused"))
        await put(harness, make_spec(queue=MAIL), ScheduleId("open"))
        for name in ("paused", "open"):
            await due_ticks(harness, 5, schedule_id=ScheduleId(name))
        await harness.store.freezes.freeze(NS, PAUSED, ANNA)
        claims = await harness.store.ledger.claim_ticks(BOTH, MANY, start_all)
        assert [one.schedule_id for one in claims] == ["open"]

    async def test_a_tick_in_a_paused_queue_is_not_started_with_its_schedule(
        self, harness: StoreHarness
    ) -> None:
        await put(harness, make_spec(queue=MAIL))
        (old,) = await due_ticks(harness, 5)
        await put(harness, make_spec())
        (new,) = await due_ticks(harness, 5)
        await harness.store.freezes.freeze(NS, PAUSED, ANNA)
        claims = await harness.store.ledger.claim_ticks(BOTH, MANY, start_all)
        assert [one.run_key for one in claims] == [old]
        assert (await read(harness, new)).state is RunState.READY

    async def test_a_line_does_not_start_in_a_paused_queue(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=5)
        await enqueue(harness, "a")
        await harness.store.ledger.claim_direct(BOTH, MANY)
        await harness.store.freezes.freeze(NS, PAUSED, ANNA)
        assert not (await harness.store.ledger.outlook(BOTH)).is_anything_due
        assert list(await harness.store.ledger.claim_lined(BOTH, MANY, decide)) == []
        await harness.store.freezes.thaw(NS, PAUSED, ANNA)
        assert len(await take(harness)) == 1

    async def test_the_thaw_does_not_leave_anything_behind(self, harness: StoreHarness) -> None:
        (key,) = await enqueue(harness, "a")
        await harness.store.freezes.freeze(NS, PAUSED, ANNA)
        assert not await harness.store.freezes.freeze(NS, PAUSED, ANNA)
        async with hint(harness, Topic.RUNS):
            assert await harness.store.freezes.thaw(NS, PAUSED, ANNA)
        assert [one.run_key for one in await claim(harness)] == [key]
        assert not await harness.store.freezes.thaw(NS, PAUSED, ANNA)

    async def test_a_paused_queue_does_not_stop_lateness(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 5)
        await harness.store.freezes.freeze(NS, PAUSED, ANNA)
        await harness.advance(3600)
        assert await harness.store.ledger.sweep_late(60, MANY, end_all) == 1
        assert (await read(harness, key)).state is RunState.MISSED

    async def test_another_namespace_is_not_paused(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", namespace=OTHER_NS)
        await harness.store.freezes.freeze(NS, PAUSED, ANNA)
        theirs = claim_request(namespace=OTHER_NS)
        assert len(await harness.store.ledger.claim_direct(theirs, MANY)) == 1

    async def test_the_list_does_not_leave_out_a_paused_queue(self, harness: StoreHarness) -> None:
        await harness.store.freezes.freeze(NS, PAUSED, ANNA)
        assert [one.scope for one in await harness.store.freezes.all(NS)] == [PAUSED]


class QueueViewContract:
    """What is in each queue."""

    async def test_a_queue_does_not_hide_what_waits_for_limits(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await enqueue(harness, "a", "b", "c")
        await harness.advance(7)
        await take(harness)
        await enqueue(harness, "d", job=OTHER_JOB, queue=MAIL)
        await enqueue(harness, "e", job=OTHER_JOB, queue=MAIL, run_at=at(harness, 60))
        views = await harness.store.ledger.queues(NS)
        assert list(views) == [QueueView(DEFAULT_QUEUE, 0, 2, 1, None, 7.0), QueueView(MAIL, 1, 0, 0, 0.0)]

    async def test_a_queue_with_nothing_in_it_is_not_listed(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", namespace=OTHER_NS)
        assert list(await harness.store.ledger.queues(NS)) == []
