"""The application of the outage drill: a schedule for each way of catching up, and one with a failing target.

Every execution is a line in a file of its schedule: what the world saw, whatever the ledger says.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from fencepost import CatchUp, Every, Fencepost, GateTerms, Retry, Run
from fencepost.model.policies import parse_overlap

WINDOW_S = 40
RUN_S = 0.2
LATEST_S = 15
TARGET_IS_DOWN = "target-is-down"

app = Fencepost(
    horizon_s=20,
    plan_every_s=1,
    lease_ttl_s=5,
    lease_renew_deadline_s=3,
    lease_retry_period_s=1,
    heartbeat_every_s=1,
    heartbeat_timeout_s=4,
    reap_every_s=1,
)


def folder() -> Path:
    return Path(os.environ["FENCEPOST_TEST_DRILL"])


@app.job(retry=Retry(1))
async def work(run: Run) -> None:
    with (folder() / f"{run.schedule_id}.effects").open("a") as effects:
        effects.write(f"{run.key}\n")
    await asyncio.sleep(RUN_S)


@app.job(retry=Retry(1))
async def call(run: Run) -> None:
    """Calls a target that may be down."""
    if (folder() / TARGET_IS_DOWN).exists():
        raise ConnectionError("the target is down")
    await work(run)


for name, mode, overlap, every_s in (
    ("none", "none", "skip", 2),
    ("latest", "latest", "skip", LATEST_S),
    ("sequential", "sequential", "skip", 4),
    ("parallel", "parallel(3)", "allow", 2),
):
    lateness = "5s" if mode == "none" else f"{WINDOW_S}s"
    app.add_schedule(
        name,
        job=work,
        trigger=Every(every_s),
        overlap=parse_overlap(overlap),
        catch_up=CatchUp(mode, lateness),
    )

app.add_schedule(
    "gated",
    job=call,
    trigger=Every(3),
    overlap="skip",
    catch_up=CatchUp("sequential", f"{WINDOW_S}s", GateTerms(failed_share=0.5, of_last=3)),
)
