"""`run.complete_in(connection)`, `enqueue(connection=…)`: the ledger in the caller's own transaction."""

import asyncio
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import apsw
import psycopg
import pytest

from fencepost import Fencepost
from fencepost.errors import RunLost, UnfitConnection, UnknownSchedule
from fencepost.model.driving import finish_now
from fencepost.model.identifiers import RunKey
from fencepost.model.run import RunFilter, RunState
from fencepost.testing.conformance.builders import NS
from fencepost.triggers import Every
from fencepost.wiring import open_store
from tests.transactions.drivers import FROM_OUTSIDE, ON_POSTGRES, ON_SQLITE, Opened
from tests.transactions.ground import Ground

CASES = [
    *(pytest.param(name, "sqlite", id=f"{name}-on-sqlite") for name in ON_SQLITE),
    *(
        pytest.param(name, "postgres", marks=pytest.mark.postgres, id=f"{name}-on-postgres")
        for name in ON_POSTGRES
    ),
]
every_driver = pytest.mark.parametrize(("driver", "place"), CASES)


@pytest.fixture
def ground(place: str, request: pytest.FixtureRequest) -> Ground:
    found: Ground = request.getfixturevalue(f"on_{place}")
    return found


@pytest.fixture
def opened(driver: str, place: str) -> Opened:
    return (ON_SQLITE if place == "sqlite" else ON_POSTGRES)[driver]


@pytest.fixture
def app(ground: Ground) -> Iterator[Fencepost]:
    app = Fencepost(ground.url)

    @app.job()
    async def report(region: str = "eu") -> None:
        """Never run here."""

    yield app
    app.retire()


@every_driver
@pytest.mark.parametrize("commits", [True, False])
async def test_options_take_a_connection_for_one_call_and_for_many(
    ground: Ground, opened: Opened, app: Fencepost, commits: bool
) -> None:
    async with opened(ground.url) as hand:
        within = app.job_named("report").options(connection=hand.connection, expires="1h", unique="1h")
        one = await within.enqueue(region="us")
        many = await within.enqueue_many([{"region": "eu"}, {"region": "asia"}])
        keys = await app.enqueue_many(
            "report", [{"region": "north"}], ["a"], connection=hand.connection, expires="1h", unique="1h"
        )
        await (hand.commit() if commits else hand.rollback())
    keys += [each.key for each in (one, *many)]
    runs = [await ground.store.ledger.get(NS, each) for each in keys]
    assert [run is not None and run.expires_at is not None for run in runs] == [commits] * 4


@every_driver
async def test_the_marker_is_there_with_the_commit(ground: Ground, opened: Opened) -> None:
    run = ground.run(claim := await ground.claimed())
    async with opened(ground.url) as hand:
        await hand.insert(run.key, run.fence)
        await run.complete_in(hand.connection)
        await hand.commit()
    assert await ground.sent() == [(run.key, run.fence)]
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


@every_driver
async def test_the_marker_may_come_first(ground: Ground, opened: Opened) -> None:
    run = ground.run(claim := await ground.claimed())
    async with opened(ground.url) as hand:
        await run.complete_in(hand.connection, {"sent": 1})
        await hand.insert(run.key, run.fence)
        await hand.commit()
    assert await ground.sent() == [(run.key, run.fence)]
    (attempt,) = await ground.store.ledger.attempts(NS, claim.run_key)
    assert attempt.output == '{"sent": 1}'


@every_driver
async def test_a_rollback_takes_the_marker_with_it(ground: Ground, opened: Opened) -> None:
    run = ground.run(claim := await ground.claimed())
    async with opened(ground.url) as hand:
        await hand.insert(run.key, run.fence)
        await run.complete_in(hand.connection)
        await hand.rollback()
    assert (await ground.sent(), await ground.state(claim.run_key)) == ([], RunState.RUNNING)


