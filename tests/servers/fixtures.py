"""Servers as fixtures: one a session, and a fresh database a test that does not empty a shared one.

A server that somebody runs is named by a URL in the environment, and then used instead of one of our own.
Clusters are always ours: their tests kill. A server's module, and the driver that it needs, is imported by
who asks for the server: together they would cost every run of the tests more than a second.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

import pytest

from tests.servers.binaries import ServerMissing
from tests.servers.process import Address, Server

if TYPE_CHECKING:
    from tests.servers.etcd import EtcdCluster
    from tests.servers.kafka import KafkaAddress
    from tests.servers.mongo_router import MongoRouter
    from tests.servers.mongodb import MongoReplicaSet
    from tests.servers.pgbouncer import Detour
    from tests.servers.postgres import PostgresDatabases
    from tests.servers.rabbitmq import RabbitServer
    from tests.servers.redis import RedisSentinel
    from tests.servers.shared import SharedServer


class Closeable(Protocol):
    """What can be started here."""

    def close(self) -> None: ...


C = TypeVar("C", bound=Closeable)

HANG_UP = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid();
"""
RUNS_ARE_WHOLE = """
ALTER TABLE fencepost.runs
    ADD CHECK (state IN ('planned', 'ready', 'running', 'succeeded', 'dead', 'skipped', 'missed', 'cancelled',
                         'withdrawn')),
    ADD CHECK ((state = 'running') = (alive_until IS NOT NULL)),
    ADD CHECK ((state IN ('planned', 'ready', 'running')) = (finished_at IS NULL)),
    ADD CHECK (fence = 0 OR attempt > 0);
"""
"""What holds of every run. The schema leaves it out: the server would prepare it for each statement."""
NO_OTHER_TABLES = "DROP SCHEMA public CASCADE; CREATE SCHEMA public;"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresDatabases]:
    """The server given by FENCEPOST_TEST_POSTGRES, else a private one."""
    from tests.servers.postgres import PostgresDatabases, PostgresServer

    if url := os.environ.get("FENCEPOST_TEST_POSTGRES"):
        shared = PostgresDatabases(url)
        yield shared
        shared.drop_template()
        return
    with started(PostgresServer) as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresDatabases) -> Iterator[str]:
    """An empty store with its schema."""
    url = postgres_server.create_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def shared_postgres_url(postgres_server: PostgresDatabases) -> Iterator[str]:
    """A store with its schema for all tests of this process that empty it themselves. It refuses a run that
    is not whole."""
    url = postgres_server.create_database()
    postgres_server.execute(RUNS_ARE_WHOLE, url)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def reused_postgres_url(postgres_server: PostgresDatabases) -> Iterator[str]:
    """What `emptied_postgres_url` gives. It refuses a run that is not whole."""
    url = postgres_server.create_database()
    postgres_server.execute(RUNS_ARE_WHOLE, url)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def emptied_postgres_url(postgres_server: PostgresDatabases, reused_postgres_url: str) -> str:
    """A store that tests before have used, without their rows and tables: a tenth of the price of a new one.
    For a test that leaves our schema, roles and the clock as they are."""
    from tests.conformance.on_postgres import CLEAR

    postgres_server.execute(HANG_UP + CLEAR + NO_OTHER_TABLES, reused_postgres_url)
    return reused_postgres_url


@pytest.fixture
def empty_postgres_url(postgres_server: PostgresDatabases) -> Iterator[str]:
    """A database without a schema."""
    url = postgres_server.create_empty_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def pgbouncer(postgres_server: PostgresDatabases) -> Iterator[Detour]:
    """The pooler given by FENCEPOST_TEST_PGBOUNCER, else a private one; in front of `postgres_server`."""
    from tests.servers.pgbouncer import Detour, PgBouncer

    if url := os.environ.get("FENCEPOST_TEST_PGBOUNCER"):
        yield Detour(url)
        return
    with started(lambda: PgBouncer(postgres_server.url)) as pooler:
        yield pooler


@pytest.fixture(scope="session")
def etcd_server() -> Iterator[Address]:
    """The server given by FENCEPOST_TEST_ETCD, else a private one."""
    from tests.servers.etcd import EtcdServer

    with given_or_started("FENCEPOST_TEST_ETCD", EtcdServer) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Address]:
    """The server given by FENCEPOST_TEST_REDIS, else a private one."""
    from tests.servers.redis import RedisServer

    with given_or_started("FENCEPOST_TEST_REDIS", RedisServer) as server:
        yield server


