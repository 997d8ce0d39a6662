"""Somebody's own SQLite connection: what is asked of it, and when the workers hear of its commit."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import apsw
import pytest

from fencepost import Fencepost
from fencepost.errors import UnfitConnection
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec
from fencepost.model.run import RunFilter
from fencepost.ports.signals import Topic
from fencepost.stores.borrowed.watching import Watchers
from fencepost.testing.conformance.builders import NS
from fencepost.triggers import Every
from fencepost.wiring import open_store
from tests.services.house import until
from tests.transactions.drivers import FROM_OUTSIDE
from tests.transactions.ground import Ground

ENQUEUES = 40
SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT count(*) FROM n"


@contextmanager
def application(ground: Ground) -> Iterator[Fencepost]:
    app = Fencepost(ground.url)
    app.job("report")(lambda: None)
    yield app
    app.retire()


@asynccontextmanager
async def apsw_connection(ground: Ground) -> AsyncIterator[apsw.Connection]:
    connection = apsw.Connection(ground.url.removeprefix("sqlite:///"))
    connection.set_busy_timeout(30_000)
    yield connection
    connection.close(True)


def watchers_at_work() -> int:
    return sum(thread.name == "fencepost-hint" for thread in threading.enumerate())


@pytest.mark.parametrize("driver", ["sqlite3", "sqlalchemy-core", "sqlalchemy-async-core"])
async def test_a_connection_that_is_refused_is_left_as_it_was(driver: str, on_sqlite: Ground) -> None:
    run = on_sqlite.run(claim := await on_sqlite.claimed())
    async with FROM_OUTSIDE[driver](on_sqlite.url) as hand:
        with pytest.raises(UnfitConnection, match="another copy of the SQLite library"):
            await run.complete_in(hand.connection)
        assert not in_transaction(hand.connection)
        (pulse,) = await on_sqlite.store.ledger.pulse([claim.ticket], 30.0)
        assert pulse.owned


def in_transaction(connection: Any) -> bool:
    if isinstance(connection, sqlite3.Connection):
        return connection.in_transaction
    plain = getattr(connection, "sync_connection", connection)
    return bool(plain.connection.driver_connection.in_transaction)


def as_dict(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


@pytest.mark.parametrize("factory", [sqlite3.Row, as_dict])
async def test_what_a_sqlite3_connection_makes_of_rows_is_its_own(factory: Any, on_sqlite: Ground) -> None:
    await on_sqlite.store.jobs.register(NS, [JobSpec(JobName("report"))])
    await on_sqlite.store.close()
    with application(on_sqlite) as app:
        connection = sqlite3.connect(on_sqlite.url.removeprefix("sqlite:///"), timeout=30)
        connection.row_factory = factory
        await app.enqueue("report", key="1", connection=connection)
        schedules = app.schedules.within(connection)
        await schedules.add("hourly", job="report", trigger=Every("1h"))
        await schedules.pause("hourly")
        assert connection.row_factory is factory
        connection.commit()
        connection.close()
        again = await open_store(app.settings)
        assert [one.run_key for one in await again.ledger.list(NS, RunFilter())] == ["report#1"]
        await again.close()
        assert (await app.schedules.get("hourly")).state == "paused"
        await app.close()


async def test_a_connection_is_refused_beside_an_open_ledger_whatever_it_makes_of_rows(
    on_sqlite: Ground,
) -> None:
    run = on_sqlite.run(await on_sqlite.claimed())
    connection = sqlite3.connect(on_sqlite.url.removeprefix("sqlite:///"), timeout=30)
    connection.row_factory = as_dict
    try:
        with pytest.raises(UnfitConnection, match="another copy of the SQLite library"):
            run.complete_in(connection)
    finally:
        connection.close()


async def test_many_enqueues_in_one_transaction_have_one_watcher(on_sqlite: Ground) -> None:
    await until(lambda: watchers_at_work() == 0)
    heard: list[str] = []
    stop = await on_sqlite.store.signals.listen(Topic.RUNS, lambda: heard.append("runs"))
    with application(on_sqlite) as app:
        async with apsw_connection(on_sqlite) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for number in range(ENQUEUES):
                app.enqueue_in(connection, "report", key=str(number))
            assert watchers_at_work() == 1
            assert heard == []
            connection.execute("COMMIT")
            await until(lambda: bool(heard))
            await until(lambda: watchers_at_work() == 0)
    stop()


async def test_every_topic_is_told_once_the_transaction_is_over() -> None:
    connection, watchers, told = apsw.Connection(":memory:"), Watchers(), list[Topic]()
    for _ in range(2):
        connection.execute("BEGIN")
        for topic in (Topic.RUNS, Topic.SCHEDULES, Topic.RUNS):
            watchers.tell_after(connection, topic, told.append)
        assert told == []
        connection.execute("COMMIT")
        await until(lambda: len(told) == 2)
        assert set(told) == {Topic.RUNS, Topic.SCHEDULES}
        told.clear()


async def test_a_connection_that_is_busy_is_still_in_its_transaction() -> None:
    """The looks come from another thread, while the driver is at work."""
    connection, watchers, told = apsw.Connection(":memory:"), Watchers(), list[Topic]()
    connection.execute("BEGIN")
    watchers.tell_after(connection, Topic.RUNS, told.append)
    connection.execute(SLOW).fetchall()
    assert told == []
    connection.execute("COMMIT")
    await until(lambda: told == [Topic.RUNS])


async def test_a_connection_that_was_closed_is_in_no_transaction() -> None:
    connection, watchers, told = apsw.Connection(":memory:"), Watchers(), list[Topic]()
    connection.execute("BEGIN")
    watchers.tell_after(connection, Topic.RUNS, told.append)
    connection.close(True)
    await until(lambda: told == [Topic.RUNS])
