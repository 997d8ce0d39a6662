"""What a plan costs in SQLite."""

from pathlib import Path

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.stores import sqlite
from fencepost.testing.conformance.builders import at, make_plan, put, read_cursor, write
from tests.conformance.on_sqlite import open_sqlite

RUNS = 50


async def test_a_plan_of_many_runs_does_not_take_a_statement_for_each(tmp_path: Path) -> None:
    """In a savepoint a statement costs the more, the more was written before: 5,000 took ten seconds."""
    harness = await open_sqlite(tmp_path / "ledger.db")
    await put(harness)
    plan = make_plan(await read_cursor(harness), *(at(harness, 60 + second) for second in range(RUNS)))
    inserts: list[str] = []

    def note(trace: dict[str, str]) -> None:
        inserts.extend(one for one in [trace["sql"]] if "INSERT INTO runs" in one)

    def watch(connection: apsw.Connection, _: StoreTime) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, note)

    assert isinstance(harness.store, sqlite.SqliteStore)
    await harness.store._database.transact(watch)
    receipt = await write(harness, plan)
    await harness.store.close()
    assert (receipt.runs_written, len(inserts)) == (RUNS, 1)
