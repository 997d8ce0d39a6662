"""Statements touch the range of their index, whatever lies beside it."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from fencepost.model.tables import (
    GATES_CLOSED,
    RUNS_BY_SCHEDULE,
    RUNS_DEAD,
    RUNS_HELD_BACK,
    RUNS_LINED,
)
from fencepost.stores.postgres import schedules
from fencepost.stores.postgres.address import parse_address
from fencepost.stores.postgres.claims import QUERIES as CLAIMS
from fencepost.stores.postgres.connection import connect
from fencepost.stores.postgres.facts import LIMITS
from fencepost.stores.postgres.facts import QUERIES as FACTS
from fencepost.stores.postgres.ledger import QUERIES as LEDGER
from fencepost.stores.postgres.plans import QUERIES as PLANBOOK
from fencepost.stores.postgres.rows import PostgresRowTransaction, _arrays, count_each, find_each
from fencepost.stores.postgres.runs import QUERIES as RUNS
from fencepost.stores.postgres.verdicts import QUERIES as RULINGS
from fencepost.stores.postgres.views import QUERIES as VIEWS
from fencepost.stores.statements import shape_of
from tests.marks import in_proof

pytestmark = pytest.mark.postgres

NOW, HOUR = datetime(2026, 3, 1, tzinfo=UTC), timedelta(hours=1)
QUEUES, JOBS = ["default", "mail"], ["j"]
LANES = QUEUES * 5, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5], [100] * 10
TICKETS = ["default"], "j#1", [1], [1]
FUTURE, DUE = 20_000, 50
BEHIND = [50_000, *[None] * 6]
LATER = datetime.now(UTC) + HOUR
SMALL = {"calendars", "gates", "freezes", "backfills", "limits", "epochs"}
FILL = f"""
    INSERT INTO fencepost.runs (
        namespace, run_key, schedule_id, job, fire_time, version, state, queue, priority, run_at
    )
    SELECT 'default', kind || n, CASE WHEN kind = 'tick' THEN 'schedule-' || n % 100 END, 'j', at, 1,
        'planned', 'default', 2, at
    FROM unnest(ARRAY['hand', 'tick']) AS kind
    CROSS JOIN (
        SELECT n, now() + make_interval(secs => n) AS at FROM generate_series(1, {FUTURE}) AS n
        UNION ALL
        SELECT -n, now() - make_interval(secs => n) FROM generate_series(1, {DUE}) AS n
    ) AS moments
"""
BESIDE = f"""
    INSERT INTO fencepost.meta (name, value) VALUES ('swept_at', now());
    INSERT INTO fencepost.schedules (namespace, schedule_id, shard, version, state, spec, job, updated_at)
    SELECT 'default', 'schedule-' || n, n % 4, 1, 'active', '', 'j', now()
    FROM generate_series(1, {FUTURE}) AS n;
    INSERT INTO fencepost.schedule_versions (
        namespace, schedule_id, version, spec, job, in_force_from, tzdata
    )
    SELECT namespace, schedule_id, 1, '', 'j', now(), '' FROM fencepost.schedules;
    INSERT INTO fencepost.cursors (
        namespace, schedule_id, shard, version, planned_through, next_fire_at, tzdata
    )
    SELECT 'default', 'schedule-' || n, n % 4, 1, now(), now() + make_interval(secs => n),
        CASE WHEN n = 1 THEN '2026a' ELSE '2026b' END
    FROM generate_series(1, {FUTURE}) AS n;
    INSERT INTO fencepost.calendars VALUES ('default', 'de', 2, '{{}}', now());
    INSERT INTO fencepost.calendar_uses (namespace, schedule_id, calendar, revision)
    SELECT 'default', 'schedule-' || n, 'de', CASE WHEN n <= {DUE} THEN 1 ELSE 2 END
    FROM generate_series(1, {FUTURE}) AS n;
"""
LONG_LINE = f"""
    INSERT INTO fencepost.limits (namespace, job, terms, concurrency) VALUES ('default', 'j', '{{}}', 5);
    INSERT INTO fencepost.runs (
        namespace, run_key, job, fire_time, version, state, queue, priority, run_at, held
    )
    SELECT 'default', 'lined' || n, 'j', now(), 1, 'ready', 'mail', 1 + n % 2, now(), 32
    FROM generate_series(1, {FUTURE}) AS n;
"""
OPENED_GATES = f"""
    INSERT INTO fencepost.gates (namespace, schedule_id, opened_at)
    SELECT 'default', 'schedule-' || n, now() FROM generate_series(1, {FUTURE}) AS n;
