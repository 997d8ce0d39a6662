"""The application of the effect drill: the same small effect, kept in every way that there is.

- `in-transaction`: a row written in `run.transaction()`.
- `in-own-…`: a row written in the job's own transaction, with the marker by `run.complete_in`, for each
  driver.
- `plain`: a line in a file, and then the report: what happens without any of it. The control.
- `once-at-most`: a line for every start, in a job that may run at most once.
- `fenced`: an upsert that refuses an older fence, in another transaction than the marker.

A refusal that a job is told of (`RunLost`), or finds by itself, leaves a line.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

from fencepost import Fencepost, Retry, Run
from fencepost.errors import RunLost, StaleFence
from fencepost.guards import fenced_upsert
from tests.chaos.sinks import DurableLines
from tests.effects.ways import INSERT, WAYS, lent_psycopg, url

FOLDER = "FENCEPOST_TEST_DRILL"
IN_TRANSACTION, PLAIN, ONCE_AT_MOST, FENCED = "in-transaction", "plain", "once-at-most", "fenced"
IN_OWN = {name: f"in-own-{name}" for name in WAYS}
OVER_APSW = "in-own-apsw"
PLAIN_EFFECTS, STARTS, REFUSED, OVERTAKEN = "plain-effects", "starts", "refused", "overtaken"
HEARTBEAT_TIMEOUT_S = 2.0
WORK_S = 0.05
FENCED_WORK_S = 0.6

TABLES = (
    "CREATE TABLE sent (run_key text NOT NULL, fence bigint NOT NULL)",
    "CREATE TABLE latest (run_key text PRIMARY KEY, fence bigint NOT NULL)",
)
UPSERT = fenced_upsert("latest", key=["run_key"])

RETRY = Retry(1_000, "10ms", "100ms")
"""Whatever is killed or stalled, it is tried again: the drill ends when everything has succeeded."""

app = Fencepost(
    horizon_s=30,
    heartbeat_every_s=0.5,
    heartbeat_timeout_s=HEARTBEAT_TIMEOUT_S,
    reap_every_s=0.5,
    poll_s=0.5,
    concurrency=16,
    pool_max=3,
    transactions_max=4,
    shards=1,
)


def keep(name: str, line: str) -> None:
    DurableLines(Path(os.environ[FOLDER], name)).append(line)


def telling(function: Callable[..., Any]) -> Callable[..., Any]:
    """A line for every attempt that was told that it has lost its run."""

    @wraps(function)
    async def awaited(run: Run) -> None:
        try:
            await function(run)
        except RunLost:
            keep(REFUSED, f"{run.key} {run.fence}")
            raise

    @wraps(function)
    def blocking(run: Run) -> None:
        try:
            function(run)
        except RunLost:
            keep(REFUSED, f"{run.key} {run.fence}")
            raise

    return awaited if iscoroutinefunction(function) else blocking


@app.job(IN_TRANSACTION, retry=RETRY)
@telling
async def in_transaction(run: Run) -> None:
    async with run.transaction() as tx:
        await tx.execute(INSERT, (run.key, run.fence))


for driver, way in WAYS.items():
    app.job(IN_OWN[driver], retry=RETRY)(telling(way))


@app.job(OVER_APSW, retry=RETRY)
@telling
def over_apsw(run: Run) -> None:
    import apsw

    connection = apsw.Connection(url().removeprefix("sqlite:///"))
    try:
        connection.set_busy_timeout(30_000)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO sent VALUES (?, ?)", (run.key, run.fence))
        run.complete_in(connection)
        connection.execute("COMMIT")
    finally:
        connection.close(True)


@app.job(PLAIN, retry=RETRY)
async def plain(run: Run) -> None:
    keep(PLAIN_EFFECTS, f"{run.key} {run.fence}")
    await asyncio.sleep(WORK_S)


@app.job(ONCE_AT_MOST, delivery="at_most_once")
async def once_at_most(run: Run) -> None:
    keep(STARTS, f"{run.key} {run.fence}")
    await asyncio.sleep(WORK_S)


@app.job(FENCED, retry=RETRY)
def fenced(run: Run) -> None:
    """In a thread, which goes on when it wakes up: nobody can stop it, only the fence refuses it."""
    time.sleep(FENCED_WORK_S)
    with lent_psycopg() as connection:
        values = UPSERT.parameters(run.fence, run_key=run.key)
        written = connection.execute(UPSERT.statement, values).rowcount
    try:
        UPSERT.check(written)
    except StaleFence:
        keep(OVERTAKEN, f"{run.key} {run.fence}")
        raise
