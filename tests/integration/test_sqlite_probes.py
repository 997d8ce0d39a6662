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


def queries_of(part: str) -> dict[str, str]:
    return load_queries("fencepost.stores.sqlite", f"{part}.sql")


AUDIT_LOG, BACKFILLS, CALENDARS = queries_of("audit_log"), queries_of("backfills"), queries_of("calendars")
CLAIMS, FACTS, FREEZES, GATES = (queries_of(one) for one in ("claims", "facts", "freezes", "gates"))
LEDGER, ORDERS, PARKING = queries_of("ledger"), queries_of("orders"), queries_of("parking")
LINES = queries_of("lines")
PLANBOOK, RUNS, SCHEDULES = queries_of("planbook"), queries_of("runs"), queries_of("schedules")
VIEWS = queries_of("views")


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
ENDED_BETWEEN = "(namespace=? AND schedule_id=? AND finished_at>? AND finished_at<?)"
TICKS_BETWEEN = "(namespace=? AND schedule_id=? AND fire_time>? AND fire_time<?)"
TIME_RANGE = "(namespace=? AND fire_time>? AND fire_time<?)"
WALKS = (
    *("SCAN runs", "SCAN r ", "SCAN cursors", "SCAN old", "SCAN u", "SCAN backfills"),
    *("SCAN missed_ranges", "SCAN audit_log"),
)
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
        (LINES["heads"], "SEARCH runs USING COVERING INDEX runs_lined (namespace=? AND job=? AND queue=?)"),
        (LINES["line"], "SEARCH r USING INDEX runs_lined (namespace=? AND job=? AND queue=?)"),
        (
            LINES["running"],
            "SEARCH runs USING COVERING INDEX runs_in_slots (namespace=? AND job=? AND slot>?)",
        ),
        (
            LINES["place"],
            "SEARCH runs USING COVERING INDEX runs_in_slots (namespace=? AND job=? AND slot=?)",
        ),
        (
            LINES["fill"],
            "SEARCH runs USING COVERING INDEX runs_limited (namespace=? AND job=? AND slot=?)",
        ),
        (LINES["ring_ticks"], f"SEARCH runs USING INDEX runs_limited_ticks {TICK_RANGE}"),
        (LINES["slots_of"], "SEARCH r USING INDEX sqlite_autoindex_runs_1 (namespace=? AND run_key=?)"),
        (LINES["release"], "SEARCH runs USING INDEX runs_held (namespace=?)"),
        (PARKING["ring"], f"SEARCH runs USING INDEX runs_parked {TICK_RANGE}"),
        (SCHEDULES["spare"], f"SEARCH runs USING INDEX runs_by_schedule {LATER_TICKS}"),
        (GATES["hold_back"], f"SEARCH runs USING INDEX runs_behind {TICK_RANGE}"),
        (VIEWS["attention"], "SEARCH runs USING INDEX runs_held_by_somebody (namespace=?)"),
        (VIEWS["attention"], "SEARCH gates USING INDEX gates_closed (namespace=?)"),
        (GATES["held_back"], f"SEARCH runs USING INDEX runs_held {TICK_RANGE}"),
        (GATES["closed"], f"SEARCH r USING INDEX runs_held {TICK_RANGE} LEFT-JOIN"),
        (FREEZES["hold"], f"SEARCH r USING INDEX runs_open {TICK_RANGE}"),
        (FREEZES["hold"], f"SEARCH r USING INDEX runs_behind {TICK_RANGE}"),
        (FREEZES["hold"], f"SEARCH r USING INDEX runs_unfinished {TICK_RANGE}"),
        (FREEZES["let_go"], f"SEARCH r USING INDEX runs_held {TICK_RANGE}"),
        (BACKFILLS["runs"], "SEARCH runs USING INDEX runs_of_backfill (backfill_id=?)"),
        (BACKFILLS["waiting"], "SEARCH runs USING INDEX runs_of_backfill (backfill_id=?)"),
        (
            BACKFILLS["list"],
            "SEARCH backfills USING INDEX backfills_by_namespace (namespace=? AND backfill_id<?)",
        ),
        (
            ORDERS["restore"],
            "SEARCH runs USING INDEX runs_by_schedule (namespace=? AND schedule_id=? AND fire_time=?)",
        ),
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
            RUNS["ticks"],
            f"SEARCH runs USING INDEX runs_by_schedule {TICKS_BETWEEN}",
        ),
        (
            RUNS["ended"],
            f"SEARCH runs USING INDEX runs_finished {ENDED_BETWEEN}",
        ),
        (
            AUDIT_LOG["list"],
            "SEARCH audit_log USING INDEX audit_log_by_number (namespace=? AND number<?)",
        ),
        (
            AUDIT_LOG["list_of_subject"],
            "SEARCH audit_log USING INDEX audit_log_by_subject (namespace=? AND subject=? AND number<?)",
        ),
        (CLAIMS["adopt"], "SEARCH r USING INDEX runs_running (worker=?)"),
        (LEDGER["forgettable"], "SEARCH run USING INDEX runs_ended (finished_at>? AND finished_at<?)"),
        (
            LEDGER["forgettable"],
            "SEARCH cursor USING INDEX sqlite_autoindex_cursors_1 (namespace=? AND schedule_id=?)",
        ),
        (
            PLANBOOK["window"],
            "SEARCH due USING INDEX cursors_next (shard=? AND next_fire_at>? AND next_fire_at<?)",
        ),
        (
            PLANBOOK["plan"],
            "SEARCH runs USING INDEX runs_by_schedule (namespace=? AND schedule_id=? AND fire_time=?)",
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


async def test_whether_anything_is_parked_is_one_look_at_an_index_that_is_mostly_empty(
    store: SqliteStore,
) -> None:
    assert await plan_of(store, PARKING["any_parked"]) == ["SCAN runs USING COVERING INDEX runs_parked"]
    assert PARKING["any_parked"].endswith("LIMIT 1")


async def test_whether_anybody_waits_for_a_slot_is_one_look_at_an_index_that_is_mostly_empty(
    store: SqliteStore,
) -> None:
    assert await plan_of(store, LINES["any_limited"]) == ["SCAN runs USING COVERING INDEX runs_limited"]
    assert LINES["any_limited"].endswith("LIMIT 1")


async def test_the_net_reads_no_run_but_those_that_are_parked(store: SqliteStore) -> None:
    assert await plan_of(store, PARKING["parked"]) == ["SCAN runs USING COVERING INDEX runs_parked"]


@pytest.mark.parametrize("index", ["runs_due_direct", "runs_due_ticks"])
async def test_what_is_due_is_leapt_over_from_lane_to_lane(store: SqliteStore, index: str) -> None:
    plan = await plan_of(store, VIEWS["standing"])
    assert f"SEARCH r USING INDEX {index} (namespace=? AND queue=? AND priority>?)" in plan
    assert f"SEARCH r USING INDEX {index} (namespace=? AND queue>?)" in plan