"""
PAUSED = "INSERT INTO fencepost.freezes VALUES ('default', 'queue', 'mail', now(), 'anna', 'cli')"
STRIPS = RUNS_BY_SCHEDULE.each([("default", "schedule-1"), ("default", "schedule-2")]).through(NOW).ranges
RUNNABLE = {
    "outlook": (CLAIMS["outlook"], (QUEUES, JOBS, "default")),
    "claim_direct": (CLAIMS["claim_direct"], (LANES[0], JOBS, 100, "w", 30.0, "default", *LANES[1:])),
    "lock_due": (CLAIMS["lock_due"], (LANES[0], JOBS, 100, "default", 600, *LANES[1:])),
    "open_lines": (CLAIMS["open_lines"], ("default", JOBS, QUEUES)),
    "fill_slots": (CLAIMS["fill_slots"], (["default"], ["j"], [""])),
    "facts": (FACTS["facts"], (["default"], ["schedule-1"], QUEUES, JOBS, *LIMITS, 20)),
    "gates": (FACTS["gates"], (["default"], ["schedule-1"], [1_001], [10])),
    "settle": (RULINGS["settle"], (["default"], ["tick-1"], ["missed"], ["late"], [None], [0], [None])),
    "start": (RULINGS["start"], (["default"], ["tick-1"], "w", 30.0, [None], [None])),
    "pulse": (LEDGER["pulse"], (*TICKETS, 30.0)),
    "finish": (LEDGER["finish"], (*TICKETS, ["dead"], *[["why"]] * 4, [None], "stopped")),
    "note_sweep": (LEDGER["note_sweep"], (3_600.0,)),
    "unpark": (LEDGER["unpark"], (100,)),
    "forget": (LEDGER["forget"], (60.0, 100, None)),
    "window": (PLANBOOK["window"], ([0, 1], 60.0, 100, [])),
    "list_of_schedule": (RUNS["of_schedule"], ("default", *[None] * 8, "schedule-1", 50, *BEHIND)),
    "list_of_backfill": (RUNS["of_backfill"], ("default", *[None] * 6, 1, None, None, 50, *BEHIND)),
    "list_dead": (RUNS["of_state"], ("default", *[None] * 3, "dead", *[None] * 5, 50, *BEHIND)),
    "list_missed": (RUNS["of_state"], ("default", *[None] * 3, "missed", *[None] * 5, 50, *BEHIND)),
    "strips": (find_each(shape_of(STRIPS[0]), reverse=True), (*_arrays(STRIPS), 30)),
    "outcomes": (VIEWS["outcomes"], ("default", ["schedule-1", "schedule-2"], [NOW - HOUR, NOW], 30, 10.0)),
    "traffic": (VIEWS["traffic"], ("default", 60.0, 60)),
    "tally_by_job": (VIEWS["tally_by_job"], ("default", 60.0)),
    "overdue": (VIEWS["overdue"], ("default", 60.0, 60.0)),
    "news": (VIEWS["news"], (NOW, 100, 10_000, 300, ["default"])),
}
PAGES = {
    "of_job": (RUNS["all"], ("default", "j", *[None] * 8, 50, *BEHIND)),
    "later_page": (RUNS["all"], ("default", *[None] * 9, 50, 50_000, LATER, "tick5000", *[None] * 4)),
    "until": (RUNS["all"], ("default", None, None, LATER, *[None] * 6, 50, *BEHIND)),
    "find": (schedules.QUERIES["find"], ("default", "schedule-5", *[None] * 6, 50)),
}
"""Lists without a narrow index, which a server that knows nothing of the table yet sorts as a whole."""


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator[Any]:
    """A connection with the store's settings, beside a future far larger than what is due."""
    opened = await connect(parse_address(postgres_url))
    await opened.execute(FILL)
    await opened.execute(BESIDE)
    yield opened
    await opened.close()


@pytest.mark.parametrize("analysed", [False, *in_proof(True)])
async def test_no_statement_walks_what_it_does_not_need(connection: Any, analysed: bool) -> None:
    if analysed:
        await connection.execute("ANALYZE")
    walked = {name: await rows_walked(connection, *call) for name, call in RUNNABLE.items()}
    assert {name: rows for name, rows in walked.items() if rows > 5 * DUE} == {}


async def test_schedules_of_one_instant_are_not_all_read_for_each_batch_of_them(connection: Any) -> None:
    """By the plan that is made once for all batches, and knows neither their size nor what is left out."""
    await connection.execute("UPDATE fencepost.cursors SET next_fire_at = now()")
    await connection.execute("ANALYZE")
    await connection.execute(f"PREPARE due AS {PLANBOOK['window']}")
    plan = await explained(connection, f"EXECUTE due ('{{0, 1}}', 60, {DUE}, '{{}}')")
    assert max(rows_read(node) for node in nodes(plan) if "Relation Name" in node) <= 2 * DUE


