"""The bench for users' tests: the real services, an application's own jobs, virtual time."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from fencepost import CatchUp, Cron, Every, PermanentFailure, Retry, Run
from fencepost.errors import UsageError
from fencepost.model.run import RunState
from fencepost.operations import runs as run_operations
from fencepost.testing import Bench, BenchStuck, PlainBench
from tests.testing.apps import NOW, STARTS, make_app


async def test_every_tick_runs_in_order_and_no_other() -> None:
    app, seen = make_app(), []

    @app.job(schedule=Cron("0 */6 * * *"))
    async def report(run: Run) -> None:
        seen.append((run.fire_time, bench.now))

    async with Bench(app, now=STARTS) as bench:
        ran = await bench.advance("1d")
    expected = [NOW + timedelta(hours=hours) for hours in (6, 12, 18, 24)]
    assert seen == [(one, one) for one in expected]
    assert [one.fire_time for one in ran] == expected
    assert {one.state for one in ran} == {RunState.SUCCEEDED}


async def test_nothing_runs_before_time_passes() -> None:
    app, seen = make_app(), []

    @app.job(schedule=Every("1m"))
    async def report() -> None:
        seen.append(1)

    async with Bench(app, now=STARTS) as bench:
        assert await bench.drain() == []
        assert await bench.advance("59s") == []
        assert len(await bench.advance("1s")) == 1


async def test_drain_does_what_is_due_now_and_what_that_enqueues() -> None:
    app, seen = make_app(), []

    @app.job()
    async def first(number: int) -> None:
        seen.append(number)
        if number < 3:
            await app.enqueue(first, number=number + 1, key=f"n{number + 1}")

    async with Bench(app, now=STARTS) as bench:
        await app.enqueue(first, number=1, key="n1")
        await app.enqueue(first, number=9, key="n9", at=NOW + timedelta(hours=1))
        ran = await bench.drain()
        assert [one.run_key for one in ran] == ["first#n1", "first#n2", "first#n3"]
        assert seen == [1, 2, 3]
        assert bench.now == NOW
        await bench.advance("1h")
    assert seen == [1, 2, 3, 9]


async def test_what_is_due_at_one_moment_comes_in_the_order_in_which_it_was_enqueued() -> None:
    app, seen = make_app(), []

    @app.job()
    async def work(number: int) -> None:
        seen.append(number)

    async with Bench(app) as bench:
        for number in range(20):
            await app.enqueue(work, number=number)
        await app.enqueue_many(work, [{"number": number} for number in range(20, 40)])
        await bench.drain()
    assert seen == list(range(40))


async def test_a_plain_function_runs_in_a_thread_one_after_the_other() -> None:
    app, busy, most, threads = make_app(), 0, 0, set()
    lock = threading.Lock()

    @app.job()
    def work(number: int) -> None:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        threads.add(threading.current_thread().name)
        with lock:
            busy -= 1

    async with Bench(app, now=STARTS) as bench:
        await app.enqueue_many(work, [{"number": one} for one in range(30)])
        assert len(await bench.drain()) == 30
    assert most == 1
    assert len(threads) == 1
    assert threading.current_thread().name not in threads


async def test_what_surrounds_a_worker_s_threads_surrounds_the_bench_s() -> None:
    app, seen = make_app(), []

    @contextmanager
    def around() -> Iterator[None]:
        seen.append("before")
        yield
        seen.append("after")

    app.surround_threads(around)

    @app.job()
    def work() -> None:
        seen.append("work")

    async with Bench(app) as bench:
        await app.enqueue(work)
        await bench.drain()
    assert seen == ["before", "work", "after"]


async def test_a_failure_comes_out_where_the_test_waits_and_time_stands_there() -> None:
    app = make_app()

    @app.job(schedule=Every("1h"), retry=Retry(max_attempts=2, base="10s"))
    async def fails() -> None:
        raise ZeroDivisionError("over and out")

    async with Bench(app, now=STARTS) as bench:
        with pytest.raises(ZeroDivisionError, match="over and out") as caught:
            await bench.advance("1d")
        assert "attempt 1" in caught.value.__notes__[0]
        assert bench.now == NOW + timedelta(hours=1)
        with pytest.raises(ZeroDivisionError):
            await bench.advance("1d")
        assert bench.now == NOW + timedelta(hours=1, seconds=5)
        assert bench.runs(fails)[0].state is RunState.DEAD


async def test_a_failure_is_only_recorded_where_asked_and_retries_come_in_virtual_time() -> None:
    app, attempts = make_app(), []

    @app.job(retry=Retry(max_attempts=3, base="1h", cap="1d"))
    async def flaky(run: Run) -> str:
        attempts.append(bench.now - NOW)
        if run.attempt < 3:
            raise ConnectionError("not yet")
        return "done"

    async with Bench(app, now=STARTS, raises=False) as bench:
        key = await app.enqueue(flaky, key="one")
        await bench.advance("1d")
        assert bench.run(key).state is RunState.SUCCEEDED
        assert bench.output(key) == "done"
        assert [one.attempt for one in bench.failures] == [1, 2]
        assert isinstance(bench.failures[0].error, ConnectionError)
    assert attempts == [timedelta(), timedelta(minutes=30), timedelta(minutes=90)]


async def test_a_permanent_failure_is_not_tried_again() -> None:
    app = make_app()

    @app.job()
    async def never() -> None:
        raise PermanentFailure("no such customer")

    async with Bench(app, raises=False) as bench:
        key = await app.enqueue(never)
        await bench.advance("1d")
        assert (bench.run(key).state, len(bench.failures)) == (RunState.DEAD, 1)


async def test_work_that_sleeps_by_the_bench_takes_virtual_time_and_overlaps() -> None:
    app = make_app()

    @app.job(schedule=Every("1h"))
    async def long() -> None:
        await bench.clock.sleep(90 * 60)

    async with Bench(app, now=STARTS) as bench:
        await bench.advance("4h")
        assert [str(one.state) for one in bench.runs(schedule="long")][:4] == [
            "succeeded",
            "skipped",
            "running",
            "skipped",
        ]
        assert [one.worker for one in bench.runs(state="running")] == ["bench-1"]


async def test_a_timeout_counts_by_the_virtual_clock() -> None:
    app = make_app()

    @app.job(timeout="10m", retry=Retry(max_attempts=1))
    async def long() -> None:
        await bench.clock.sleep(3600)

    async with Bench(app, now=STARTS, raises=False) as bench:
        key = await app.enqueue(long)
        await bench.advance("9m")
        assert bench.run(key).state is RunState.RUNNING
        await bench.advance("1m")
        run = bench.run(key)
    assert (run.state, run.error) == (RunState.DEAD, "TimedOut: longer than 600s")


@pytest.mark.parametrize("timeout", [None, "2h"])
async def test_a_run_that_sleeps_can_be_cancelled(timeout: str | None) -> None:
    app = make_app()

    @app.job(timeout=timeout)
    async def long() -> None:
        try:
            await bench.clock.sleep(3600)
        finally:
            for _ in range(20):
                await asyncio.sleep(0)

    async with Bench(app, now=STARTS) as bench:
        key = await app.enqueue(long)
        await bench.advance("1m")
        await run_operations.cancel(await app.control(), key)
        await bench.advance("1m")
        assert bench.run(key).state is RunState.CANCELLED


async def test_work_without_end_is_told_apart_from_work() -> None:
    app = make_app()

    @app.job()
    async def hangs() -> None:
        await asyncio.Event().wait()

    async with Bench(app, patience="50ms") as bench:
        await app.enqueue(hangs, key="1")
        with pytest.raises(BenchStuck, match="hangs#1"):
            await bench.drain()


async def test_the_application_gets_its_own_store_back() -> None:
    app = make_app()
    bench = Bench(app)
    async with bench:
        assert await app.open() is await app.open()
    with pytest.raises(UsageError, match="does not exist"):
        await app.open()
    with pytest.raises(UsageError, match="closed"):
        await bench.drain()


async def test_two_benches_know_nothing_of_each_other() -> None:
    app = make_app()

    @app.job()
    async def work() -> None: ...

    for _ in range(2):
        async with Bench(app) as bench:
            bench.assert_not_enqueued(work)
            await app.enqueue(work, key="same")
            assert len(await bench.drain()) == 1


async def test_schedules_and_pauses_of_the_program_count() -> None:
    app = make_app()

    @app.job()
    async def work() -> None: ...

    async with Bench(app, now=STARTS) as bench:
        await app.schedules.add("hourly", job=work, trigger=Every("1h"))
        assert len(await bench.advance("3h")) == 3
        await app.schedules.pause("hourly")
        assert await bench.advance("3h") == []
        await app.schedules.resume("hourly", catch_up=False)
        assert len(await bench.advance("2h")) == 2


async def test_every_queue_is_worked() -> None:
    app = make_app()

    @app.job(queue="mail")
    async def work() -> None: ...

    async with Bench(app) as bench:
        await app.enqueue(work)
        assert len(await bench.drain()) == 1


async def test_it_stands_on_sqlite_too() -> None:
    app = make_app()

    @app.job(schedule=Every("1h"), catch_up=CatchUp("none"))
    def work(run: Run) -> str:
        return run.key

    async with Bench(app, now=STARTS, store="sqlite") as bench:
        assert len(await bench.advance("3h")) == 3
        assert [one.state for one in bench.runs(work, state="succeeded")] == [RunState.SUCCEEDED] * 3
        assert bench.output("work#2026-03-01T01:00:00Z#1") == "work#2026-03-01T01:00:00Z#1"
        await app.enqueue(work, key="1")
        bench.assert_enqueued(work, key="1")
    with pytest.raises(UsageError, match='"mysql": expected memory or sqlite'):
        Bench(app, store="mysql")


async def test_time_does_not_go_back() -> None:
    async with Bench(make_app(), now=STARTS) as bench:
        with pytest.raises(UsageError, match="does not go back"):
            await bench.advance_to("2026-02-28")


def test_the_plain_bench_says_the_same_without_async() -> None:
    app, seen = make_app(), []

    @app.job(schedule=Every("1h"))
    async def hourly(run: Run) -> None:
        seen.append(run.fire_time)

    @app.job()
    def add(left: int, right: int) -> int:
        return left + right

    with PlainBench(app, now=STARTS) as bench:
        key = bench.enqueue(add, left=1, right=2)
        bench.assert_enqueued(add, payload={"left": 1})
        assert [one.run_key for one in bench.drain()] == [key]
        assert bench.output(key) == "3"
        assert len(bench.advance("2h")) == 2
        bench.call(app.schedules.pause("hourly"))
        assert bench.advance_to("2026-03-02") == []
    assert len(seen) == 2


async def test_the_same_program_has_the_same_history() -> None:
    async def history() -> list[tuple[Any, ...]]:
        app = make_app()

        @app.job(schedule=Every("7m"), retry=Retry(max_attempts=2), spread="3m")
        async def one(run: Run) -> None:
            if run.attempt == 1:
                raise ConnectionError

        @app.job(schedule=Every("11m"))
        def two() -> None: ...

        async with Bench(app, now=STARTS, raises=False) as bench:
            await bench.advance("6h")
            return [(one.run_key, one.attempt, one.fence, one.started_at) for one in bench.runs()]

    assert await history() == await history()
