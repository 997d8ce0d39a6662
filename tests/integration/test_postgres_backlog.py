"""After a long absence a claim costs what its own schedules need, however many ticks of others wait.

The tables have no statistics: nobody analysed them, and autovacuum is off. A server in that state finds all
indexes equally cheap, so what a query must not walk it must not be able to walk.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fencepost.clock import SystemClock
from fencepost.core.verdict import judge
from fencepost.model.claiming import ClaimRequest
from fencepost.model.codec import schedule_to_text
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, JobName
from fencepost.model.policies import CatchUp
from fencepost.model.schedule import ScheduleSpec
from fencepost.stores.postgres import open_store
from fencepost.stores.postgres.address import parse_address
from fencepost.stores.postgres.connection import connect
from fencepost.testing.conformance.builders import ALICE, make_spec, success
from tests.integration.test_postgres_probes import RUNNABLE, explained, nodes, rows_walked
from tests.servers.postgres import PostgresDatabases

pytestmark = pytest.mark.postgres

OWN = 100
"""Ticks of each schedule."""
WALK = 600
"""Ticks of a lane that a claim looks through for schedules, by the arguments in `RUNNABLE`."""
KINDS = {"late": ("live", 0), "new": ("catch_up", 0), "parked": ("catch_up", 8), "gated": ("catch_up", 4)}
NO_STATISTICS = "ALTER TABLE fencepost.runs SET (autovacuum_enabled = off)"
SCHEDULES = """
    INSERT INTO fencepost.schedules (namespace, schedule_id, shard, version, state, spec, job, updated_at)
    SELECT 'default', 'schedule-' || n, n % 4, 1, 'active', $2, 'j', now()
    FROM generate_series(1, $1::integer) AS n
"""
VERSIONS = """
    INSERT INTO fencepost.schedule_versions (
        namespace, schedule_id, version, spec, job, in_force_from, tzdata
    )
    SELECT namespace, schedule_id, version, spec, job, updated_at, '' FROM fencepost.schedules
"""
TICKS = """
    INSERT INTO fencepost.runs (
        namespace, run_key, schedule_id, job, fire_time, version, state, queue, priority, run_at, origin,
        held, reason
    )
    SELECT 'default', 'tick-' || s + (n - 1) * $1::integer, 'schedule-' || s, 'j', at, 1, 'planned',
        'default', CASE WHEN $3 = 'live' THEN 2 ELSE 5 END, at, $3,
        CASE WHEN n = 1 THEN 0 ELSE $4::smallint END,
        CASE WHEN $4 = 8 THEN 'waits' END
    FROM generate_series(1, $2::integer) AS n
    CROSS JOIN generate_series(1, $1::integer) AS s
    CROSS JOIN LATERAL (SELECT now() - make_interval(secs => 60 + $2::integer - n) AS at) AS moment
"""
CLAIMING = (
    *("outlook", "claim_direct", "lock_due", "facts", "gates"),
    *("settle", "start"),
    *("finish", "unpark"),
)
OF_ALL_SCHEDULES = {"runs_by_state", "runs_held", "runs_due_ticks", "schedules_by_change"}
SEQUENTIAL = make_spec(JobName("j"), catch_up=CatchUp("sequential", "10h"))
ON_TIME = make_spec(JobName("j"), catch_up=CatchUp("none", "10h"))
"""Its ticks are on time, however slow the machine is."""
OTHERS = """
    SELECT count(*)
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
BLOCKS = """
    SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0))
    FROM pg_statio_user_tables
"""


@asynccontextmanager
async def backlog(
    server: PostgresDatabases, schedules: int, each: int, kind: str, spec: ScheduleSpec = SEQUENTIAL
) -> AsyncIterator[str]:
    """A database with so many ticks of each schedule, all of one kind."""
    url = server.create_database()
    try:
        connection = await connect(parse_address(url), patient=True)
        await connection.execute(NO_STATISTICS)
        await connection.execute(SCHEDULES, schedules, schedule_to_text(spec))
        await connection.execute(VERSIONS)
        await connection.execute(TICKS, schedules, each, *KINDS[kind])
        await connection.close()
        yield url
    finally:
        server.drop_database(url)


@pytest.mark.parametrize(
    "schedules", [200, pytest.param(10_000, marks=pytest.mark.proof, id="a million ticks")]
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.timeout(900)
async def test_no_claim_walks_the_backlog_of_the_fleet(
    postgres_server: PostgresDatabases, kind: str, schedules: int
) -> None:
    """A million ticks take half a minute to write."""
    async with backlog(postgres_server, schedules, OWN, kind) as url:
        connection = await connect(parse_address(url))
        walked = {name: await rows_walked(connection, *RUNNABLE[name]) for name in CLAIMING}
        plans = [await explained(connection, *flat(name)) for name in ("facts", "gates")]
        await connection.close()
    assert {name: rows for name, rows in walked.items() if rows > WALK + OWN} == {}
    indexes = {node.get("Index Name") for plan in plans for node in nodes(plan)}
    assert not indexes & OF_ALL_SCHEDULES


@pytest.mark.parametrize(
    ("schedules", "each"),
    [(20, 40), pytest.param(4, 300, marks=pytest.mark.proof), pytest.param(20, 800, marks=pytest.mark.proof)],
)
@pytest.mark.timeout(900)
async def test_catching_up_does_not_cost_more_than_twice_the_usual(
    postgres_server: PostgresDatabases, schedules: int, each: int
) -> None:
    """By blocks touched on the whole way of a late tick: it is admitted, parked, unparked, claimed and
    reported. The usual is as many ticks that are on time, in claims of the same size. To work off
    thousands of runs takes some seconds."""
    usual = await blocks_per_run(postgres_server, schedules, schedules * each, 1, "late", ON_TIME)
    assert await blocks_per_run(postgres_server, schedules, schedules, each, "late") < 2 * usual


async def blocks_per_run(
    server: PostgresDatabases, most: int, schedules: int, each: int, *kind: Any
) -> float:
    """How many blocks of its tables and indexes the server touches for each run of a backlog, all in all."""
    async with backlog(server, schedules, each, *kind) as url:
        before = await blocks_touched(url)
        runs = await work_off(url, most)
        after = await blocks_touched(url)
    assert runs == schedules * each
    return (after - before) / runs


async def work_off(url: str, most: int) -> int:
    """Claim and finish all there is, so many at a time; returns how many that were."""
    store = await open_store(url, clock=SystemClock())
    wanted = ClaimRequest(ALICE, (DEFAULT_QUEUE,), (JobName("j"),), 600.0, DEFAULT_NAMESPACE)
    runs = 0
    while (await store.ledger.outlook(wanted)).is_anything_due:
        claims = await store.ledger.claim_ticks(wanted, most, judge)
        runs += len(claims)
        if claims:
            await store.ledger.finish([success(one.ticket) for one in claims])
    await store.close()
    return runs


async def blocks_touched(url: str) -> int:
    """A session tells what it did when it ends, so those before this one have to."""
    connection = await connect(parse_address(url))
    while await connection.fetchval(OTHERS):
        await connection.execute("SELECT pg_sleep(0.01)")
    touched = await connection.fetchval(BLOCKS)
    await connection.close()
    return int(touched)


def flat(name: str) -> tuple[Any, ...]:
    """A statement and its arguments."""
    query, arguments = RUNNABLE[name]
    return query, *arguments
