"""What pages and lists read, and what rules find, touches what they need, whatever lies beside it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fencepost.model import tables as declared
from fencepost.model.table import ColumnKind, Index, Table
from fencepost.stores.postgres.address import parse_address
from fencepost.stores.postgres.connection import connect
from fencepost.stores.postgres.rows import SCHEMA, _numbered
from fencepost.stores.postgres.runs import QUERIES as RUNS
from fencepost.stores.statements import find_text, shape_of, values_of
from tests.integration.test_postgres_probes import BESIDE, DUE, FILL, FUTURE, NOW, SMALL, rows_walked

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
READ = {
    "run": (RUNS["get"], ("default", "tick1")),
    "queues": (RUNS["queues"], ("default",)),
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


KNOWN = {"namespace": "default", "schedule_id": "schedule-1", "run_key": "tick1", "subject": "schedule-7"}
SAMPLES = {
    ColumnKind.TEXT: "default",
    ColumnKind.INTEGER: 1,
    ColumnKind.REAL: 1.0,
    ColumnKind.BOOLEAN: True,
    ColumnKind.TIME: NOW,
}


COUNTED = {"runs_held_by_somebody", "schedules_by_change", "runs_by_time", "missed_ranges_by_time"}
"""Rows that are only counted, or asked for by views that have statements of their own here."""


def lookups() -> list[Index]:
    """Every declared index by which rows are found by their first columns."""
    tables = [one for one in vars(declared).values() if isinstance(one, Table)]
    indexes = [index for one in tables for index in one.indexes.values() if index.name not in COUNTED]
    return [index for index in indexes if len(index.columns) > 1]


def first_page(index: Index, *, reverse: bool) -> tuple[str, tuple[Any, ...]]:
    """The first rows that a rule finds by the columns before the last ones."""
    columns = index.columns[: -len(index.table.key)] or index.columns[:-1]
    known = [KNOWN.get(column, SAMPLES[index.table.columns[column]]) for column in columns]
    wanted = index(*known)
    text = _numbered(find_text(shape_of(wanted), SCHEMA, reverse))
    values = [value for _, value in values_of(wanted)]
    return f"{text} LIMIT ${len(values) + 1}", (*values, PAGE)


async def test_no_rule_walks_a_table_for_what_an_index_finds(connection: Any) -> None:
    await connection.execute("ANALYZE")
    walked = {
        (index.name, reverse): await rows_walked(connection, *first_page(index, reverse=reverse))
        for index in lookups()
        for reverse in (False, True)
        if index.table.name not in SMALL
    }
    assert {name: rows for name, rows in walked.items() if rows > 5 * DUE} == {}
