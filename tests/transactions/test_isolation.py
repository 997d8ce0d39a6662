"""Stricter isolation on PostgreSQL: the marker first, or a heartbeat may stand in its way."""

from __future__ import annotations

import psycopg
import pytest

from fencepost.model.run import RunState
from tests.transactions.ground import Ground

pytestmark = pytest.mark.postgres

STRICT = psycopg.IsolationLevel.REPEATABLE_READ
LOOK = "SELECT count(*) FROM sent"
ALIVE_FOR_S = 30.0


async def test_the_marker_comes_too_late_after_a_heartbeat_under_repeatable_read(on_postgres: Ground) -> None:
    run = on_postgres.run(claim := await on_postgres.claimed())
    with psycopg.connect(on_postgres.url) as connection:
        connection.isolation_level = STRICT
        connection.execute(LOOK)
        await on_postgres.store.ledger.pulse([claim.ticket], ALIVE_FOR_S)
        with pytest.raises(psycopg.errors.SerializationFailure):
            run.complete_in(connection)
        connection.rollback()
    assert await on_postgres.state(claim.run_key) is RunState.RUNNING


@pytest.mark.parametrize("level", [STRICT, psycopg.IsolationLevel.SERIALIZABLE, None])
async def test_called_first_the_marker_stands_and_heartbeats_pass_it_by(
    level: psycopg.IsolationLevel | None, on_postgres: Ground
) -> None:
    run = on_postgres.run(claim := await on_postgres.claimed())
    with psycopg.connect(on_postgres.url) as connection:
        connection.isolation_level = level
        run.complete_in(connection)
        await on_postgres.store.ledger.pulse([claim.ticket], ALIVE_FOR_S)
        connection.execute("INSERT INTO sent VALUES (%s, %s)", (run.key, run.fence))
    assert await on_postgres.sent() == [(run.key, run.fence)]
    assert await on_postgres.state(claim.run_key) is RunState.SUCCEEDED


async def test_read_committed_does_not_mind_the_order(on_postgres: Ground) -> None:
    run = on_postgres.run(claim := await on_postgres.claimed())
    with psycopg.connect(on_postgres.url) as connection:
        connection.execute(LOOK)
        await on_postgres.store.ledger.pulse([claim.ticket], ALIVE_FOR_S)
        run.complete_in(connection)
    assert await on_postgres.state(claim.run_key) is RunState.SUCCEEDED
