"""Rows are looked up by key, also by a plan that was made while their table was empty.

A connection plans a statement once. Of a table that was vacuumed while it was empty the server would rather
walk all rows than look for some, and each batch would then cost more the more rows there are."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fencepost.model.table import Table
from fencepost.model.tables import CALENDAR_USES, TABLES
from fencepost.stores.postgres.address import parse_address
from fencepost.stores.postgres.connection import connect
from fencepost.stores.postgres.entries import QUERIES as ENTRIES
from fencepost.stores.postgres.plans import QUERIES as PLANBOOK
from fencepost.stores.postgres.rows import _by_keys, _delete, _update
from tests.integration.test_postgres_probes import RUNNABLE, SMALL, nodes

pytestmark = pytest.mark.postgres

STATEMENTS = {name: query for name, (query, _) in RUNNABLE.items()} | {
    "enqueue": ENTRIES["enqueue"],
    "write": PLANBOOK["write"],
}
SCANS = {"Index Scan", "Index Only Scan", "Bitmap Index Scan", "Seq Scan"}


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator[Any]:
    """A connection with the store's settings, to a server that knows that all tables are empty."""
    opened = await connect(parse_address(postgres_url))
    await opened.execute("VACUUM ANALYZE")
    yield opened
    await opened.close()


async def test_no_row_is_looked_for_by_a_walk_through_its_table(connection: Any) -> None:
    walked = {
        (table.name, verb)
        for table in TABLES
        for verb, query in by_key(table).items()
        if await walks(connection, query)
    }
    # One of its indexes has all its columns. No rule finds these by key without a lock.
    assert walked == {(CALENDAR_USES.name, "find")}


def by_key(table: Table) -> dict[str, str]:
    """The statements that are given keys."""
    values = tuple(one for one in table.columns if one not in table.key)[:1]
    return {
        "find": _by_keys(table, False, ""),
        "lock": _by_keys(table, False, "FOR UPDATE"),
        "take": _by_keys(table, False, "FOR UPDATE SKIP LOCKED"),
        "delete": _delete(table),
        **({"change": _update(table, values)} if values else {}),
    }


async def walks(connection: Any, query: str) -> bool:
    """Whether the statement, as it is planned now, would read a whole table or index."""
    return any("Index Cond" not in node for node in await scans(connection, query))


async def scans(connection: Any, query: str) -> list[dict[str, Any]]:
    """What the statement would read of tables. It is planned as for any parameters."""
    given = ", ".join(["NULL"] * max(map(int, re.findall(r"\$(\d+)", query))))
    await connection.execute(f"PREPARE planned AS {query}")
    try:
        text = await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE planned ({given})")
    finally:
        await connection.execute("DEALLOCATE planned")
    return [node for node in nodes(json.loads(text)[0]["Plan"]) if node["Node Type"] in SCANS]


@pytest.mark.parametrize("name", STATEMENTS)
async def test_no_statement_of_many_runs_walks_a_table(connection: Any, name: str) -> None:
    """An index of some rows may be walked, as that of all that is parked. One of all rows may not."""
    walked = {
        (node["Relation Name"], node.get("Index Name"))
        for node in await scans(connection, STATEMENTS[name])
        if "Index Cond" not in node and node["Relation Name"] not in SMALL | {"jobs"}
    }
    assert {(table, index) for table, index in walked if index in (None, f"{table}_pkey")} == set()
