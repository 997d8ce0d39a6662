"""A migration of a large ledger stops no process at work and tells how far it is. One that was cut off at any
moment goes on."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import asyncpg
import pytest

from fencepost.errors import InvalidSettings, StoreUnavailable
from fencepost.model.migration_progress import MigrationProgress
from fencepost.stores.migrations import Migration
from fencepost.stores.postgres import migrate
from fencepost.stores.postgres import migrations as postgres_migrations
from fencepost.stores.postgres.migration_parts import Part, Way, index_built, parts_of
from tests.integration.waiting import until

pytestmark = pytest.mark.postgres

STEPS = postgres_migrations.migrations()
NAMES = [one.name for one in STEPS]
BEFORE_INDEX, WITH_INDEX = 15, 16
INDEX = "runs_by_state"
BEFORE_COLUMN, WITH_COLUMN = 20, 21
LARGE = ("runs", "attempts", "missed_ranges", "audit_log", "run_logs", "steps")
PLAIN_INDEX = re.compile(r"CREATE INDEX (?!CONCURRENTLY)[^;]*? ON fencepost\.(\w+)", re.DOTALL)
INSERT = """
    INSERT INTO fencepost.runs
        (namespace, run_key, job, fire_time, version, state, epoch, queue, priority, run_at)
    VALUES ('default', $1, 'report', now(), 1, 'planned', 1, 'default', 2, now())
"""
VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('fencepost.' || $1)"
BUILDING = "SELECT count(*) FROM pg_stat_progress_create_index WHERE phase LIKE 'waiting for writers%'"
SCHEMA = "SELECT value::int FROM fencepost.meta WHERE name = 'schema'"
END_BUILDS = "SELECT pg_terminate_backend(pid) FROM pg_stat_progress_create_index"


@contextmanager
def only(steps: list[Migration]) -> Iterator[None]:
    """Programs that know these migrations and no later ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres_migrations, "migrations", lambda: steps)
        yield


async def migrate_to(url: str, number: int, tell: Callable[[MigrationProgress], None] = print) -> list[str]:
    with only([one for one in STEPS if one.number <= number]):
        return await migrate(url, shards=4, tell=tell)


@pytest.fixture
async def session(empty_postgres_url: str) -> AsyncIterator[asyncpg.Connection]:
    """The session of another client."""
    connection = await asyncpg.connect(empty_postgres_url)
    yield connection
    await connection.close(timeout=5)


@asynccontextmanager
async def writing(url: str) -> AsyncIterator[asyncpg.Connection]:
    """A transaction that has written a run and is not over."""
    writer = await asyncpg.connect(url)
    try:
        async with writer.transaction():
            await writer.execute(INSERT, "long")
            yield writer
    finally:
        await writer.close()


def once(session: asyncpg.Connection, question: str, *arguments: object) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        return bool(await session.fetchval(question, *arguments))

    return holds


async def test_an_index_is_built_without_stopping_others_who_write(
    empty_postgres_url: str, session: asyncpg.Connection
) -> None:
    url, told = empty_postgres_url, list[MigrationProgress]()
    await migrate_to(url, BEFORE_INDEX)
    async with writing(url):
        migrating = asyncio.create_task(migrate_to(url, WITH_INDEX, told.append))
        await until(once(session, BUILDING))
        await session.execute("SET lock_timeout = '2s'")
        await session.execute(INSERT, "short")
        await until(lambda: any(f"builds index {INDEX}: waiting" in one.doing for one in told))
        assert not migrating.done()
        assert await session.fetchval(SCHEMA) == BEFORE_INDEX
    assert await migrating == [NAMES[WITH_INDEX - STEPS[0].number]]
    assert await session.fetchval(VALID, INDEX)
    assert await session.fetchval("SELECT count(*) FROM fencepost.runs") == 2


async def test_an_index_whose_build_was_cut_off_is_found_and_built_again(
    empty_postgres_url: str, session: asyncpg.Connection
) -> None:
    url, told = empty_postgres_url, list[MigrationProgress]()
    await migrate_to(url, BEFORE_INDEX)
    async with writing(url):
        migrating = asyncio.create_task(migrate_to(url, WITH_INDEX))
        await until(once(session, BUILDING))
        await session.fetch(END_BUILDS)
        with pytest.raises(StoreUnavailable):
            await migrating
    assert await session.fetchval(VALID, INDEX) is False
    assert await session.fetchval(SCHEMA) == BEFORE_INDEX
    await migrate_to(url, WITH_INDEX, told.append)
    assert f"drops index {INDEX}, whose build was cut off" in [one.doing for one in told]
    assert await session.fetchval(VALID, INDEX)
    assert await session.fetchval(SCHEMA) == WITH_INDEX


async def test_a_build_that_outlives_its_killed_migrator_is_waited_for(
    empty_postgres_url: str, session: asyncpg.Connection
) -> None:
    """The server does not notice at once that its client was killed."""
    url, told = empty_postgres_url, list[MigrationProgress]()
    await migrate_to(url, BEFORE_INDEX)
    async with writing(url):
        program = ("-m", "fencepost", "migrate", "--store", url)
        killed = await asyncio.create_subprocess_exec(sys.executable, *program)
        await until(once(session, BUILDING))
        killed.kill()
        await killed.wait()
        migrating = asyncio.create_task(migrate_to(url, WITH_INDEX, told.append))
        await until(lambda: any(one.doing.startswith(f"builds index {INDEX}") for one in told))
    assert await migrating == [NAMES[WITH_INDEX - STEPS[0].number]]
    assert not [one.doing for one in told if one.doing.startswith("drops")]
    assert await session.fetchval(VALID, INDEX)


