"""The application of the drill with a broker: a job that processors do, one that is only told, and an intake.

What a processor does goes to a sink outside that keeps a row for each run, and takes a fence only where it is
larger than the one that it has.
"""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import closing
from pathlib import Path

import apsw

from fencepost import Fencepost, Retry, Run

NAME = os.environ.get("DRILL_NAME", "drill")
SILENCE_S = float(os.environ.get("DRILL_SILENCE_S", "6"))
SINK = "sink.db"
CREATE_SINK = (
    "CREATE TABLE effects (run_key TEXT PRIMARY KEY, fence INTEGER NOT NULL, taken INTEGER NOT NULL)",
    "CREATE TABLE refused (run_key TEXT NOT NULL, fence INTEGER NOT NULL)",
)
TAKE = """
INSERT INTO effects VALUES (?, ?, 1)
ON CONFLICT (run_key) DO UPDATE SET fence = excluded.fence, taken = taken + 1
WHERE fence < excluded.fence
"""
WORK_MAX_S = 0.05
SINK_TIMEOUT_MS = 60_000

app = Fencepost(
    namespace=NAME,
    poll_s=0.5,
    heartbeat_every_s=1,
    heartbeat_timeout_s=SILENCE_S,
    reap_every_s=1,
    concurrency=20,
)
MANY = Retry(100, base="100ms", cap="1s")


@app.message_job("done", destination=f"{NAME}.done", reply="result", start_within="20s", retry=MANY)
async def done(run: Run, number: int) -> str:
    await asyncio.sleep(random.random() * WORK_MAX_S)
    await asyncio.to_thread(_take, run)
    return str(number)


app.message_job("told", destination=f"{NAME}.told", retry=MANY)


@app.on_message(f"{NAME}.orders", name="order", retry=MANY)
async def order(run: Run, number: int) -> str:
    return str(number)


def _take(run: Run) -> None:
    """By the SQLite that the ledger has too: the system's has lost what it had confirmed to one process when
    another one was killed."""
    with closing(apsw.Connection(str(Path(os.environ["DRILL_FOLDER"]) / SINK))) as sink:
        sink.set_busy_timeout(SINK_TIMEOUT_MS)
        sink.execute("BEGIN IMMEDIATE")
        sink.execute(TAKE, (run.key, run.fence))
        if not sink.changes():
            sink.execute("INSERT INTO refused VALUES (?, ?)", (run.key, run.fence))
        sink.execute("COMMIT")