@pytest.fixture(scope="session")
def nats_server() -> Iterator[Address]:
    """The server given by FENCEPOST_TEST_NATS, else a private one."""
    from tests.servers.nats import NatsServer

    with given_or_started("FENCEPOST_TEST_NATS", NatsServer) as server:
        yield server


@pytest.fixture(scope="session")
def rabbitmq_server() -> Iterator[Address]:
    """The server given by FENCEPOST_TEST_RABBITMQ, else a private one."""
    from tests.servers.rabbitmq import RabbitServer

    with given_or_started("FENCEPOST_TEST_RABBITMQ", RabbitServer) as server:
        yield server


@pytest.fixture(scope="session")
def rabbitmq_node() -> Iterator[RabbitServer]:
    """A private one that tests stop and start; running, when a test gets it."""
    from tests.servers.rabbitmq import RabbitServer

    with started(RabbitServer) as server:
        yield server


@pytest.fixture(scope="session")
def mongo_server() -> Iterator[Address]:
    """The server given by FENCEPOST_TEST_MONGODB, else a private one."""
    from tests.servers.mongodb import MongoServer

    with given_or_started("FENCEPOST_TEST_MONGODB", MongoServer) as server:
        yield server


@pytest.fixture(scope="session")
def mongo_store_url(mongo_server: Address) -> str:
    """A database for stores, of this process alone."""
    return mongo_server.url.replace("/?", f"/store_{os.getpid()}?")


@pytest.fixture(scope="session")
def mongo_router(mongo_server: Address) -> Iterator[MongoRouter]:
    """A stand-in for a mongos, before the same server."""
    from tests.servers.mongo_router import MongoRouter

    with closing(MongoRouter(mongo_server)) as router:
        yield router


@pytest.fixture(scope="session")
def shared_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """The Kafka of all processes of this run, started by the first test that needs one."""
    from tests.servers.kafka import KafkaServer
    from tests.servers.shared import SharedServer

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with closing(SharedServer(folder / "kafka", lambda: start_or_skip(KafkaServer, optional=True))) as shared:
        yield shared


@pytest.fixture
def kafka_server(shared_kafka: SharedServer) -> Iterator[KafkaAddress]:
    """The server given by FENCEPOST_TEST_KAFKA, else one that the processes of this run share."""
    from tests.servers.kafka import KafkaAddress, given_kafka

    if given := given_kafka():
        yield given
        return
    with shared_kafka.used() as details:
        yield KafkaAddress(**details)


@pytest.fixture(scope="session")
def etcd_nodes() -> Iterator[EtcdCluster]:
    """Three nodes, in whatever state the last test left them."""
    from tests.servers.etcd import EtcdCluster

    with started(EtcdCluster) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def redis_nodes() -> Iterator[RedisSentinel]:
    """A master, its replicas and sentinels, in whatever state the last test left them."""
    from tests.servers.redis import RedisSentinel

    with started(RedisSentinel) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def mongo_nodes() -> Iterator[MongoReplicaSet]:
    """Three nodes, in whatever state the last test left them."""
    from tests.servers.mongodb import MongoReplicaSet

    with started(MongoReplicaSet) as cluster:
        yield cluster


@pytest.fixture
def etcd_cluster(etcd_nodes: EtcdCluster) -> EtcdCluster:
    """Three nodes with a leader; the test may break what it likes."""
    etcd_nodes.restore()
    return etcd_nodes


@pytest.fixture
def redis_sentinel(redis_nodes: RedisSentinel) -> RedisSentinel:
    """A master under guard; the test may break what it likes."""
    redis_nodes.restore()
    return redis_nodes


@pytest.fixture
def mongo_replica_set(mongo_nodes: MongoReplicaSet) -> MongoReplicaSet:
    """Three nodes with a primary; the test may break what it likes."""
    mongo_nodes.restore()
    return mongo_nodes


@contextmanager
def given_or_started(variable: str, start: Callable[[], Server]) -> Iterator[Address]:
    """The server whose URL is in the environment, else a private one."""
    if url := os.environ.get(variable):
        yield Address(url)
        return
    with started(start) as server:
        yield server


def started(start: Callable[[], C]) -> AbstractContextManager[C]:
    """A private server, closed at the end."""
    return closing(start_or_skip(start))


def start_or_skip(start: Callable[[], C], *, optional: bool = False) -> C:
    """A private server; where there is none to be had, a person is told, and CI fails unless it is
    optional."""
    try:
        return start()
    except ServerMissing as missing:
        if os.environ.get("CI") and not optional:
            raise
        pytest.skip(str(missing))