async def test_a_lock_that_is_not_to_be_had_is_tried_again(
    empty_postgres_url: str, session: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, told = empty_postgres_url, list[MigrationProgress]()
    monkeypatch.setattr("fencepost.stores.postgres.migrator.LOCK_TIMEOUT", "20ms")
    monkeypatch.setattr("fencepost.stores.postgres.migrator.LOCK_PAUSE_S", 0.01)
    await migrate_to(url, BEFORE_COLUMN)
    async with session.transaction():
        await session.execute("LOCK TABLE fencepost.runs IN ACCESS SHARE MODE")
        migrating = asyncio.create_task(migrate_to(url, WITH_COLUMN, told.append))
        await until(lambda: len(told) >= 3)
        assert not migrating.done()
    assert await migrating == [NAMES[WITH_COLUMN - STEPS[0].number]]
    assert {one.doing for one in told} == {"waits for the lock of a table"}


async def test_a_lock_that_is_never_to_be_had_ends_the_migration_in_one_line_and_leaves_nothing(
    empty_postgres_url: str, session: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = empty_postgres_url
    monkeypatch.setattr("fencepost.stores.postgres.migrator.LOCK_TIMEOUT", "5ms")
    monkeypatch.setattr("fencepost.stores.postgres.migrator.LOCK_PAUSE_S", 0.0)
    monkeypatch.setattr("fencepost.stores.postgres.migrator.LOCK_TRIES_MAX", 3)
    await migrate_to(url, BEFORE_COLUMN)
    async with session.transaction():
        await session.execute("LOCK TABLE fencepost.runs IN ACCESS SHARE MODE")
        with pytest.raises(StoreUnavailable, match=r"stayed locked through 3 tries; .*pg_stat_activity"):
            await migrate_to(url, WITH_COLUMN)
    assert await session.fetchval(SCHEMA) == BEFORE_COLUMN
    assert await migrate_to(url, WITH_COLUMN) == [NAMES[WITH_COLUMN - STEPS[0].number]]


MARK = """
-- way: batches
UPDATE fencepost.runs SET progress = 'marked'
WHERE run_key IN (SELECT run_key FROM fencepost.runs WHERE progress IS NULL LIMIT $1)
RETURNING 1;
"""


async def test_rows_are_changed_in_batches_and_a_batch_that_was_done_is_not_done_again(
    empty_postgres_url: str, session: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.stores.postgres.migrator.BATCH_ROWS_MAX", 3)
    await migrate(empty_postgres_url, shards=4)
    await session.executemany(INSERT, [(str(number),) for number in range(8)])
    marking = Migration(STEPS[-1].number + 1, "9999_mark", MARK)
    told = list[int]()

    def stop_after_one(progress: MigrationProgress) -> None:
        raise KeyboardInterrupt

    with only([*STEPS, marking]):
        with pytest.raises(KeyboardInterrupt):
            await migrate(empty_postgres_url, shards=4, tell=stop_after_one)
        assert await session.fetchval(SCHEMA) == STEPS[-1].number
        assert await migrate(empty_postgres_url, shards=4, tell=lambda one: told.append(one.done))
    assert told == [3, 5]
    assert await session.fetchval("SELECT count(*) FROM fencepost.runs WHERE progress = 'marked'") == 8
    assert await session.fetchval(SCHEMA) == marking.number


@pytest.mark.parametrize("step", STEPS[1:], ids=lambda step: step.name)
async def test_a_migration_can_begin_again_after_it_was_cut_off_or_after_a_downgrade(
    step: Migration, empty_postgres_url: str, session: asyncpg.Connection
) -> None:
    await migrate_to(empty_postgres_url, step.number)
    before = STEPS[STEPS.index(step) - 1].number
    await session.execute("UPDATE fencepost.meta SET value = $1 WHERE name = 'schema'", str(before))
    assert await migrate_to(empty_postgres_url, step.number) == [step.name]
    indexes = [name for part in parts_of(step.script) for name in _built(part)]
    assert [one for one in indexes if not await session.fetchval(VALID, one)] == []


def _built(part: Part) -> list[str]:
    return [name for name in map(index_built, part.statements) if name]


async def test_a_migrator_that_waits_for_its_turn_does_not_hold_up_a_build(empty_postgres_url: str) -> None:
    await migrate_to(empty_postgres_url, BEFORE_INDEX)
    with only(STEPS[: WITH_INDEX - STEPS[0].number + 1]):
        applied = await asyncio.gather(*(migrate(empty_postgres_url, shards=4) for _ in range(4)))
    assert sorted(applied) == [[], [], [], [NAMES[WITH_INDEX - STEPS[0].number]]]


async def test_a_migration_through_a_pooler_is_refused_in_one_line() -> None:
    with pytest.raises(InvalidSettings, match="leads to the server itself"):
        await migrate("postgresql://shop@pooler/shop?statement_cache_size=0", shards=4)


@pytest.mark.parametrize("step", STEPS[1:], ids=lambda step: step.name)
def test_no_index_of_a_large_table_is_built_under_a_lock_and_no_rows_are_changed_at_once(
    step: Migration,
) -> None:
    at_once = "\n".join(one.text for one in parts_of(step.script) if one.way is Way.TRANSACTION)
    assert set(PLAIN_INDEX.findall(at_once)) & set(LARGE) == set()
    assert re.search(r"^\s*(UPDATE|DELETE|INSERT)\b", at_once, re.MULTILINE) is None
