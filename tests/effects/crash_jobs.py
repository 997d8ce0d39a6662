"""The work of the crash tests, once for every way to do it: it begins, has its effect, and returns.

A job is named after its case, `thread.at_most_once.after-start`; its first attempt kills its worker where
that says so. The world is a folder: a line in `starts` for every start, a line in `effects` for every effect.
Where the effect is a row of a table, the table is in the ledger's database.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from fencepost import Run
from fencepost.guards import fenced_upsert
from tests.chaos.sinks import DurableLines
from tests.effects.crash_points import Point

FOLDER = "FENCEPOST_TEST_DRILL"
STORE = "FENCEPOST_TEST_DRILL_STORE"
STARTS, EFFECTS = "starts", "effects"
TABLES = (
    "CREATE TABLE sent (run_key text NOT NULL, fence bigint NOT NULL)",
    "CREATE TABLE latest (run_key text PRIMARY KEY, fence bigint NOT NULL)",
)
UPSERT = fenced_upsert("latest", key=["run_key"])
INSERT = "INSERT INTO sent VALUES (%s, %s)"

COMMAND = """
here() {
    [ "$FENCEPOST_ATTEMPT" = 1 ] && [ "${FENCEPOST_JOB##*.}" = "$1" ] || return 0
    kill -9 "$WORKER"
    exec sleep 30 # It is ended with its worker, a moment later.
}
echo "$FENCEPOST_RUN_KEY" >> "$FOLDER/starts"
here after-start
echo "$FENCEPOST_RUN_KEY" >> "$FOLDER/effects"
here effect-done
exit 0
"""


def is_due(point: Point, job: str, attempt: int) -> bool:
    return attempt == 1 and job.rpartition(".")[2] == point


def die() -> None:
    """At once: not one more line of this process runs."""
    os.kill(os.getpid(), signal.SIGKILL)


def begin(run: Run) -> None:
    DurableLines(Path(os.environ[FOLDER], STARTS)).append(run.key)


def have_effect(run: Run) -> None:
    DurableLines(Path(os.environ[FOLDER], EFFECTS)).append(run.key)


def work(run: Run) -> None:
    """In a thread of its worker."""
    begin(run)
    _die_at(Point.AFTER_START, run)
    have_effect(run)
    _die_at(Point.EFFECT_DONE, run)


async def work_in_loop(run: Run) -> None:
    work(run)


def work_under_guard(run: Run) -> None:
    """A row of one's own, in a transaction of one's own, that an older fence cannot overwrite."""
    import apsw

    begin(run)
    _die_at(Point.AFTER_START, run)
    connection = apsw.Connection(os.environ[STORE].removeprefix("sqlite:///"))
    connection.set_busy_timeout(30_000)
    connection.execute(UPSERT.marked, UPSERT.parameters(run.fence, run_key=run.key))
    UPSERT.check(connection.changes())
    connection.close()
    _die_at(Point.EFFECT_DONE, run)


def work_in_child(run: Run) -> None:
    """In a process of its own, which kills its worker and is not to survive that."""
    begin(run)
    _orphan_at(Point.AFTER_START, run)
    have_effect(run)
    _orphan_at(Point.EFFECT_DONE, run)


async def work_in_transaction(run: Run) -> None:
    """Two of its points are outside of the function: see the program."""
    begin(run)
    _die_at(Point.AFTER_START, run)
    async with run.transaction() as transaction:
        tx: Any = transaction
        if os.environ[STORE].startswith("mongodb"):
            await tx.database["sent"].insert_one(_row(run), session=tx.session)
        else:
            await tx.execute(INSERT, (run.key, run.fence))
        _die_at(Point.IN_TRANSACTION, run)


async def work_in_own_transaction(run: Run) -> None:
    """Over a connection of the job's own: apsw on SQLite, asyncpg on PostgreSQL, pymongo on MongoDB."""
    begin(run)
    _die_at(Point.AFTER_START, run)
    if os.environ[STORE].startswith("sqlite"):
        _complete_over_apsw(run)
    elif os.environ[STORE].startswith("mongodb"):
        await _complete_over_pymongo(run)
    else:
        await _complete_over_asyncpg(run)
    _die_at(Point.AFTER_COMMIT, run)


def work_in_blocking_transaction(run: Run) -> None:
    """The same on MongoDB, in a thread. A heartbeat that is in the way of the marker repeats it."""
    from pymongo import MongoClient

    def write(session: Any) -> None:
        client.get_default_database()["sent"].insert_one(_row(run), session=session)
        _die_at(Point.IN_TRANSACTION, run)
        run.complete_in(session)
        _die_at(Point.BEFORE_COMMIT, run)

    begin(run)
    _die_at(Point.AFTER_START, run)
    with MongoClient[Any](os.environ[STORE]) as client, client.start_session() as session:
        session.with_transaction(write)
    _die_at(Point.AFTER_COMMIT, run)


async def _complete_over_pymongo(run: Run) -> None:
    from pymongo import AsyncMongoClient

    async def write(session: Any) -> None:
        await client.get_default_database()["sent"].insert_one(_row(run), session=session)
        _die_at(Point.IN_TRANSACTION, run)
        await run.complete_in(session)
        _die_at(Point.BEFORE_COMMIT, run)

    async with AsyncMongoClient[Any](os.environ[STORE]) as client, client.start_session() as session:
        await session.with_transaction(write)


def _row(run: Run) -> dict[str, Any]:
    return {"run_key": run.key, "fence": run.fence}


def _complete_over_apsw(run: Run) -> None:
    import apsw

    connection = apsw.Connection(os.environ[STORE].removeprefix("sqlite:///"))
    connection.set_busy_timeout(30_000)
    with connection:
        connection.execute("INSERT INTO sent VALUES (?, ?)", (run.key, run.fence))
        _die_at(Point.IN_TRANSACTION, run)
        run.complete_in(connection)
        _die_at(Point.BEFORE_COMMIT, run)
    connection.close()


async def _complete_over_asyncpg(run: Run) -> None:
    import asyncpg

    connection = await asyncpg.connect(os.environ[STORE])
    async with connection.transaction():
        await connection.execute("INSERT INTO sent VALUES ($1, $2)", run.key, run.fence)
        _die_at(Point.IN_TRANSACTION, run)
        await run.complete_in(connection)
        _die_at(Point.BEFORE_COMMIT, run)
    await connection.close()


def _die_at(point: Point, run: Run) -> None:
    if is_due(point, run.job, run.attempt):
        die()


def _orphan_at(point: Point, run: Run) -> None:
    if is_due(point, run.job, run.attempt):
        os.kill(os.getppid(), signal.SIGKILL)
        while True:
            signal.pause()
