"""A transaction on SQLite that is ended inside its block: the run has not succeeded, nothing is written."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import apsw
import pytest

from fencepost.errors import UsageError
from fencepost.model.run import RunState
from tests.transactions.ground import Ground

INSERT = "INSERT INTO sent VALUES (%s, %s)"
TABLE = "CREATE TABLE once (name text PRIMARY KEY)"
TRIGGER = """CREATE TRIGGER never BEFORE INSERT ON once WHEN new.name = 'never'
BEGIN SELECT RAISE(ROLLBACK, 'never'); END"""

ENDINGS = {
    "a-conflict-that-rolls-back": [
        "INSERT INTO once VALUES ('a')",
        "INSERT OR ROLLBACK INTO once VALUES ('a')",
    ],
    "a-trigger-that-rolls-back": ["INSERT INTO once VALUES ('never')"],
    "rollback": ["ROLLBACK"],
    "commit": ["COMMIT"],
    "end": ["END TRANSACTION"],
    "another-in-its-place": ["ROLLBACK; BEGIN IMMEDIATE"],
    "committed-and-another": ["COMMIT; BEGIN IMMEDIATE"],
}
every_ending = pytest.mark.parametrize("statements", ENDINGS.values(), ids=ENDINGS)


@pytest.fixture
def with_once(on_sqlite: Ground) -> Ground:
    maker = apsw.Connection(on_sqlite.url.removeprefix("sqlite:///"))
    maker.execute(TABLE)
    maker.execute(TRIGGER)
    maker.close()
    return on_sqlite


async def end(tx: Any, statements: list[str]) -> None:
    """The job swallows what it hears."""
    for statement in statements:
        with suppress(apsw.Error, UsageError):
            await tx.execute(statement)


@every_ending
async def test_a_swallowed_end_is_no_success(with_once: Ground, statements: list[str]) -> None:
    run = with_once.run(claim := await with_once.claimed())

    async def job() -> None:
        async with run.transaction() as tx:
            await tx.execute(INSERT, (run.key, 1))
            await end(tx, statements)

    with pytest.raises(UsageError, match=r"ended inside the block.* nothing was written"):
        await job()
    assert (await with_once.sent(), await with_once.state(claim.run_key)) == ([], RunState.RUNNING)


@every_ending
async def test_nothing_is_written_after_the_end(with_once: Ground, statements: list[str]) -> None:
    run = with_once.run(await with_once.claimed())

    async def job() -> None:
        async with run.transaction(complete=False) as tx:
            await end(tx, statements)
            with pytest.raises(UsageError, match="ended inside the block"):
                await tx.execute(INSERT, (run.key, 1))
            with suppress(apsw.Error):
                tx.connection.execute("INSERT INTO sent VALUES ('beside', 1)")

    with pytest.raises(UsageError, match="ended inside the block"):
        await job()
    assert await with_once.sent() == []


async def test_a_commit_by_the_drivers_own_connection_is_refused(on_sqlite: Ground) -> None:
    run = on_sqlite.run(claim := await on_sqlite.claimed())

    async def job() -> None:
        async with run.transaction() as tx:
            await tx.execute(INSERT, (run.key, 1))
            with suppress(apsw.Error):
                tx.connection.execute("COMMIT")

    with pytest.raises(UsageError, match="ended inside the block"):
        await job()
    assert (await on_sqlite.sent(), await on_sqlite.state(claim.run_key)) == ([], RunState.RUNNING)


async def test_savepoints_and_conflicts_that_undo_one_statement_are_the_jobs_own(with_once: Ground) -> None:
    run = with_once.run(claim := await with_once.claimed())
    async with run.transaction() as tx:
        await tx.execute("SAVEPOINT mine")
        await tx.execute(INSERT, ("undone", 1))
        await tx.execute("ROLLBACK TO mine")
        await tx.execute("RELEASE mine")
        await tx.execute("INSERT INTO once VALUES ('a')")
        with pytest.raises(apsw.ConstraintError):
            await tx.execute("INSERT INTO once VALUES ('a')")
        await tx.execute(INSERT, (run.key, 1))
    assert await with_once.sent() == [(run.key, 1)]
    assert await with_once.state(claim.run_key) is RunState.SUCCEEDED


async def test_a_tx_that_is_used_after_its_block_says_so(on_sqlite: Ground) -> None:
    run = on_sqlite.run(await on_sqlite.claimed())
    async with run.transaction() as tx:
        await tx.execute(INSERT, (run.key, 1))
    with pytest.raises(UsageError, match="inside the block"):
        await tx.execute(INSERT, (run.key, 2))
