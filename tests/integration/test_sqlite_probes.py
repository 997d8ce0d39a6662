"""Claims walk what is due and nothing else."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from fencepost.clock import SystemClock
from fencepost.model.clocks import StoreTime
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite import SqliteStore, open_store

CALENDARS = load_queries("fencepost.stores.sqlite", "calendars.sql")
CLAIMS = load_queries("fencepost.stores.sqlite", "claims.sql")
LEDGER = load_queries("fencepost.stores.sqlite", "ledger.sql")
PLANBOOK = load_queries("fencepost.stores.sqlite", "planbook.sql")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await open_store(f"sqlite:///{tmp_path / 'fencepost.db'}", clock=SystemClock())
    yield opened
    await opened.close()


async def plan_of(store: SqliteStore, query: str) -> list[str]:
    def work(connection: apsw.Connection, _: StoreTime) -> list[str]:
        bindings = dict.fromkeys(re.findall(r":(\w+)", query))
        return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", bindings)]

    return await store._database.read(work)


DUE_RANGE = "(namespace=? AND queue=? AND priority=? AND run_at<?)"
TICK_RANGE = "(namespace=? AND schedule_id=?)"
WALKS = ("SCAN runs", "SCAN r ", "SCAN cursors", "SCAN old", "SCAN u")
BY_REVISION = "COVERING INDEX calendar_uses_by_revision"
FUTURE_RANGE = "(namespace=? AND queue=? AND priority=? AND run_at>?)"


@pytest.mark.parametrize(
    ("query", "step"),
    [
        (CLAIMS["due_direct"], f"SEARCH runs USING INDEX runs_due_direct {DUE_RANGE}"),
        (CLAIMS["due_ticks"], f"SEARCH runs USING INDEX runs_due_ticks {DUE_RANGE}"),
        (CLAIMS["outlook"], f"SEARCH runs USING INDEX runs_due_direct {DUE_RANGE}"),
        (CLAIMS["outlook"], f"SEARCH runs USING INDEX runs_due_ticks {DUE_RANGE}"),
        (CLAIMS["outlook"], f"SEARCH runs USING INDEX runs_due_direct {FUTURE_RANGE}"),
        (CLAIMS["outlook"], f"SEARCH runs USING INDEX runs_due_ticks {FUTURE_RANGE}"),
        (CLAIMS["next_lane"], "SEARCH runs USING INDEX runs_due_ticks ((namespace,queue)>(?,?))"),
        (CLAIMS["picked"], "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)"),
        (
            CLAIMS["facts"],
            "SEARCH runs USING INDEX runs_finished (namespace=? AND schedule_id=? AND finished_at>?)",
        ),
        (
            CLAIMS["facts_due"],
            f"SEARCH r USING INDEX runs_open {TICK_RANGE}",
        ),
        (
            CLAIMS["facts_unfinished"],
            "SEARCH r USING INDEX runs_unfinished (namespace=? AND schedule_id=?)",
        ),
        (CLAIMS["adopt"], "SEARCH r USING INDEX runs_running (worker=?)"),
        (LEDGER["forgettable"], "SEARCH runs USING INDEX runs_ended (finished_at>? AND finished_at<?)"),
        (
            PLANBOOK["window"],
            "SEARCH due USING INDEX cursors_next (shard=? AND next_fire_at>? AND next_fire_at<?)",
        ),
        (PLANBOOK["outlived"], "SEARCH old USING INDEX cursors_by_rules (shard=? AND tzdata<?)"),
        (
            PLANBOOK["outlived"],
            "SEARCH runs USING INDEX runs_open (namespace=? AND schedule_id=? AND fire_time>?)",
        ),
        (
            CALENDARS["users"],
            f"SEARCH calendar_uses USING {BY_REVISION} (namespace=? AND calendar=?)",
        ),
        (
            CALENDARS["behind"],
            f"SEARCH u USING {BY_REVISION} (namespace=? AND calendar=? AND revision<?)",
        ),
    ],
)
async def test_nothing_is_walked_but_the_range_of_its_index(
    store: SqliteStore, query: str, step: str
) -> None:
    plan = await plan_of(store, query)
    assert step in plan, "\n".join(plan)
    assert [one for one in plan if one.startswith(WALKS)] == []


@pytest.mark.parametrize("name", ["due_direct", "due_ticks"])
async def test_a_probe_does_not_sort(store: SqliteStore, name: str) -> None:
    assert [one for one in await plan_of(store, CLAIMS[name]) if "TEMP B-TREE" in one] == []