async def test_a_later_page_does_not_walk_the_pages_before_it(connection: Any) -> None:
    await connection.execute("ANALYZE")
    walked = {name: await rows_walked(connection, *call) for name, call in PAGES.items()}
    assert {name: rows for name, rows in walked.items() if rows > 2 * DUE} == {}


@pytest.mark.parametrize("analysed", [False, *in_proof(True)])
@pytest.mark.parametrize("paused", [False, True])
async def test_a_line_in_a_queue_that_is_not_served_is_not_walked(
    connection: Any, analysed: bool, paused: bool
) -> None:
    """One queue has a long line. It is paused, or this worker does not serve it."""
    await connection.execute(LONG_LINE)
    queues = QUEUES if paused else ["default"]
    if paused:
        await connection.execute(PAUSED)
    if analysed:
        await connection.execute("ANALYZE")
    assert await rows_walked(connection, CLAIMS["outlook"], (queues, JOBS, "default")) <= 5 * DUE


@pytest.mark.parametrize("analysed", [False, *in_proof(True)])
async def test_runs_of_one_instant_do_not_cost_a_claim_a_look_at_all_of_them(
    connection: Any, analysed: bool
) -> None:
    """A batch of a limited job became due at one instant: it stands in line, and then waits for a slot."""
    await connection.execute(LONG_LINE)
    if analysed:
        await connection.execute("ANALYZE")
    asked = Asked()
    await PostgresRowTransaction(cast(Any, asked)).take(RUNS_LINED("default", "j", "mail"), limit=20)
    assert await rows_walked(connection, *asked.last) <= 20
    await connection.execute("UPDATE fencepost.runs SET held = 16, slot = '' WHERE held = 32")
    assert await rows_walked(connection, *RUNNABLE["fill_slots"]) <= 20


class Asked:
    """A session that answers nothing and remembers the last question."""

    last: tuple[str, tuple[Any, ...]]

    async def fetch(self, text: str, *terms: Any) -> list[Any]:
        self.last = text, terms
        return []


@pytest.mark.parametrize("analysed", [False, *in_proof(True)])
async def test_no_page_walks_runs_that_need_no_person(connection: Any, analysed: bool) -> None:
    """Every page counts what waits for a person: not by way of runs that wait for their turn, nor of gates
    that are open again."""
    await connection.execute(LONG_LINE)
    await connection.execute(OPENED_GATES)
    if analysed:
        await connection.execute("ANALYZE")
    for index in (RUNS_DEAD, RUNS_HELD_BACK, GATES_CLOSED):
        counted = count_each(shape_of(index("default"))), ([0], ["default"], 10_000)
        assert await rows_walked(connection, *counted) <= 5 * DUE


async def test_claiming_does_not_lock_more_rows_than_it_takes(connection: Any) -> None:
    assert await rows_locked(connection, ["default"], JOBS, 8, "w", 30.0, "default", [2], [100]) == 8


async def test_a_lane_does_not_lose_more_rows_than_its_portion(connection: Any) -> None:
    assert await rows_locked(connection, ["default"], JOBS, 8, "w", 30.0, "default", [2], [3]) == 3


async def rows_locked(connection: Any, *arguments: Any) -> int:
    plan = await explained(connection, CLAIMS["claim_direct"], *arguments)
    locked = [node for node in nodes(plan) if node["Node Type"] == "LockRows"]
    return int(sum(node["Actual Rows"] * node["Actual Loops"] for node in locked))


async def test_no_claim_can_walk_all_runs_by_state(connection: Any) -> None:
    """A server without statistics finds all indexes equally cheap and takes any that it can use: so this
    one must be none of them, even where the narrow ones are gone. The database is this test's own."""
    await connection.execute("DROP INDEX fencepost.runs_open, fencepost.runs_by_schedule")
    query, arguments = RUNNABLE["facts"]
    plan = await explained(connection, query, *arguments)
    assert "runs_by_state" not in {node.get("Index Name") for node in nodes(plan)}


async def rows_walked(connection: Any, query: str, arguments: tuple[Any, ...]) -> int:
    """The most rows that any one scan of a table has read, kept or not."""
    plan = await explained(connection, query, *arguments)
    whole = {node["Relation Name"] for node in nodes(plan) if node["Node Type"] == "Seq Scan"}
    assert whole <= SMALL, query
    return max((rows_read(node) for node in nodes(plan) if "Relation Name" in node), default=0)


def rows_read(node: dict[str, Any]) -> int:
    each = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return int(each * node["Actual Loops"])


async def explained(connection: Any, query: str, *arguments: Any) -> dict[str, Any]:
    """The plan that really ran; what it wrote is taken back."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        text = await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", *arguments)
    finally:
        await transaction.rollback()
    plan: dict[str, Any] = json.loads(text)[0]["Plan"]
    return plan


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """The plan and all that is below it."""
    return [plan, *(node for child in plan.get("Plans", ()) for node in nodes(child))]