@every_driver
async def test_an_attempt_that_lost_its_run_is_refused(ground: Ground, opened: Opened) -> None:
    stale = await ground.claimed(alive_for_s=0.0)
    heir = await ground.superseded(stale)
    async with opened(ground.url) as hand:
        await hand.insert(stale.run_key, stale.fence)
        with pytest.raises(RunLost):
            await ground.run(stale).complete_in(hand.connection)
        await hand.rollback()
    assert (await ground.sent(), await ground.state(heir.run_key)) == ([], RunState.RUNNING)


@pytest.mark.postgres
@pytest.mark.parametrize("driver", ON_POSTGRES)
async def test_postgres_keeps_a_stale_attempt_from_committing_though_its_code_swallows_the_error(
    driver: str, on_postgres: Ground
) -> None:
    stale = await on_postgres.claimed(alive_for_s=0.0)
    await on_postgres.superseded(stale)
    async with ON_POSTGRES[driver](on_postgres.url) as hand:
        await hand.insert(stale.run_key, stale.fence)
        with pytest.raises(RunLost):
            await on_postgres.run(stale).complete_in(hand.connection)
        with suppress(Exception):
            await hand.commit()
    assert await on_postgres.sent() == []


@every_driver
async def test_an_enqueue_is_there_with_the_commit_and_not_before(
    ground: Ground, opened: Opened, app: Fencepost
) -> None:
    async with opened(ground.url) as hand:
        await hand.insert("mine", 1)
        key = await app.enqueue("report", key="1", connection=hand.connection, region="us")
        if ground.url.startswith("postgres"):
            assert await ground.store.ledger.get(NS, key) is None
        await hand.commit()
    record = await ground.record(key)
    assert (record.state, record.payload) == (RunState.READY, {"region": "us"})


@every_driver
async def test_an_enqueue_that_is_rolled_back_leaves_nothing(
    ground: Ground, opened: Opened, app: Fencepost
) -> None:
    async with opened(ground.url) as hand:
        key = await app.enqueue("report", key="1", connection=hand.connection)
        await hand.rollback()
    assert await ground.store.ledger.get(NS, key) is None


@every_driver
async def test_a_change_of_a_schedule_is_part_of_the_callers_transaction(
    ground: Ground, opened: Opened, app: Fencepost
) -> None:
    await app.schedules.add("kept", job="report", trigger=Every("1h"))
    async with opened(ground.url) as hand:
        schedules = app.schedules.within(hand.connection)
        await schedules.add("hourly", job="report", trigger=Every("1h"))
        await schedules.pause("kept")
        await hand.rollback()
    assert await ground.store.schedules.get(NS, "hourly") is None  # type: ignore[arg-type]
    assert (await app.schedules.get("kept")).state == "active"
    async with opened(ground.url) as hand:
        schedules = app.schedules.within(hand.connection)
        await schedules.add("hourly", job="report", trigger=Every("1h"))
        await schedules.pause("kept")
        await hand.commit()
    assert (await app.schedules.get("hourly")).version == 1
    assert (await app.schedules.get("kept")).state == "paused"
    await app.close()


