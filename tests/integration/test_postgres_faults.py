"""What people and callers are told when the server is not there, or goes away."""

import asyncio
import re
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from fencepost.clock import SystemClock
from fencepost.errors import FencepostError, InvalidSettings, StoreUnavailable, UsageError
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, Queue, RunKey
from fencepost.model.job import JobSpec
from fencepost.model.run import NewRun
from fencepost.ports.signals import Topic
from fencepost.stores.postgres import PostgresStore, connection, open_store
from fencepost.stores.postgres.address import parse_address
from fencepost.stores.postgres.faults import translated_at_open
from tests.integration.waiting import until
from tests.servers.pgbouncer import Detour
from tests.servers.postgres import PostgresServer, ask, execute, free_port
from tests.servers.proxy import Proxy

pytestmark = pytest.mark.postgres

PATIENCE_S = 30.0
NEW, OTHER = (NewRun(RunKey(f"noop#{key}"), JobName("noop"), {}, Queue("default"), 2) for key in "12")

CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE application_name = 'fencepost' AND datname = current_database()"
)
GONE = (
    "SELECT count(*) = 0 FROM pg_stat_activity"
    " WHERE application_name = 'fencepost' AND datname = current_database()"
)


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await open_store(postgres_url, clock=SystemClock())
    yield opened
    await opened.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://me:secret@host/db", "expected postgresql://"),
        ("postgresql://", "expected postgresql://"),
        ("postgresql://me:secret@host:port/db", "expected postgresql://"),
        ("postgresql://me:secret@host/db?statement_cache_size=many", "whole number"),
        ("postgresql://me:secret@127.0.0.1/db?sslmode=maybe", "sslmode"),
    ],
)
async def test_a_bad_url_is_refused_without_showing_its_password(url: str, said: str) -> None:
    line = await refusal(url, UsageError)
    assert said in line
    assert "secret" not in line


async def test_a_server_that_is_down_is_told_without_the_password() -> None:
    url = f"postgresql://me:secret@127.0.0.1:{free_port()}/db"
    line = await refusal(url, StoreUnavailable)
    assert "me:***@127.0.0.1" in line
    assert "is the server running" in line


async def test_an_unknown_database_is_told_with_its_mend(postgres_url: str) -> None:
    parts = urlsplit(postgres_url)
    url = urlunsplit(parts._replace(path="/nowhere"))
    assert (await refusal(url, UsageError)).endswith("run: createdb nowhere")


async def test_an_unknown_user_is_told_with_its_mend(postgres_url: str) -> None:
    url = postgres_url.replace("postgres@", "stranger:secret@")
    line = await refusal(url, UsageError)
    assert "correct the user or the password" in line
    assert "secret" not in line


async def test_missing_grants_are_one_line_with_the_mend(postgres_url: str) -> None:
    role = f"guest_{free_port()}"
    await execute(postgres_url, f"CREATE ROLE {role} LOGIN")
    try:
        line = await refusal(postgres_url.replace("postgres@", f"{role}@"), UsageError)
        assert "permission denied" in line
        assert "GRANT USAGE ON SCHEMA fencepost" in line
    finally:
        await execute(postgres_url, f"DROP ROLE {role}")


