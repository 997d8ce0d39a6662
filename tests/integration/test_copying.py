"""`fencepost copy` between real stores: nothing is lost, no number comes twice, the target goes on."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from fencepost.config import settings_from
from fencepost.model.table import ColumnKind, Key, Row, Table
from fencepost.model.tables import AUDIT_LOG, EPOCHS, META, RUNS, TABLES
from fencepost.ports.rows import Transaction
from fencepost.services.copying import PAGE
from fencepost.testing.conformance.builders import JOB
from fencepost.wiring import open_store
from tests.cli.calls import call, called, called_json
from tests.integration import old_ledger
from tests.servers.postgres import PostgresDatabases
from tests.servers.process import Address

FENCE = 1_234
MORE = 3 * PAGE
"""Runs besides, for several pages."""
Stores = Callable[[str], str]

SERVERS: dict[str, list[pytest.MarkDecorator]] = {
    "sqlite": [],
    "postgres": [pytest.mark.postgres],
    "mongodb": [],
}


def pairs() -> list[Any]:
    """All of them; the first in every run of the tests."""
    each = [(one, other) for one in SERVERS for other in SERVERS]
    return [
        pytest.param(
            *(one, other),
            id=f"{one}-{other}",
            marks=[*SERVERS[one], *SERVERS[other], *([] if place == 1 else [pytest.mark.proof])],
        )
        for place, (one, other) in enumerate(each)
    ]


@pytest.fixture
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    """Makes the address of a store that was set up just now."""

    def make(kind: str) -> str:
        name = f"copy_{uuid4().hex[:12]}"
        if kind == "sqlite":
            return f"sqlite:///{tmp_path / name}.db"
        if kind == "postgres":
            server: PostgresDatabases = request.getfixturevalue("postgres_server")
            url = server.create_database()
            request.addfinalizer(lambda: server.drop_database(url))
            return url
        mongo: Address = request.getfixturevalue("mongo_server")
        url = mongo.url.replace("/?", f"/{name}?")
        called("migrate", "--store", url)
        return url

    return make


@pytest.mark.parametrize(("kind", "other"), pairs())
def test_a_copy_has_every_row_and_gives_out_no_number_again(kind: str, other: str, new_store: Stores) -> None:
    """Over 5 s where a server starts for it."""
    source, target = new_store(kind), new_store(other)
    asyncio.run(fill(source))
    said = called_json("copy", "--from", source, "--to", target, "--reason", "growth")
    before, after = asyncio.run(everything(source)), asyncio.run(everything(target))
    for table in TABLES:
        if table not in (META, EPOCHS, AUDIT_LOG):
            assert after[table] == before[table], table.name
            assert said["rows"][table.name] == len(before[table])
    (entry,) = [after[AUDIT_LOG].pop(key) for key in after[AUDIT_LOG].keys() - before[AUDIT_LOG].keys()]
    assert after[AUDIT_LOG] == before[AUDIT_LOG]
    assert (entry["action"], entry["reason"]) == ("ledger.restore", "growth")
    for key, leader in before[EPOCHS].items():
        assert after[EPOCHS][key]["epoch"] > leader["epoch"]
    assert without(after[META], "incarnation", "schema") == without(before[META], "incarnation", "schema")
    assert audited(target) == audited(source)
    assert asyncio.run(next_fence(target)) > said["target"]["fence"] > FENCE
    # A key that was used stays used.
    assert not called_json("enqueue", JOB, "--key", "stripped", "--store", target)["new"]


def without(about: dict[Key, Row], *names: str) -> dict[Key, Row]:
    return {key: row for key, row in about.items() if key[0] not in names}


async def fill(url: str) -> None:
    """A ledger with rows in every table, gaps in all its numbers, and many runs."""
    store = await open_store(settings_from(overrides={"store": url}))
    many = [old_ledger.by_hand(f"many-{number}", "ready", -1) for number in range(MORE)]

    async def write(tx: Transaction) -> None:
        for table in TABLES:
            rows = old_ledger.every_row().get(table.name, [])
            if table.serial is not None:
                rows = [{**row, table.serial: 3 * number} for number, row in enumerate(rows, 1)]
            await tx.put_if_absent(table, rows)
        await tx.put_if_absent(RUNS, many)
        await tx.fences(FENCE)

    await store.rows.write(write)
    await store.close()


async def everything(url: str) -> dict[Table, dict[Key, Row]]:
    """All rows of a store."""
    store = await open_store(settings_from(overrides={"store": url}))
    found = {table: await store.rows.read(partial(find, table)) for table in TABLES}
    await store.close()
    return {table: {table.key_of(row): plain(table, row) for row in rows} for table, rows in found.items()}


async def find(table: Table, tx: Transaction) -> list[Row]:
    return await tx.find(table.all())


def plain(table: Table, row: Row) -> Row:
    """Without what a store may write in another way: the blanks in JSON."""
    return {
        name: json.loads(row[name]) if kind is ColumnKind.JSON else row[name]
        for name, kind in table.columns.items()
    }


def audited(url: str) -> str:
    found = call(
        "audit", "--from", "2026-03-01T11:00:00Z", "--to", "2026-03-01T12:05:00Z", "--store", url, "--json"
    )
    assert found.exit_code == 1
    # How long something has been so is another length each time it is asked.
    return re.sub(r'"words": .*', "", found.stdout)


async def next_fence(url: str) -> int:
    store = await open_store(settings_from(overrides={"store": url}))
    (fence,) = await store.rows.write(lambda tx: tx.fences(1))
    await store.close()
    return fence
