"""What pages and lists read touches what they show, whatever lies beside it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fencepost.stores.postgres.access import QUERIES as ACCESS
from fencepost.stores.postgres.address import parse_address
from fencepost.stores.postgres.audit_log import QUERIES as AUDIT_LOG
from fencepost.stores.postgres.backfills import QUERIES as BACKFILLS
from fencepost.stores.postgres.connection import connect
from fencepost.stores.postgres.epochs import QUERIES as EPOCHS
from fencepost.stores.postgres.logbook import QUERIES as LOGBOOK
from fencepost.stores.postgres.runs import QUERIES as RUNS
from fencepost.stores.postgres.runs import READINGS
from fencepost.stores.postgres.schedules import PAGE as SCHEDULE_PAGE
from fencepost.stores.postgres.schedules import QUERIES as SCHEDULES
from tests.integration.test_postgres_probes import BESIDE, DUE, FILL, FUTURE, HOUR, NOW, rows_walked

pytestmark = pytest.mark.postgres

PAGE = 50
LONG_PAST = f"""
    INSERT INTO fencepost.audit_log (namespace, at, author, source, action, subject, before, after)
    SELECT 'default', now(), 'anna', 'cli', 'schedule.put', 'schedule-' || n, '{{}}', '{{}}'
    FROM generate_series(1, {FUTURE}) AS n;
    INSERT INTO fencepost.run_logs (namespace, run_key, attempt, number, first_line, lines, text, at)
    SELECT 'default', 'tick' || n / 100, 1, n % 100, 0, 1, 'a line', now()
    FROM generate_series(1, {FUTURE}) AS n;
    INSERT INTO fencepost.attempts (namespace, run_key, attempt, fence, started_at, finished_at, outcome)
    SELECT 'default', 'tick' || n, 1, n, now(), now(), 'failed' FROM generate_series(1, {FUTURE}) AS n;
    INSERT INTO fencepost.missed_ranges (
        namespace, schedule_id, version, first_at, last_at, through, ticks, reason
    )
    SELECT 'default', 'schedule-' || n, 1, now(), now(), now(), 1, 'late'
    FROM generate_series(1, {FUTURE}) AS n;
    INSERT INTO fencepost.tokens (token_id, digest, name, role, namespace, created_at, created_by)
    SELECT 't' || n, '', 'ci', 'viewer', CASE WHEN n % 2 = 0 THEN 'default' ELSE 'other' END, now(), 'anna'
    FROM generate_series(1, {FUTURE}) AS n;
    INSERT INTO fencepost.backfills (
        namespace, schedule_id, since, until, mode, at_once_max, every_s, state, filled_through, next_run_at,
        created_at
    )
    SELECT 'default', 'schedule-1', now(), now(), 'all', 1, 0, 'filled', now(), now(), now()
    FROM generate_series(1, {FUTURE}) AS n;
"""
NOTHING_CHOSEN = [None] * 5
READ = {
    "run": (READINGS["get"], ("default", "tick1")),
    "attempts": (RUNS["attempts"], ("default", "tick1")),
    "log_tail": (LOGBOOK["tail"], ("default", "tick1", None, PAGE)),
    "log_on": (LOGBOOK["read"], ("default", "tick1", None, 1, 20, PAGE)),
    "logs_on": (LOGBOOK["read_on"], (["default"] * 2, ["tick1", "tick2"], [1, 1], [20, 20], PAGE)),
    "depth": (RUNS["depth"], ("default",)),
    "queues": (RUNS["queues"], ("default",)),
    "missed_ranges": (RUNS["missed_ranges"], ("default", "schedule-1", NOW - HOUR, NOW)),
    "schedule": (SCHEDULES["get"], ("default", "schedule-1")),
    "schedule_page": (SCHEDULE_PAGE, ("default", "schedule-5", PAGE)),
    "history": (SCHEDULES["history"], ("default", "schedule-1", 0, None, None)),
    "audit_log": (AUDIT_LOG["list"], ("default", *NOTHING_CHOSEN, PAGE)),
    "audit_log_later": (AUDIT_LOG["list"], ("default", *NOTHING_CHOSEN[1:], 5_000, PAGE)),
    "audit_log_of_subject": (AUDIT_LOG["list_of_subject"], ("default", *NOTHING_CHOSEN, PAGE, "schedule-7")),
    "tokens": (ACCESS["tokens"], (None, PAGE)),
    "tokens_of": (ACCESS["tokens_of"], (None, PAGE, "default")),
    "backfills": (BACKFILLS["list"], ("default", PAGE, None)),
    "backfill_tally": (BACKFILLS["tally"], (list(range(1, PAGE)),)),
    "refusals": (EPOCHS["refusals"], (None, PAGE)),
}


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator[Any]:
    """A connection with the store's settings, beside a long past and a long future."""
    opened = await connect(parse_address(postgres_url))
    for statements in (FILL, BESIDE, LONG_PAST):
        await opened.execute(statements)
    yield opened
    await opened.close()


async def test_no_page_walks_what_it_does_not_show(connection: Any) -> None:
    """As soon as the server knows something of its tables; before that it would rather sort them."""
    await connection.execute("ANALYZE")
    walked = {name: await rows_walked(connection, *call) for name, call in READ.items()}
    assert {name: rows for name, rows in walked.items() if rows > 5 * DUE} == {}