async def test_a_grant_that_is_taken_away_in_mid_work_is_one_line_with_the_mend(postgres_url: str) -> None:
    role = f"guest_{free_port()}"
    tables, numbers = "ALL TABLES IN SCHEMA fencepost", "ALL SEQUENCES IN SCHEMA fencepost"
    for grant in (
        f"CREATE ROLE {role} LOGIN",
        f"GRANT USAGE ON SCHEMA fencepost TO {role}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {role}",
        f"GRANT USAGE ON {numbers} TO {role}",
    ):
        await execute(postgres_url, grant)
    opened = await open_store(postgres_url.replace("postgres@", f"{role}@"), clock=SystemClock())
    try:
        await opened.ledger.enqueue(DEFAULT_NAMESPACE, [NEW])
        for table in ("runs", "nodes"):
            await execute(postgres_url, f"REVOKE SELECT, INSERT, UPDATE ON fencepost.{table} FROM {role}")
        for verb in (
            lambda: opened.ledger.enqueue(DEFAULT_NAMESPACE, [OTHER]),
            lambda: opened.ledger.get(DEFAULT_NAMESPACE, NEW.run_key),
            lambda: opened.nodes.live(),
        ):
            with pytest.raises(StoreUnavailable) as caught:
                await verb()
            line = str(caught.value)
            assert line.startswith("the store refuses: permission denied for table ")
            assert "GRANT USAGE ON SCHEMA fencepost" in line
            assert "\n" not in line
    finally:
        await opened.close()
        await execute(postgres_url, f"DROP OWNED BY {role}")
        await execute(postgres_url, f"DROP ROLE {role}")


@pytest.mark.pgbouncer
async def test_a_pooler_that_refuses_a_setting_is_told_with_its_mend(
    postgres_url: str, pgbouncer: Detour
) -> None:
    line = await refusal(pgbouncer.through(postgres_url), UsageError)
    assert "unsupported startup parameter: lock_timeout; " in line
    assert line.endswith("behind a pooler add statement_cache_size=0 to the URL's query")


@pytest.mark.parametrize(
    ("told", "pooled", "kind", "remedy"),
    [
        ("unsupported startup parameter: x", False, InvalidSettings, "statement_cache_size=0"),
        ("unsupported startup parameter: x", True, InvalidSettings, "ignore_startup_parameters = x"),
        ("server login has been failing", True, StoreUnavailable, "can the pooler reach the server?"),
    ],
)
def test_what_a_pooler_refuses_is_told_apart(
    told: str, pooled: bool, kind: type[FencepostError], remedy: str
) -> None:
    address = parse_address("postgresql://u:p@h/d" + "?statement_cache_size=0" * pooled)
    with pytest.raises(kind, match=re.escape(remedy)), translated_at_open(address):
        raise asyncpg.ProtocolViolationError(told)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:p@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:p@w:x@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u@h/d?password=p&x=1", "postgresql://u@h/d?password=***&x=1"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
    ],
)
def test_a_password_is_masked_wherever_it_stands(url: str, shown: str) -> None:
    assert parse_address(url).shown == shown


async def test_nothing_is_prepared_behind_a_pooler(postgres_url: str) -> None:
    store = await open_store(f"{postgres_url}?statement_cache_size=0", clock=SystemClock())
    assert await store.ledger.enqueue(DEFAULT_NAMESPACE, [run("one")]) == [True]
    await store.close()


async def test_a_connection_that_was_cut_is_replaced(store: PostgresStore, postgres_url: str) -> None:
    await execute(postgres_url, CUT)
    await until(lambda: answers(store))


async def test_a_connection_that_broke_while_idle_costs_no_call(
    store: PostgresStore, postgres_url: str
) -> None:
    await execute(postgres_url, CUT)

    async def is_gone() -> bool:
        return bool(await ask(postgres_url, GONE))

    await until(is_gone)
    await store.now()


async def test_what_is_written_into_a_transaction_that_was_left_open_is_not_acknowledged(
    store: PostgresStore,
) -> None:
    """As a call that was cancelled may leave it: it is rolled back when the connection is given back."""
    (session,) = store._database._kept
    await session.execute("BEGIN")
    with pytest.raises(StoreUnavailable, match="left open"):
        await store.ledger.enqueue(DEFAULT_NAMESPACE, [run("a")])
    assert list(await store.ledger.enqueue(DEFAULT_NAMESPACE, [run("a")])) == [True]


@pytest.mark.parametrize("pool_max", [1, 2])
async def test_a_connection_that_is_kept_keeps_no_call_waiting(postgres_url: str, pool_max: int) -> None:
    opened = await open_store(postgres_url, clock=SystemClock(), pool_max=pool_max)

    async def read_and_write(number: int) -> None:
        await opened.ledger.enqueue(DEFAULT_NAMESPACE, [run(f"run-{number}")])
        await opened.ledger.get_many(DEFAULT_NAMESPACE, [RunKey(f"run-{number}")])
        await opened.jobs.register(DEFAULT_NAMESPACE, [JobSpec(JobName("j"))])

    await asyncio.gather(*map(read_and_write, range(10)))
    await opened.close()


