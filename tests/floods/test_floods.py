"""Without a credential nobody makes ticks late or leases fall."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.floods.client import KINDS
from tests.floods.drill import HEAD, flood, postgres_stores, run_floods, running, sqlite_stores
from tests.servers.postgres import PostgresDatabases

LONG_S = 30.0
SHORT_S = 3.0


@pytest.mark.timeout(300)
def test_nine_hundred_connections_cost_no_lease(tmp_path: Path) -> None:
    """It takes 8 s: a real node and a flood. How late its ticks are is asked by the drills below."""
    with running(sqlite_stores(tmp_path)[0]) as node:
        before = node.epochs()
        assert flood("connections", node.port, SHORT_S)["200"]
        assert node.epochs() == before
        assert "Traceback" not in node.process.said


@pytest.mark.proof
@pytest.mark.timeout(1_200)
def test_no_flood_makes_ticks_late_or_leases_fall_on_sqlite(tmp_path: Path) -> None:
    """It takes 4 min: each flood lasts half a minute."""
    judge(list(KINDS), sqlite_stores(tmp_path), LONG_S)


@pytest.mark.proof
@pytest.mark.postgres
@pytest.mark.timeout(1_200)
def test_no_flood_makes_ticks_late_or_leases_fall_on_postgres(postgres_server: PostgresDatabases) -> None:
    """It takes 4 min: each flood lasts half a minute."""
    stores = postgres_stores(postgres_server)
    judge(list(KINDS), stores, LONG_S)
    for url in stores:
        postgres_server.drop_database(url)


def judge(kinds: list[str], stores: tuple[str, str], for_s: float) -> None:
    """Print the table, then say what was not kept."""
    print(f"\n{HEAD}")
    faults = {}
    for one in run_floods(kinds, stores, for_s):
        print(one.row)
        faults[one.kind] = one.faults
    assert not any(faults.values()), faults
