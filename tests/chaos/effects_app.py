"""The application of the drills with a lost server or a bad disk: executions leave a line on a good one."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from fencepost import CatchUp, Every, Fencepost, Retry, Run
from tests.chaos.sinks import DurableLines, Effect

TICKING = 60
FOLDER = "FENCEPOST_TEST_DRILL"
BOOK, SINK = "acknowledged", "effects"

app = Fencepost(
    horizon_s=20,
    plan_every_s=1,
    lease_ttl_s=5,
    lease_renew_deadline_s=3,
    lease_retry_period_s=1,
    heartbeat_every_s=1,
    heartbeat_timeout_s=6,
    reap_every_s=1,
    concurrency=200,
)


def keep(run: Run) -> None:
    """Leave the line of an execution."""
    DurableLines(Path(os.environ[FOLDER], SINK)).append(str(Effect(run.key, run.attempt, run.fence)))


@app.job(retry=Retry(5, "100ms", "1s"))
async def tick(run: Run) -> None:
    await asyncio.to_thread(keep, run)


@app.job(retry=Retry(5, "100ms", "1s"))
async def order(run: Run) -> None:
    await asyncio.to_thread(keep, run)


for number in range(TICKING):
    app.add_schedule(
        f"tick-{number}", job=tick, trigger=Every("1s"), overlap="allow", catch_up=CatchUp("none", "5s")
    )
