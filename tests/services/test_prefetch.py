"""A worker claims short runs ahead of its room, and gives back what it cannot begin."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest

from fencepost.model.identifiers import JobName
from fencepost.model.run import RunRecord, RunState
from fencepost.services import prefetch
from fencepost.services.active import WAITING_BEATS_MAX, StopCause
from fencepost.services.prefetch import Prefetch
from fencepost.telemetry.events import AttemptFinished, Event, RunClaimed, listen
from tests.services.house import Bench, House, WorkingNode, make_job, until

LEFT = ContextVar("left", default="nothing")


async def short_runs(house: House, bench: Bench, **options: Any) -> WorkingNode:
    """A node with one run in progress, and two more that wait for it to end."""
    node = WorkingNode(house, make_job(bench, **options))
    await node.register()
    for key in "abc":
        await house.enqueue(key)
    node.worker._prefetch.size = 2
    await node.worker._claim()
    await until(lambda: bench.now == 1)
    return node


async def runs_of(house: House) -> list[RunRecord]:
    return [await house.run(f"report#{key}") for key in "abc"]


def left(run: RunRecord) -> tuple[RunState, int]:
    """Its state, and how many attempts it has used."""
    return run.state, run.attempt - run.attempts_before_replay


def test_as_many_wait_as_begin_within_a_moment() -> None:
    waiting = at_work(most=40)
    assert waiting.size == 0
    waiting.ended = 10
    waiting.measure(1.25)
    assert waiting.size == int(40 * prefetch.MOMENT_S)
    waiting.ended = 1_000
    waiting.measure(1.5)
    assert waiting.size == 40


def at_work(most: int) -> Prefetch:
    """That of a worker which has something to do since the first second."""
    waiting = Prefetch(most)
    waiting.measure(1.0)
    waiting.note_work(True, 1.0)
    return waiting


def test_a_pace_of_long_ago_says_nothing() -> None:
    waiting = at_work(most=40)
    waiting.ended = 100
    waiting.measure(1.25)
    assert waiting.size == 20
    waiting.measure(60.0)
    assert waiting.size == 0


def test_few_runs_make_no_pace() -> None:
    waiting = at_work(most=40)
    waiting.ended = prefetch.PACE_OF_MIN - 1
    waiting.measure(1.25)
    assert waiting.size == 0


def test_a_slow_moment_does_not_end_a_fast_pace() -> None:
    waiting = at_work(most=400)
    waiting.ended = 1_000
    waiting.measure(1.25)
    assert waiting.size == 200
    waiting.ended = 10
    waiting.measure(1.5)
    assert waiting.size == 101


def test_waiting_for_the_store_does_not_slow_the_pace() -> None:
    waiting = at_work(most=400)
    waiting.ended = 20
    waiting.note_work(False, 1.125)
    waiting.measure(1.5)
    assert waiting.size == int(160 * prefetch.MOMENT_S)


async def test_short_runs_are_claimed_ahead_and_done_one_after_the_other() -> None:
    house, bench = House(concurrency=1), Bench()
    node = await short_runs(house, bench)
    assert [run.state for run in await runs_of(house)] == [RunState.RUNNING] * 3
    assert node.worker.busy == 3
    bench.finish.set()
    await node.reported(0)
    assert (bench.most, len(bench.begun)) == (1, 3)
    assert {left(run) for run in await runs_of(house)} == {(RunState.SUCCEEDED, 1)}


async def test_a_run_begins_with_nothing_in_its_context_that_the_one_before_it_has_left() -> None:
    house, seen = House(concurrency=1), list[str]()

    async def report() -> None:
        seen.append(LEFT.get())
        LEFT.set("left")

    node = WorkingNode(house, make_job(report))
    await node.register()
    for key in "abc":
        await house.enqueue(key)
    node.worker._prefetch.size = 2
    await node.worker._claim()
    await node.reported(0)
    assert seen == ["nothing"] * 3


async def test_without_a_pace_nothing_is_claimed_ahead() -> None:
    house, bench = House(concurrency=1), Bench()
    node = WorkingNode(house, make_job(bench))
    await node.register()
    for key in "abc":
        await house.enqueue(key)
    await node.worker.run_once()
    assert node.worker.busy == 1


async def test_nothing_is_claimed_ahead_where_it_is_turned_off() -> None:
    house = House(concurrency=1, prefetch=0)
    node = WorkingNode(house, make_job(Bench()))
    node.worker._prefetch.ended = 1_000
    await node.worker.run_once()
    assert node.worker._prefetch.size == 0


async def test_what_does_not_begin_soon_is_handed_back_and_costs_no_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house, bench = House(concurrency=1), Bench()
    node = await short_runs(house, bench, attempts=1)
    monkeypatch.setattr(prefetch, "PATIENCE_S", 0.0)
    await node.worker.run_once()
    await node.reporter.run_once()
    assert sorted(left(run) for run in await runs_of(house)) == [
        (RunState.READY, 0),
        (RunState.READY, 0),
        (RunState.RUNNING, 1),
    ]
    other = WorkingNode(house, make_job(quickly, attempts=1), name="worker-2")
    await other.work()
    await other.work()
    assert [left(run) for run in await runs_of(house)].count((RunState.SUCCEEDED, 1)) == 2
    bench.finish.set()
    await node.reported(0)
    assert len(bench.begun) == 1


async def quickly() -> None:
    return None


async def test_a_stop_hands_back_what_waits() -> None:
    house, bench = House(concurrency=1), Bench()
    node = await short_runs(house, bench)
    bench.finish.set()
    await node.worker.stop(grace_s=5)
    await node.reported(0)
    assert sorted(left(run) for run in await runs_of(house)) == [
        (RunState.READY, 0),
        (RunState.READY, 0),
        (RunState.SUCCEEDED, 1),
    ]
    assert len(node.active) == 0


async def test_a_worker_that_drains_hands_back_what_waits() -> None:
    house, bench = House(concurrency=1), Bench()
    node = await short_runs(house, bench)
    node.worker.drain(True)
    await node.reporter.run_once()
    assert [left(run) for run in await runs_of(house)].count((RunState.READY, 0)) == 2
    bench.finish.set()
    await node.reported(0)
    assert len(bench.begun) == 1


async def test_what_is_cancelled_while_it_waits_does_not_begin() -> None:
    house, bench = House(concurrency=1), Bench()
    node = await short_runs(house, bench)
    for run in await runs_of(house):
        if run.run_key not in bench.begun:
            await house.memory.ledger.cancel(run.namespace, run.run_key, "never mind")
    await node.heartbeat.run_once()
    bench.finish.set()
    await node.reported(0)
    assert len(bench.begun) == 1
    assert sorted(run.state for run in await runs_of(house)) == [
        RunState.CANCELLED,
        RunState.CANCELLED,
        RunState.SUCCEEDED,
    ]


async def test_what_is_lost_while_it_waits_does_not_begin() -> None:
    house, bench = House(concurrency=1), Bench()
    node = await short_runs(house, bench)
    for one, _ in node.worker._prefetch.waiting:
        one._stop(StopCause.LOST)
    bench.finish.set()
    await node.reported(0)
    assert len(bench.begun) == 1
    assert len(node.active) == 0
    assert [run.state for run in await runs_of(house)].count(RunState.RUNNING) == 2


async def test_of_what_a_crash_would_end_for_good_none_is_claimed_ahead() -> None:
    house, bench = House(concurrency=2), Bench()
    dear = make_job(bench, "charge", at_most_once=True), make_job(bench, "once", attempts=1)
    node = WorkingNode(house, make_job(bench), *dear)
    await node.register()
    for number in range(6):
        for job in ("charge", "once", "report"):
            await house.enqueue(f"{number}", job)
    node.worker._prefetch.size = 10
    await node.worker._claim()
    claimed = [one.claim.job for one in node.active]
    assert sum(job != "report" for job in claimed) <= 2
    assert claimed.count(JobName("report")) == 6
    bench.finish.set()
    await node.reported(0)


async def test_dear_runs_are_claimed_beside_a_flood_of_short_ones() -> None:
    house, bench = House(concurrency=2), Bench()
    node = WorkingNode(house, make_job(bench), make_job(bench, "charge", at_most_once=True))
    await node.register()
    for number in range(10):
        await house.enqueue(f"{number}", priority=1)
    node.worker._prefetch.size = 4
    await node.worker._claim()
    assert node.worker.room == 0
    node.worker._prefetch.size = 8
    await house.enqueue("now", "charge", priority=1)
    await node.worker._claim()
    assert "charge" in [one.claim.job for one in node.active]
    bench.finish.set()
    await node.reported(0)


async def test_dear_runs_do_not_wait_for_the_poll_while_others_may_be_claimed_ahead() -> None:
    house, bench = House(concurrency=2), Bench()
    node = WorkingNode(house, make_job(bench), make_job(bench, "once", attempts=1))
    await node.register()
    for number in range(4):
        await house.enqueue(f"{number}", "once")
    node.worker._prefetch.size = 10
    assert await node.worker._claim() == 0
    assert await node.worker._claim() == house.settings.poll_s
    bench.finish.set()
    await asyncio.wait_for(node.worker.wakeup.rest(house.settings.poll_s), house.settings.poll_s / 2)
    await node.reported(0)
    await node.worker._claim()
    assert len(bench.begun) + len(node.active) >= 4


async def test_what_waits_is_looked_at_in_time_where_nothing_else_is_due() -> None:
    house, bench = House(concurrency=1), Bench()
    node = await short_runs(house, bench)
    assert await node.worker._claim() <= prefetch.PATIENCE_S
    bench.finish.set()
    await node.reported(0)


async def test_an_urgent_run_is_not_overtaken_by_what_is_claimed_after_it() -> None:
    house, bench = House(concurrency=1), Bench()
    node = WorkingNode(house, make_job(bench), make_job(bench, "once", attempts=1))
    await node.register()
    await house.enqueue("first")
    node.worker._prefetch.size = 2
    await node.worker._claim()
    await house.enqueue("urgent", priority=1)
    await node.worker._claim()
    await house.enqueue("later", "once", priority=4)
    await node.worker._claim()
    await until(lambda: bench.now == 1)
    bench.finish.set()
    await node.reported(0)
    assert bench.begun == ["report#first", "report#urgent", "once#later"]


async def test_a_claim_that_comes_after_a_drain_begins_no_more_than_there_is_room_for() -> None:
    house, bench = House(concurrency=1), Bench()
    node = WorkingNode(house, make_job(bench))
    await node.register()
    for key in "abc":
        await house.enqueue(key)
    node.worker._prefetch.size = 2
    held = house.store.hold_answer("ledger.claim_direct")
    claiming = asyncio.create_task(node.worker._claim())
    await held.reached.wait()
    node.worker.drain(True)
    held.go.set()
    await claiming
    await until(lambda: bench.now == 1)
    bench.finish.set()
    await node.reported(0)
    assert len(bench.begun) == 1
    assert [left(run) for run in await runs_of(house)].count((RunState.READY, 0)) == 2


async def test_a_claim_that_waits_in_a_loop_that_stands_still_is_left_to_be_rescued() -> None:
    house, bench = House(concurrency=1), Bench()
    node = await short_runs(house, bench, timeout_s=1)
    (waiting, _), *_ = node.worker._prefetch.waiting
    assert [waiting.use_beat() for _ in range(WAITING_BEATS_MAX + 1)] == [*[True] * WAITING_BEATS_MAX, False]
    bench.finish.set()
    await node.reported(0)


async def test_what_was_handed_back_lives_until_the_ledger_has_it_back() -> None:
    house, bench = House(concurrency=1), Bench()
    node = await short_runs(house, bench)
    waiting = [one for one, _ in node.worker._prefetch.waiting]
    node.worker.drain(True)
    assert all(one.use_beat() for one in waiting for _ in range(WAITING_BEATS_MAX + 5))
    bench.finish.set()
    await node.reported(0)


async def test_what_is_handed_back_counts_as_no_attempt(caplog: pytest.LogCaptureFixture) -> None:
    house, bench = House(concurrency=1), Bench()
    told: list[Event] = []
    stop = listen(told.append)
    node = await short_runs(house, bench)
    node.worker.drain(True)
    bench.finish.set()
    await node.reported(0)
    stop()
    assert sum(isinstance(one, RunClaimed) for one in told) == 1
    assert sum(isinstance(one, AttemptFinished) for one in told) == 1
    assert not [one for one in caplog.records if one.levelname == "WARNING"]
