"""The application under the nemesis: many short ticks, some slow work, every overlap policy, and orders.

How many ticks come a second is said by the environment; all else is the same for every fleet.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from fencepost import CatchUp, Every, Fencepost, Retry, Run
from fencepost.model.policies import parse_overlap
from tests.chaos import effects
from tests.chaos.sinks import DurableLines

FOLDER, RATE = "FENCEPOST_TEST_CHAOS_FOLDER", "FENCEPOST_TEST_CHAOS_RATE"
SINK = "effects"
PREFIX = "tick-"
SLOW = "slow"
SLOW_S = 2.5
LATE = "2m"
"""Longer than any outage here: that nothing runs for so long would be a finding."""
OVERLAPS = ("skip", "buffer_one", "buffer_all(3)", "cancel_other", "terminate_other", "allow(2)")
CATCH_UPS = ("latest", "sequential", "parallel(2)")

app = Fencepost(
    horizon_s=20,
    plan_every_s=1,
    lease_ttl_s=4,
    lease_renew_deadline_s=2.5,
    lease_retry_period_s=0.8,
    lease_margin_s=1,
    heartbeat_every_s=1,
    heartbeat_timeout_s=4,
    reap_every_s=1,
    poll_s=1,
    concurrency=100,
)
RETRY = Retry(8, "100ms", "1s", budget=None)


async def leave_trace(run: Run) -> None:
    await asyncio.to_thread(effects.do, run, DurableLines(Path(os.environ[FOLDER], SINK)))


@app.job(retry=RETRY)
async def tick(run: Run) -> None:
    await leave_trace(run)


@app.job(retry=RETRY)
async def slow(run: Run) -> None:
    """Long enough to be killed or stalled in the middle of it."""
    await asyncio.sleep(SLOW_S)
    await leave_trace(run)


@app.job(delivery="at_most_once")
async def once(run: Run) -> None:
    """Never again by itself, whatever became of it."""
    await asyncio.sleep(SLOW_S)
    await leave_trace(run)


@app.job(retry=RETRY)
async def order(run: Run) -> None:
    await leave_trace(run)


for number in range(int(os.environ.get(RATE, "20"))):
    app.add_schedule(
        f"{PREFIX}{number}", job=tick, trigger=Every("1s"), overlap="allow", catch_up=CatchUp("none", LATE)
    )
for overlap in OVERLAPS:
    app.add_schedule(
        f"{SLOW}-{overlap.rstrip('()0123456789')}",
        job=slow,
        trigger=Every("2s"),
        overlap=parse_overlap(overlap),
        catch_up=CatchUp("none", LATE),
    )
for mode in CATCH_UPS:
    app.add_schedule(
        f"late-{mode.rstrip('()0123456789')}",
        job=slow,
        trigger=Every("4s"),
        overlap="allow",
        catch_up=CatchUp(mode, LATE),
    )
app.add_schedule("once", job=once, trigger=Every("4s"), overlap="allow", catch_up=CatchUp("none", LATE))
