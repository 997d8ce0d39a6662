"""Claims walk what is due and nothing else."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from fencepost.clock import SystemClock
from fencepost.model import tables as declared
from fencepost.model.clocks import StoreTime
from fencepost.model.table import Index, Table
from fencepost.model.tables import (
    GATES_CLOSED,
    RUNS_BY_SCHEDULE,
    RUNS_DUE_DIRECT,
    RUNS_DUE_TICKS,
    RUNS_HELD_BACK,
    RUNS_LIMITED,
    RUNS_LINED,
)
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite import SqliteStore, open_store
from fencepost.stores.statements import Shape, count_text, find_text


def queries_of(part: str) -> dict[str, str]:
    return load_queries("fencepost.stores.sqlite", f"{part}.sql")


CLAIMS, FACTS, LEDGER = (queries_of(one) for one in ("claims", "facts", "ledger"))
PLANBOOK, RUNS = (queries_of(one) for one in ("plans", "runs"))


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
LATER_TICKS = "(namespace=? AND schedule_id=? AND fire_time>?)"
TICKS_BETWEEN = "(namespace=? AND schedule_id=? AND fire_time>? AND fire_time<?)"
TIME_RANGE = "(namespace=? AND fire_time>? AND fire_time<?)"
WALKS = (
    *("SCAN runs", "SCAN r ", "SCAN cursors", "SCAN old", "SCAN u", "SCAN backfills"),
    *("SCAN missed_ranges", "SCAN audit_log"),
)
FUTURE_RANGE = "(namespace=? AND queue=? AND priority=? AND run_at>?)"


def counted(index: Index) -> str:
    """How the rules count what an index has of one namespace."""
    return count_text(Shape(index, 1, None, None), "").replace("{}", "NULL")


def found(shape: Shape) -> str:
    """How the rules find a page of rows."""
    return find_text(shape, "", reverse=False).replace("{}", "NULL") + " LIMIT 1"


@pytest.mark.parametrize(
    ("query", "step"),
    [
        (CLAIMS["due_direct"], f"SEARCH runs USING INDEX runs_due_direct {DUE_RANGE}"),
        (CLAIMS["due_ticks"], f"SEARCH runs USING INDEX runs_due_ticks {DUE_RANGE}"),
        (CLAIMS["outlook"], f"SEARCH runs USING INDEX runs_due_direct {DUE_RANGE}"),
        (CLAIMS["outlook"], f"SEARCH runs USING INDEX runs_due_ticks {DUE_RANGE}"),
        (CLAIMS["outlook"], f"SEARCH runs USING INDEX runs_due_direct {FUTURE_RANGE}"),
        (CLAIMS["outlook"], f"SEARCH runs USING INDEX runs_due_ticks {FUTURE_RANGE}"),
        (
            found(Shape(RUNS_DUE_TICKS, 0, (3, False), None)),
            "SEARCH runs USING INDEX runs_due_ticks ((namespace,queue,priority)>(?,?,?))",
        ),
        (CLAIMS["picked"], "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)"),
        (FACTS["facts"], f"SEARCH runs USING INDEX runs_open {TICK_RANGE}"),
        (FACTS["facts"], f"SEARCH runs USING INDEX runs_behind {TICK_RANGE}"),
        (FACTS["facts"], f"SEARCH runs USING COVERING INDEX runs_succeeded {TICK_RANGE}"),
        (FACTS["facts_due"], f"SEARCH runs USING INDEX runs_open {TICK_RANGE}"),
        (FACTS["facts_due"], f"SEARCH runs USING INDEX runs_behind {TICK_RANGE}"),
        (FACTS["facts_due"], "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)"),
        (FACTS["facts_unfinished"], f"SEARCH r USING INDEX runs_unfinished {TICK_RANGE}"),
        (
            FACTS["facts"],
            "SEARCH runs USING INDEX runs_finished (namespace=? AND schedule_id=? AND finished_at>?)",
        ),
        (FACTS["gate_waiting"], f"SEARCH runs USING INDEX runs_behind {LATER_TICKS}"),
        (
            FACTS["gate_failed"],
            "SEARCH runs USING INDEX runs_caught_up (namespace=? AND schedule_id=? AND finished_at>?)",
        ),
        (
            found(Shape(RUNS_LINED, 3, None, None)),
            "SEARCH runs USING INDEX runs_lined (namespace=? AND job=? AND queue=?)",
        ),
        (
            counted(RUNS_HELD_BACK),
            "SEARCH runs USING INDEX runs_held_by_somebody (namespace=?)",
        ),
        (counted(GATES_CLOSED), "SEARCH gates USING INDEX gates_closed (namespace=?)"),
        (
            "SELECT rowid " + RUNS["list"] + " " + RUNS["wanted"],
            f"SEARCH runs USING INDEX runs_by_time {TIME_RANGE}",
        ),
        (
            "SELECT fire_time " + RUNS["list"] + " " + RUNS["edge"],
            f"SEARCH runs USING COVERING INDEX runs_by_time {TIME_RANGE}",
        ),
        (
            "SELECT rowid " + RUNS["list_dead"] + " " + RUNS["wanted"],
            f"SEARCH runs USING INDEX runs_dead {TIME_RANGE}",
        ),
        (
            "SELECT rowid " + RUNS["list_held"] + " " + RUNS["wanted"],
            "SEARCH runs USING INDEX runs_held (namespace=?)",
        ),
        (
            "SELECT rowid " + RUNS["list_of_schedule"] + " " + RUNS["wanted"],
            f"SEARCH runs USING INDEX runs_by_schedule {TICKS_BETWEEN}",
        ),
        (
            "SELECT rowid " + RUNS["list_of_backfill"] + " " + RUNS["wanted"],
            "SEARCH runs USING INDEX runs_of_backfill (backfill_id=?)",
        ),
        (
            found(Shape(RUNS_BY_SCHEDULE, 2, (2, False), (1, True))),
            f"SEARCH runs USING INDEX runs_by_schedule {TICKS_BETWEEN}",
        ),
        (
            PLANBOOK["window"],
            "SEARCH due USING INDEX cursors_next (shard=? AND next_fire_at>? AND next_fire_at<?)",
        ),
        (
            PLANBOOK["plan"],
            "SEARCH runs USING INDEX runs_by_schedule (namespace=? AND schedule_id=? AND fire_time=?)",
        ),
    ],
)
async def test_nothing_is_walked_but_the_range_of_its_index(
    store: SqliteStore, query: str, step: str
) -> None:
    plan = await plan_of(store, query)
    assert step in plan, "\n".join(plan)
    assert [one for one in plan if one.startswith(WALKS)] == []


def lookups() -> list[Index]:
    """Every declared index by which rows are found by their first columns."""
    tables = [one for one in vars(declared).values() if isinstance(one, Table)]
    return [index for one in tables for index in one.indexes.values() if len(index.columns) > 1]


@pytest.mark.parametrize("index", lookups(), ids=lambda index: index.name)
async def test_no_rule_walks_a_table_for_what_an_index_finds(store: SqliteStore, index: Index) -> None:
    known = index.columns[: -len(index.table.key)] or index.columns[:-1]
    text = find_text(Shape(index, len(known), None, None), "", reverse=False).replace("{}", "NULL")
    plan = await plan_of(store, text)
    assert [one for one in plan if one.startswith("SCAN") and "INDEX" not in one] == []


@pytest.mark.parametrize("name", ["due_direct", "due_ticks"])
async def test_a_probe_does_not_sort(store: SqliteStore, name: str) -> None:
    assert [one for one in await plan_of(store, CLAIMS[name]) if "TEMP B-TREE" in one] == []


@pytest.mark.parametrize("index", [RUNS_LINED, RUNS_LIMITED], ids=lambda index: index.name)
async def test_a_line_is_not_sorted_where_all_is_due_at_one_instant(store: SqliteStore, index: Index) -> None:
    plan = await plan_of(store, found(Shape(index, 3, None, None)))
    assert [one for one in plan if "TEMP B-TREE" in one] == []


async def test_whether_anybody_waits_is_a_look_at_indexes_that_are_mostly_empty(store: SqliteStore) -> None:
    plan = await plan_of(store, LEDGER["any_waiting"])
    scans = [one for one in plan if one.startswith(("SCAN runs", "SEARCH runs"))]
    assert scans == [f"SCAN runs USING COVERING INDEX {one}" for one in ("runs_parked", "runs_limited")]


@pytest.mark.parametrize("index", [RUNS_DUE_DIRECT, RUNS_DUE_TICKS], ids=lambda index: index.name)
async def test_what_is_due_is_leapt_over_from_lane_to_lane(store: SqliteStore, index: Index) -> None:
    plan = await plan_of(store, found(Shape(index, 1, (2, False), None)))
    assert f"SEARCH runs USING INDEX {index.name} (namespace=? AND (queue,priority)>(?,?))" in plan