async def test_a_transaction_that_ends_while_the_store_closes_does_not_hold_it_up(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CLOSE_TIMEOUT_S", 2 * PATIENCE_S)
    opened = await open_store(postgres_url, clock=SystemClock())
    async with opened._database.transaction() as session:
        closing = asyncio.create_task(opened.close())
        await asyncio.sleep(0)
        assert await session.fetchval("SELECT 1") == 1
    await asyncio.wait_for(closing, PATIENCE_S)


async def test_a_statement_that_outlives_its_lock_timeout_is_no_crash(
    store: PostgresStore, postgres_url: str
) -> None:
    """Somebody else holds the table; the caller is told that the outcome is unknown."""
    rival = asyncio.create_task(execute(postgres_url, "BEGIN; LOCK fencepost.runs; SELECT pg_sleep(30)"))
    try:
        await until(lambda: is_locked(store))
    finally:
        rival.cancel()
        await asyncio.gather(rival, return_exceptions=True)


async def test_every_listener_is_called_after_a_reconnection(store: PostgresStore, postgres_url: str) -> None:
    heard = {topic: asyncio.Event() for topic in Topic}
    for topic, event in heard.items():
        await store.signals.listen(topic, event.set)
    await execute(postgres_url, CUT)
    for event in heard.values():
        await asyncio.wait_for(event.wait(), 10)
    heard[Topic.RUNS].clear()
    await until(lambda: answers(store))
    await store.ledger.enqueue(DEFAULT_NAMESPACE, [run("after")])
    await asyncio.wait_for(heard[Topic.RUNS].wait(), 10)


async def test_a_listener_comes_back_after_the_server_was_killed() -> None:
    server = PostgresServer()
    try:
        store = await open_store(server.create_database(), clock=SystemClock())
        heard = asyncio.Event()
        await store.signals.listen(Topic.RUNS, heard.set)
        server.kill()
        with pytest.raises(StoreUnavailable):
            await store.now()
        server.start()
        await asyncio.wait_for(heard.wait(), 20)
        await until(lambda: answers(store))
        await store.close()
    finally:
        server.close()


async def test_closing_after_the_server_has_gone_asks_nothing_of_it(postgres_url: str) -> None:
    """The connection that stays out of the pool has broken; nobody makes another only to give it back."""
    parts = urlsplit(postgres_url)
    assert parts.hostname is not None
    assert parts.port is not None
    line = Proxy(parts.hostname, parts.port)
    await line.start()
    try:
        opened = await open_store(
            parts._replace(netloc=f"postgres@{line.address}").geturl(), clock=SystemClock()
        )
        line.refuse()
        line.reset()
        await asyncio.sleep(0.1)
        await opened.close()
    finally:
        await line.close()


async def test_closing_twice_is_fine(postgres_url: str) -> None:
    store = await open_store(postgres_url, clock=SystemClock())
    await store.signals.listen(Topic.RUNS, lambda: None)
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.now()


async def answers(store: PostgresStore) -> bool:
    try:
        await store.now()
    except StoreUnavailable:
        return False
    return True


async def is_locked(store: PostgresStore) -> bool:
    try:
        await store.ledger.enqueue(DEFAULT_NAMESPACE, [run("blocked")])
    except StoreUnavailable as error:
        return "lock" in str(error)
    return False


async def refusal(url: str, kind: type[FencepostError]) -> str:
    with pytest.raises(kind) as caught:
        await open_store(url, clock=SystemClock())
    line = str(caught.value)
    assert "\n" not in line
    return line


def run(key: str) -> NewRun:
    return NewRun(RunKey(f"j#{key}"), JobName("j"), {}, Queue("default"), 2)
