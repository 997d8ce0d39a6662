"""How child processes end: at their time, by their own fault, and with their worker; and that only their run
hears of it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from fencepost.errors import RemoteFailure, RetryableFailure
from fencepost.executors.process import ProcessExecutor, ProcessPool, peer
from tests.executors import far_functions as far
from tests.executors.processes import PATIENCE_S, is_alive, open_files, pids_of, until, until_dead
from tests.executors.runs import make_run

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def pool() -> AsyncIterator[ProcessPool]:
    pool = ProcessPool(lambda: 2)
    yield pool
    await pool.close()


async def done(pool: ProcessPool, function: Callable[..., Any], /, **payload: Any) -> str | None:
    return await ProcessExecutor(function, pool).execute(make_run(payload))


@pytest.mark.parametrize(
    ("function", "payload", "how", "said"),
    [
        (far.leave, {"code": 3}, "exit 3", None),
        (far.leave, {"code": "enough"}, "exit 1", "enough\n"),
        (far.leave, {"code": None}, "exit 0", None),
        (far.vanish, {"code": 7}, "exit 7", "last words\n"),
        (far.kill_self, {"number": int(signal.SIGKILL)}, "killed by SIGKILL", None),
        (far.close_the_line, {}, "exit 1", "Bad file descriptor\n"),
    ],
)
async def test_a_child_that_dies_fails_its_run_and_is_replaced(
    function: Callable[..., Any], payload: dict[str, Any], how: str, said: str | None, pool: ProcessPool
) -> None:
    before = await done(pool, far.pid)
    with pytest.raises(RetryableFailure) as caught:
        await asyncio.wait_for(done(pool, function, **payload), PATIENCE_S)
    assert str(caught.value) == f"the child process ended: {how}"
    assert (caught.value.output or "").endswith(said or "")
    assert await done(pool, far.pid) != before


async def test_a_fault_in_c_code_names_its_signal_and_leaves_its_trace(pool: ProcessPool) -> None:
    with pytest.raises(RetryableFailure, match="killed by SIGSEGV") as caught:
        await done(pool, far.fault)
    assert "in fault" in (caught.value.output or "")


async def test_a_crash_does_not_disturb_the_run_beside_it(pool: ProcessPool, tmp_path: Path) -> None:
    file, go_on = tmp_path / "pid", tmp_path / "go-on"
    beside = asyncio.create_task(done(pool, far.tell_and_wait, path=str(go_on)))
    for _ in range(3):
        with pytest.raises(RetryableFailure):
            await done(pool, far.vanish, code=1)
    assert not beside.done()
    go_on.touch()
    await beside
    assert not file.exists()


async def test_a_fork_that_holds_the_line_does_not_hide_the_end_of_the_child(
    pool: ProcessPool, tmp_path: Path
) -> None:
    file = tmp_path / "pid"
    with pytest.raises(RetryableFailure, match="exit 3"):
        await asyncio.wait_for(done(pool, far.fork_and_die, path=str(file)), PATIENCE_S)
    await until_dead(*await pids_of(file))


async def test_a_child_that_died_while_idle_costs_no_run_anything(pool: ProcessPool) -> None:
    """The worker may not have heard of its end when the next run comes: its function was never called."""
    for _ in range(5):
        (pid,) = {int(await done(pool, far.pid) or "")} & pool.pids
        os.kill(pid, signal.SIGKILL)
        assert await done(pool, far.add, left=1) == "2"


async def test_a_signal_to_all_processes_of_a_worker_does_not_end_what_it_would_let_finish(
    pool: ProcessPool,
) -> None:
    assert await done(pool, far.shrug) == "still here; the program ended by 15"


async def test_a_child_that_was_not_waited_for_is_not_used_again(
    pool: ProcessPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "STOP_GRACE_S", 20 * PATIENCE_S)
    file = tmp_path / "pids"
    working = asyncio.create_task(done(pool, far.family, path=str(file)))
    pids = await pids_of(file, 2)
    working.cancel()
    await asyncio.sleep(0)
    working.cancel()
    await asyncio.wait({working}, timeout=PATIENCE_S)
    async with asyncio.timeout(PATIENCE_S):
        assert int(await done(pool, far.pid) or "") not in pids
    await until_dead(*pids)


async def test_a_hang_in_c_code_is_ended(
    pool: ProcessPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "STOP_GRACE_S", 0.05)
    file = tmp_path / "pid"
    working = asyncio.create_task(done(pool, far.note_and_hang_in_c, path=str(file)))
    (pid,) = await pids_of(file)
    assert is_alive(pid)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert not is_alive(pid), "it had not ended when the executor returned"


async def test_a_cancelled_function_dies_with_all_its_children(
    pool: ProcessPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "STOP_GRACE_S", 0.05)
    file = tmp_path / "pids"
    working = asyncio.create_task(done(pool, far.family, path=str(file)))
    pids = await pids_of(file, 2)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    await until_dead(*pids)


async def test_a_function_that_heeds_its_cancellation_is_not_killed(
    pool: ProcessPool, tmp_path: Path
) -> None:
    file = tmp_path / "pid"
    run = make_run({"path": str(file)})
    working = asyncio.create_task(ProcessExecutor(far.obedient, pool).execute(run))
    (pid,) = await pids_of(file)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert run.left_output == "stopping, as asked\n"
    assert await done(pool, far.pid) == str(pid)


async def test_a_function_that_is_cancelled_before_its_child_is_awake_finds_itself_cancelled(
    pool: ProcessPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "STOP_GRACE_S", PATIENCE_S)
    working = asyncio.create_task(done(pool, far.obedient, path=str(tmp_path / "pid")))
    await until(lambda: len(pool.pids) == 1)
    (pid,) = pool.pids
    working.cancel()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.wait({working})
    assert pool.pids == {pid}, "it was not killed"
    assert await done(pool, far.pid) == str(pid)


async def test_a_stop_that_was_meant_for_one_run_does_not_reach_the_next(
    pool: ProcessPool, tmp_path: Path
) -> None:
    for number in range(2):
        file = tmp_path / f"pid-{number}"
        working = asyncio.create_task(done(pool, far.obedient, path=str(file)))
        await pids_of(file)
        assert not working.done()
        working.cancel()
        await asyncio.wait({working})


async def test_a_run_that_is_cancelled_while_it_waits_for_a_child_disturbs_no_other(tmp_path: Path) -> None:
    pool, go_on = ProcessPool(lambda: 1), tmp_path / "go-on"
    first = asyncio.create_task(done(pool, far.tell_and_wait, path=str(go_on)))
    await until(lambda: len(pool.pids) == 1)
    waiting = asyncio.create_task(done(pool, far.pid))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    go_on.touch()
    await first
    assert await done(pool, far.add, left=1) == "2"
    assert len(pool.pids) == 1
    await pool.close()


async def test_a_function_that_outgrows_its_memory_fails_and_its_child_is_replaced(pool: ProcessPool) -> None:
    limit = int(await done(pool, far.address_space) or "") + 200_000_000
    bounded = ProcessExecutor(far.hog, pool, memory_limit_bytes=limit)
    before = await done(pool, far.pid)
    assert await bounded.execute(make_run({"megabytes": 10})) == "10000000"
    with pytest.raises(RemoteFailure) as caught:
        await bounded.execute(make_run({"megabytes": 400}))
    assert str(caught.value) == f"MemoryError (memory_limit is {limit} bytes)"
    assert await done(pool, far.pid) != before


async def test_a_memory_limit_is_lifted_for_the_next_job(pool: ProcessPool) -> None:
    limit = int(await done(pool, far.address_space) or "") + 200_000_000
    await ProcessExecutor(far.hog, pool, memory_limit_bytes=limit).execute(make_run({"megabytes": 1}))
    assert await done(pool, far.hog, megabytes=400) == "400000000"


async def test_a_child_is_replaced_after_so_many_runs(pool: ProcessPool) -> None:
    executor = ProcessExecutor(far.pid, pool, recycle_after=2)
    pids = [await executor.execute(make_run()) for _ in range(6)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [2, 2, 2]
    await until_dead(*(int(pid or "") for pid in pids))


async def test_there_are_never_more_children_at_work_than_the_pool_allows() -> None:
    pool = ProcessPool(lambda: 2)
    pids = await asyncio.gather(*(done(pool, far.pid) for _ in range(12)))
    assert len(set(pids)) <= 2
    await pool.close()


async def test_no_child_is_started_before_it_is_needed_and_none_is_left_behind(tmp_path: Path) -> None:
    before, pool = open_files(), ProcessPool(lambda: 2)
    executor = ProcessExecutor(far.pid, pool)
    assert pool.pids == set()
    pid = int(await executor.execute(make_run()) or "")
    assert pool.pids == {pid}
    assert is_alive(pid)
    await pool.close()
    assert not is_alive(pid)
    await asyncio.sleep(0)
    assert open_files() <= before


def test_a_pool_serves_one_loop_after_the_other() -> None:
    pool = ProcessPool(lambda: 1)
    first = int(asyncio.run(done(pool, far.pid)) or "")

    async def again() -> int:
        second = int(await done(pool, far.pid) or "")
        await until_dead(first)
        await pool.close()
        return second

    assert asyncio.run(again()) != first


async def test_a_child_that_never_wakes_does_not_hold_its_run_for_ever(
    pool: ProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "BOOT", "import time; time.sleep(600)")
    monkeypatch.setattr(peer, "WAKE_S", 0.05)
    with pytest.raises(RetryableFailure, match="killed by SIGKILL"):
        await asyncio.wait_for(done(pool, far.pid), PATIENCE_S)
    await until(lambda: not pool.pids)


WORKER = """
import asyncio, sys
from fencepost.executors.process import ProcessExecutor, ProcessPool
from tests.executors import far_functions as far
from tests.executors.runs import make_run

async def main():
    pool = ProcessPool(lambda: 3)
    idle = ProcessExecutor(far.pid, pool).execute(make_run())
    await idle
    busy = [
        ProcessExecutor(far.note_and_hang_in_c, pool).execute(make_run({"path": sys.argv[1]})),
        ProcessExecutor(far.obedient, pool).execute(make_run({"path": sys.argv[2]})),
    ]
    await asyncio.gather(*busy)

asyncio.run(main())
"""


async def test_children_do_not_outlive_a_worker_that_is_killed(tmp_path: Path) -> None:
    """Also not one that hangs in C code, where nothing of Python can notice anything."""
    files = [tmp_path / "in-c", tmp_path / "in-python"]
    worker = await asyncio.create_subprocess_exec(
        *[sys.executable, "-c", WORKER, *map(str, files)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
    )
    try:
        pids = [pid for file in files for pid in await pids_of(file)]
        assert all(map(is_alive, pids))
    finally:
        worker.kill()
        await worker.wait()
    await until_dead(*pids)
