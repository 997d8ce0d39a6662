"""The behaviour of the ledger towards people: runs by hand, cancelling, listing, counting."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fencepost.model.identifiers import Queue, RunKey
from fencepost.model.json import JsonObject
from fencepost.model.run import RunFilter, RunRecord, RunState
from fencepost.testing.conformance.builders import (
    JOB,
    NS,
    OTHER_JOB,
    OTHER_NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    at,
    by_hand,
    claim,
    claim_one,
    close_to,
    due_ticks,
    enqueue,
    finish,
    make_spec,
    plan_ticks,
    put,
    read,
    retry,
    start_tick,
    start_ticks,
    states,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness

PLANNED, READY, RUNNING = RunState.PLANNED, RunState.READY, RunState.RUNNING


class LedgerContract:
    """What people do and see."""

    async def test_a_run_by_hand_does_not_wait(self, harness: StoreHarness) -> None:
        run = by_hand("one", queue=Queue("heavy"), priority=3, payload={"ids": [1, None, "é"]})
        assert list(await harness.store.ledger.enqueue(NS, [run])) == [True]
        record = await read(harness, run.run_key)
        assert (record.state, record.schedule_id, record.job) == (READY, None, JOB)
        assert record.fire_time == record.run_at == harness.now
        assert (record.queue, record.priority, record.payload) == ("heavy", 3, run.payload)
        assert (record.version, record.attempt, record.fence, record.epoch) == (0, 0, 0, 0)

    async def test_a_run_for_later_is_not_ready(self, harness: StoreHarness) -> None:
        (key,) = await enqueue(harness, "one", run_at=at(harness, 60))
        record = await read(harness, key)
        assert (record.state, record.fire_time) == (PLANNED, at(harness, 60))

    async def test_a_repeated_key_does_not_change_the_old_row(self, harness: StoreHarness) -> None:
        (key,) = await enqueue(harness, "one", payload={"n": 1})
        again = [by_hand("one", payload={"n": 2}), by_hand("two")]
        assert list(await harness.store.ledger.enqueue(NS, again)) == [False, True]
        assert (await read(harness, key)).payload == {"n": 1}

    async def test_a_repeated_key_does_not_revive_an_ended_run(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        assert list(await harness.store.ledger.enqueue(NS, [by_hand("one")])) == [False]
        assert await states(harness, claimed.run_key) == [RunState.SUCCEEDED]

    async def test_half_of_a_surrogate_pair_in_a_payload_stops_no_call(self, harness: StoreHarness) -> None:
        """As the name of a file may have it, where it is not text in the system's encoding."""
        payload = {"file": "caf\udce9", "names": ["\ud800"]}
        (key,) = await enqueue(harness, "odd", payload=payload)
        assert (await read(harness, key)).payload == payload
        (claimed,) = await claim(harness)
        assert claimed.payload == payload

    async def test_payloads_of_one_call_come_back_as_they_were(self, harness: StoreHarness) -> None:
        """Whatever a store sends them in: control characters, numbers of any size, nothing at all."""
        payloads: list[JsonObject] = [
            {
                "text": "".join(map(chr, range(32))) + "\x7f\x85\u2028 ü 😀",
                "b": 1,
                "a": [None, {"c": "\x1e"}],
            },
            {"n": 10**40, "tiny": 1e-7, "huge": 1e300, "minus": -(2**63), "true": True, "null": None},
            {},
            {"file": "caf\udce9"},
            {"": ""},
        ]
        runs = [by_hand(str(number), payload=one) for number, one in enumerate(payloads)]
        assert list(await harness.store.ledger.enqueue(NS, runs)) == [True] * len(payloads)
        assert [(await read(harness, run.run_key)).payload for run in runs] == payloads
        assert {one.run_key: one.payload for one in await claim(harness)} == {
            run.run_key: payload for run, payload in zip(runs, payloads, strict=True)
        }

    async def test_namespaces_do_not_share_keys(self, harness: StoreHarness) -> None:
        (key,) = await enqueue(harness, "one")
        await enqueue(harness, "one", namespace=OTHER_NS, payload={"n": 2})
        assert (await read(harness, key)).payload == {}
        assert len(await listed(harness)) == 1

    async def test_enqueueing_nothing_is_no_fault(self, harness: StoreHarness) -> None:
        assert list(await harness.store.ledger.enqueue(NS, [])) == []

    async def test_an_unknown_run_is_not_there(self, harness: StoreHarness) -> None:
        key = RunKey("report#never")
        assert await harness.store.ledger.get(NS, key) is None
        assert list(await harness.store.ledger.attempts(NS, key)) == []
        assert await harness.store.ledger.cancel(NS, key, "never mind") is None

    async def test_a_tick_shows_the_payload_of_the_version_that_planned_it(
        self, harness: StoreHarness
    ) -> None:
        await put(harness, make_spec(payload={"n": 1}))
        (key,) = await due_ticks(harness, 60)
        await put(harness, make_spec(payload={"n": 2}))
        assert (await read(harness, key)).payload == {"n": 1}
        assert [run.payload for run in await listed(harness)] == [{"n": 1}]

    async def test_a_due_planned_run_is_listed_as_ready(self, harness: StoreHarness) -> None:
        await put(harness)
        due, future = await plan_ticks(harness, 30, 60)
        await harness.advance(30)
        assert await states(harness, due, future) == [READY, PLANNED]
        assert {run.run_key: run.state for run in await listed(harness)} == {
            due: READY,
            future: PLANNED,
        }
        assert await keys(harness, state=READY) == [due]
        assert await keys(harness, state=PLANNED) == [future]

    async def test_a_waiting_retry_is_not_shown_as_planned(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, retry(claimed.ticket, in_s=60))
        assert await keys(harness, state=READY) == [claimed.run_key]
        assert await keys(harness, state=PLANNED) == []

    async def test_the_list_is_newest_first_and_not_longer_than_its_limit(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        planned = await plan_ticks(harness, 30, 60, 90)
        assert await keys(harness) == planned[::-1]
        assert await keys(harness, limit=2) == [planned[2], planned[1]]

    async def test_the_list_does_not_show_what_was_filtered_out(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        (tick,) = await plan_ticks(harness, 30)
        await plan_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        (resize,) = await enqueue(harness, "one", job=OTHER_JOB)
        assert await keys(harness, schedule_id=SCHEDULE) == [tick]
        assert await keys(harness, job=OTHER_JOB) == [resize]
        assert await keys(harness, state=RUNNING) == []

    async def test_the_list_does_not_reach_out_of_its_time(self, harness: StoreHarness) -> None:
        await put(harness)
        first, second, third = await plan_ticks(harness, 30, 60, 90)
        assert await keys(harness, since=at(harness, 45)) == [third, second]
        assert await keys(harness, until=at(harness, 75)) == [second, first]
        assert await keys(harness, since=at(harness, 45), until=at(harness, 75)) == [second]

    async def test_cancel_ends_what_has_not_started(self, harness: StoreHarness) -> None:
        await put(harness)
        (planned,) = await plan_ticks(harness, 60)
        (ready,) = await enqueue(harness, "one")
        for key in (planned, ready):
            record = await harness.store.ledger.cancel(NS, key, "never mind")
            assert record is not None
            assert (record.state, record.finished_at) == (RunState.CANCELLED, harness.now)
            assert record.reason == "never mind"
            assert record == await read(harness, key)
        assert await claim(harness) == []

    async def test_cancel_does_not_end_a_running_run(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        record = await harness.store.ledger.cancel(NS, claimed.run_key, "never mind")
        assert record is not None
        assert (record.state, record.cancel_requested) == (RUNNING, True)
        assert await finish(harness, success(claimed.ticket)) == "accepted"

    async def test_cancel_does_not_change_an_ended_run(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, success(claimed.ticket))
        before = await read(harness, claimed.run_key)
        await harness.advance(5)
        after = await harness.store.ledger.cancel(NS, claimed.run_key, "too late")
        assert after == before == await read(harness, claimed.run_key)

    async def test_a_cancelled_retry_does_not_run_again(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, retry(claimed.ticket))
        record = await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
        assert record is not None
        assert record.state is RunState.CANCELLED
        assert await claim(harness) == []

    async def test_cancelling_a_retry_kills_the_old_ticket(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, retry(claimed.ticket))
        record = await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
        assert record is not None
        assert record.fence > claimed.fence
        assert await finish(harness, success(claimed.ticket)) == "refused"

    async def test_cancel_does_not_cross_namespaces(self, harness: StoreHarness) -> None:
        (key,) = await enqueue(harness, "one")
        assert await harness.store.ledger.cancel(OTHER_NS, key, "not mine") is None
        assert await states(harness, key) == [READY]

    async def test_depth_counts_what_is_due_and_not_what_will_be(self, harness: StoreHarness) -> None:
        await put(harness)
        await plan_ticks(harness, 30, 60)
        claimed = await claim_one(harness)
        await finish(harness, retry(claimed.ticket, in_s=3600))
        await enqueue(harness, "two", namespace=OTHER_NS)
        await harness.advance(40)
        depth = await harness.store.ledger.depth(NS)
        assert (depth.ready, depth.running) == (1, 0)
        assert depth.oldest_ready_s is not None
        assert close_to(depth.oldest_ready_s, 10)

    async def test_an_empty_queue_has_no_age(self, harness: StoreHarness) -> None:
        await start_tick(harness)
        depth = await harness.store.ledger.depth(NS)
        assert (depth.ready, depth.running, depth.oldest_ready_s) == (0, 1, None)

    async def test_tally_does_not_count_the_future_or_the_distant_past(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 10)
        await start_ticks(harness)
        await plan_ticks(harness, 100, 110, 200)
        await harness.advance(120)
        await enqueue(harness, "one", namespace=OTHER_NS)
        tally = await harness.store.ledger.tally(NS, 60)
        assert {state: count for state, count in tally.items() if count} == {READY: 2}
        tally = await harness.store.ledger.tally(NS, 3600)
        assert {state: count for state, count in tally.items() if count} == {READY: 2, RUNNING: 1}

    async def test_ended_runs_do_not_lack_their_end(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        assert (await read(harness, claimed.run_key)).finished_at is None
        await harness.advance(5)
        await finish(harness, success(claimed.ticket))
        record = await read(harness, claimed.run_key)
        assert record.started_at == claimed.started_at
        assert record.finished_at == claimed.started_at + timedelta(seconds=5)


async def listed(harness: StoreHarness, **where: Any) -> list[RunRecord]:
    """Runs that pass the filter."""
    return list(await harness.store.ledger.list(NS, RunFilter(**where)))


async def keys(harness: StoreHarness, **where: Any) -> list[RunKey]:
    """Keys of the runs that pass the filter."""
    return [run.run_key for run in await listed(harness, **where)]
