"""The application of the drill with a store that stands still: jobs that run until a file says so."""

from __future__ import annotations

import os
import time
from pathlib import Path

from fencepost import Fencepost, Run

GO = "go"

app = Fencepost(
    horizon_s=20,
    plan_every_s=1,
    lease_ttl_s=5,
    lease_renew_deadline_s=3,
    lease_retry_period_s=1,
    heartbeat_every_s=1,
    heartbeat_timeout_s=10,
    reap_every_s=1,
    concurrency=10,
)


def _hold(run: Run) -> None:
    folder = Path(os.environ["FENCEPOST_TEST_DRILL"])
    with (folder / "begun").open("a") as begun:
        begun.write(f"{run.key} {run.attempt}\n")
    while not (folder / GO).exists():
        time.sleep(0.1)


@app.job()
def again(run: Run) -> None:
    _hold(run)


@app.job(delivery="at_most_once")
def once(run: Run) -> None:
    _hold(run)