@pytest.mark.parametrize("place", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_no_schedule_changes_without_the_success_of_the_run_that_changes_it(
    ground: Ground, app: Fencepost
) -> None:
    await app.schedules.add("ended", job="report", trigger=Every("1h"))
    run = ground.run(claim := await ground.claimed())

    async def job(period: str, error: type[Exception] | None = None) -> None:
        async with run.transaction() as tx:
            schedules = app.schedules.within(tx)
            await schedules.add_many([("hourly", {"job": "report", "trigger": Every(period)})])
            await schedules.remove("ended")
            if error is not None:
                raise error

    with pytest.raises(ZeroDivisionError):
        await job("1h", ZeroDivisionError)
    assert await ground.store.schedules.get(NS, "hourly") is None  # type: ignore[arg-type]
    assert (await app.schedules.get("ended")).state == "active"
    await job("2h")
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED
    assert (await app.schedules.get("hourly")).spec.trigger["interval"] == "2h"
    with pytest.raises(UnknownSchedule):
        await app.schedules.get("ended")
    await app.close()


BLOCKING = [
    case
    for case in CASES
    if case.values[0] in ("psycopg", "apsw", "sqlalchemy-core", "sqlalchemy-orm", "django")
]


@pytest.mark.parametrize(("driver", "place"), BLOCKING)
async def test_plain_code_needs_no_event_loop(ground: Ground, opened: Opened, app: Fencepost) -> None:
    run = ground.run(await ground.claimed())
    keys: list[RunKey] = []

    async with opened(ground.url) as hand:
        keys.append(app.enqueue_in(hand.connection, "report", key="2"))
        run.complete_in(hand.connection)
        await hand.commit()
    assert await ground.state(run.key) is RunState.SUCCEEDED
    assert await ground.state(keys[0]) is RunState.READY
    async with opened(ground.url) as hand:
        with pytest.raises(UnfitConnection, match="cannot carry"):
            finish_now(app.enqueue("report", connection=object()))


def connected(url: str) -> Any:
    """A connection that blocks, in a transaction."""
    sqlite = url.startswith("sqlite")
    opened: Any = apsw.Connection(url.removeprefix("sqlite:///")) if sqlite else psycopg.connect(url)
    opened.execute("BEGIN IMMEDIATE" if sqlite else "SELECT 1")
    return opened


@pytest.mark.parametrize("place", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_plain_code_over_a_connection_never_enqueues_nothing(
    ground: Ground, place: str, app: Fencepost
) -> None:
    """`app.enqueue` and `enqueue_many` are not awaited there, as anywhere else in plain code."""

    def script() -> None:
        with closing(connected(ground.url)) as connection:
            app.enqueue("report", key="1", connection=connection)  # type: ignore[unused-coroutine]
            app.enqueue_many("report", [{}] * 2, "23", connection=connection)  # type: ignore[unused-coroutine]
            connection.execute("COMMIT")

    await asyncio.to_thread(script)
    assert [await ground.state(RunKey(f"report#{key}")) for key in "123"] == [RunState.READY] * 3


@pytest.mark.parametrize("driver", FROM_OUTSIDE)
async def test_a_process_without_a_ledger_of_its_own_enqueues_by_any_copy_of_sqlite(
    driver: str, on_sqlite: Ground
) -> None:
    await on_sqlite.store.close()
    app = Fencepost(on_sqlite.url)
    app.job("report")(lambda: None)
    for key, ends in (("lost", "rollback"), ("kept", "commit")):
        async with FROM_OUTSIDE[driver](on_sqlite.url) as hand:
            await hand.insert(key, 1)
            await app.enqueue("report", key=key, connection=hand.connection)
            await getattr(hand, ends)()
    again = await open_store(app.settings)
    assert [one.run_key for one in await again.ledger.list(NS, RunFilter())] == ["report#kept"]
    await again.close()
    app.retire()


@pytest.mark.parametrize("driver", FROM_OUTSIDE)
async def test_another_copy_of_sqlite_is_refused_beside_an_open_ledger(
    driver: str, on_sqlite: Ground
) -> None:
    run = on_sqlite.run(await on_sqlite.claimed())
    async with FROM_OUTSIDE[driver](on_sqlite.url) as hand:
        with pytest.raises(UnfitConnection, match="another copy of the SQLite library"):
            await run.complete_in(hand.connection)
        await hand.rollback()


async def test_a_connection_that_is_awaited_is_refused_in_plain_code(on_sqlite: Ground) -> None:
    app = Fencepost(on_sqlite.url)
    app.job("report")(lambda: None)
    async with FROM_OUTSIDE["sqlalchemy-async-core"](on_sqlite.url) as hand:
        with pytest.raises(UnfitConnection, match=r"await app\.enqueue"):
            app.enqueue_in(hand.connection, "report")
    app.retire()
