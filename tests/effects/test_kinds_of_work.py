"""Work of one kind does not get into the way of another, in a whole worker."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fencepost import Fencepost, Retry
from fencepost.model.identifiers import RunKey
from fencepost.model.run import RunRecord, RunState
from tests.chaos.fleet import ROOT, eventually
from tests.effects.long_functions import hang_in_c

PATIENCE_S = 60.0
TIMEOUT_S = 6.0
CROWD_MIB_MAX = 300.0
SMALL = 20


async def test_a_job_that_hangs_in_c_code_is_ended_at_its_timeout_while_others_go_on(tmp_path: Path) -> None:
    """About 6 s: a real worker, and a job that hangs until its timeout."""
    app = Fencepost(f"sqlite:///{tmp_path / 'ledger.db'}", processes=1, heartbeat_every_s=0.5, shards=1)
    done: list[int] = []
    app.job("hang", executor="process", timeout=TIMEOUT_S, retry=Retry(1))(hang_in_c)

    @app.job()
    async def small(number: int) -> None:
        done.append(number)

    async with app, app.running(plans=False):
        hanging = await app.enqueue("hang")
        await _until_running(app, hanging)
        for number in range(SMALL):
            await app.enqueue(small, number=number)
        await eventually(lambda: _is(len(done) == SMALL), "the small ones are done", PATIENCE_S)
        assert (await _record(app, hanging)).state is RunState.RUNNING, "beside it, not after it"

        async def ended() -> bool:
            return (await _record(app, hanging)).state is RunState.DEAD

        await eventually(ended, "it is ended", PATIENCE_S)
        record = await _record(app, hanging)
        assert record.error is not None
        assert "longer than 6s" in record.error
        assert not app._workshop.pool.pids, "its process is gone"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_thousand_async_runs_at_once_do_not_fill_the_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.connection_limit_process", f"sqlite:///{tmp_path / 'ledger.db'}"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["at_once"] == 1_000
    assert told["idle_mib"] < told["peak_mib"] < CROWD_MIB_MAX


async def _until_running(app: Fencepost, run_key: RunKey) -> None:
    async def running() -> bool:
        return (await _record(app, run_key)).state is RunState.RUNNING

    await eventually(running, "it has begun", PATIENCE_S)
    await eventually(lambda: _is(bool(app._workshop.pool.pids)), "its process is there", PATIENCE_S)


async def _record(app: Fencepost, run_key: RunKey) -> RunRecord:
    record = await (await app.open()).ledger.get(app.settings.namespace, run_key)
    assert record is not None
    return record


async def _is(holds: bool) -> bool:
    await asyncio.sleep(0)
    return holds
