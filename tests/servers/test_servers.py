"""Every server of the tests starts, talks to the client that we use, and fails over where it is told to."""

import errno
import socket
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pymongo
import pytest
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff

from tests.servers.binaries import Program, ServerMissing
from tests.servers.etcd import EtcdCluster, EtcdServer, encode
from tests.servers.fixtures import given_or_started, start_or_skip
from tests.servers.mongodb import MongoReplicaSet
from tests.servers.pgbouncer import Detour
from tests.servers.postgres import PostgresDatabases
from tests.servers.process import Address, wait_until
from tests.servers.redis import RedisSentinel, RedisServer

PASSWORD = "correct horse"
NO_RETRY = Retry(NoBackoff(), 0)
KILLED_WITH_A_SERVER = """
import os, signal
from tests.servers.redis import RedisServer
server = RedisServer()
print(server.port, server.folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def locked_etcd() -> Iterator[EtcdServer]:
    with closing(start_or_skip(lambda: EtcdServer(password=PASSWORD, tls=True))) as server:
        yield server


@pytest.mark.etcd
async def test_etcd_grants_no_longer_lease_than_the_second_that_was_asked_for(etcd_server: Address) -> None:
    assert (await post(f"{etcd_server.url}/v3/lease/grant", {"TTL": 1}))["TTL"] == "1"


@pytest.mark.etcd
@pytest.mark.proof
async def test_no_value_is_lost_when_the_leader_of_etcd_is_killed(etcd_cluster: EtcdCluster) -> None:
    await put(etcd_cluster.leader(), "before")
    killed = etcd_cluster.kill_leader()
    successor = etcd_cluster.leader()
    assert successor is not killed
    assert await get(successor) == "before"
    await put(successor, "after")
    killed.start()
    assert await get(killed) == "after"


@pytest.mark.etcd
async def test_etcd_lets_nobody_in_without_a_token_when_it_has_a_password(locked_etcd: EtcdServer) -> None:
    trust = locked_etcd.context()
    with pytest.raises(aiohttp.ClientResponseError, match="400"):
        await put(locked_etcd, "nobody", ssl=trust)
    claim = {"name": "root", "password": PASSWORD}
    token = (await post(f"{locked_etcd.url}/v3/auth/authenticate", claim, ssl=trust))["token"]
    await put(locked_etcd, "root", ssl=trust, headers={"Authorization": token})


@pytest.mark.etcd
async def test_etcd_is_not_trusted_without_its_authority(locked_etcd: EtcdServer) -> None:
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await put(locked_etcd, "secret")


@pytest.mark.redis
async def test_redis_answers(redis_server: Address) -> None:
    async with redis.asyncio.from_url(redis_server.url) as client:
        await client.set("fencepost:smoke", "here")
        assert await client.get("fencepost:smoke") == b"here"


@pytest.mark.redis
async def test_redis_lets_nobody_in_without_its_password() -> None:
    with closing(start_or_skip(lambda: RedisServer(password="secret"))) as server:
        async with redis.asyncio.Redis(port=server.port, retry=NO_RETRY) as client:
            with pytest.raises(redis.AuthenticationError):
                await client.ping()


@pytest.mark.redis
@pytest.mark.proof
async def test_the_sentinels_do_not_leave_redis_without_a_master(redis_sentinel: RedisSentinel) -> None:
    watch = Sentinel(redis_sentinel.addresses)  # type: ignore[no-untyped-call]
    async with AsyncExitStack() as stack:
        for sentinel in watch.sentinels:
            stack.push_async_callback(sentinel.aclose)
        async with watch.master_for(redis_sentinel.service) as client:
            await client.set("fencepost:smoke", "before")
            await client.wait(1, 5000)
        killed = redis_sentinel.kill_master()
        successor = redis_sentinel.master()
        assert successor is not killed
        async with watch.master_for(redis_sentinel.service) as client:
            assert await client.get("fencepost:smoke") == b"before"


@pytest.mark.mongodb
async def test_mongodb_has_transactions(mongo_server: Address) -> None:
    async with pymongo.AsyncMongoClient[dict[str, Any]](mongo_server.url) as client:
        async with client.start_session() as session, await session.start_transaction():
            await client.fencepost.smoke.insert_one({"seen": "here"}, session=session)
        assert await client.fencepost.smoke.find_one_and_delete({"seen": "here"}) is not None


@pytest.mark.mongodb
@pytest.mark.proof
async def test_no_document_is_lost_when_the_primary_is_killed(mongo_replica_set: MongoReplicaSet) -> None:
    async with pymongo.AsyncMongoClient[dict[str, Any]](mongo_replica_set.url) as client:
        await client.fencepost.smoke.insert_one({"_id": "before"})
        killed = mongo_replica_set.kill_primary()
        successor = mongo_replica_set.primary()
        assert successor is not killed
        assert await client.fencepost.smoke.find_one({"_id": "before"}) is not None
        await client.fencepost.smoke.delete_one({"_id": "before"})


@pytest.mark.mongodb
@pytest.mark.proof
async def test_a_set_that_lost_two_of_three_has_no_primary(mongo_replica_set: MongoReplicaSet) -> None:
    mongo_replica_set.kill_primary()
    survivor = mongo_replica_set.primary()
    last = next(node for node in mongo_replica_set.running if node is not survivor)
    last.kill()
    wait_until(lambda: not survivor.is_primary(), lambda: survivor.log[-2000:])


@pytest.mark.postgres
@pytest.mark.pgbouncer
async def test_clients_of_pgbouncer_have_no_session_of_their_own(
    pgbouncer: Detour, postgres_server: PostgresDatabases
) -> None:
    url = pgbouncer.through(postgres_server.url)
    one, other = await asyncpg.connect(url), await asyncpg.connect(url)
    try:
        sessions = {await client.fetchval("SELECT pg_backend_pid()") for client in (one, other, one)}
        assert len(sessions) == 1
    finally:
        await one.close()
        await other.close()


@pytest.mark.redis
def test_no_server_outlives_tests_that_were_killed(redis_server: Address) -> None:
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", KILLED_WITH_A_SERVER], cwd=root, capture_output=True, text=True, check=False
    )
    port, folder = run.stdout.split()
    wait_until(lambda: not Path(folder).exists(), lambda: f"{folder} is still there")
    wait_until(lambda: is_refused(int(port)), lambda: "the server still runs")


def test_a_server_that_is_nowhere_says_how_to_get_it() -> None:
    nowhere = Program("Oracle", "delphi", "FENCEPOST_TEST_DELPHI_BIN", "ask the priestess")
    with pytest.raises(
        ServerMissing, match=r"ask the priestess, or FENCEPOST_TEST_DELPHI_BIN=FOLDER of delphi"
    ):
        nowhere.path()


def test_a_program_that_does_not_run_is_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "etcd"
    broken.write_text("#!/bin/sh\necho a library is missing >&2; exit 127")
    broken.chmod(0o755)
    monkeypatch.setenv("FENCEPOST_TEST_BROKEN_BIN", str(tmp_path))
    with pytest.raises(ServerMissing, match="a library is missing"):
        Program("broken etcd", "etcd", "FENCEPOST_TEST_BROKEN_BIN", "mend it").path()


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", ServerMissing)])
def test_only_a_person_is_spared_the_tests_of_a_missing_server(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[Exception]
) -> None:
    def start() -> EtcdServer:
        raise ServerMissing("nowhere")

    monkeypatch.setenv("CI", ci)
    with pytest.raises((ServerMissing, pytest.skip.Exception), match="nowhere") as raised:
        start_or_skip(start)
    assert raised.type is outcome


def test_no_server_is_started_where_one_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def start() -> EtcdServer:
        raise AssertionError("started")

    monkeypatch.setenv("FENCEPOST_TEST_ETCD", "http://elsewhere:2379")
    with given_or_started("FENCEPOST_TEST_ETCD", start) as server:
        assert server.url == "http://elsewhere:2379"


def is_refused(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED


async def put(server: EtcdServer, value: str, **options: Any) -> None:
    body = {"key": encode("smoke"), "value": encode(value)}
    await post(f"{server.url}/v3/kv/put", body, **options)


async def get(server: EtcdServer) -> str:
    found = await post(f"{server.url}/v3/kv/range", {"key": encode("smoke")})
    return b64decode(found["kvs"][0]["value"]).decode()


async def post(url: str, body: object, **options: Any) -> dict[str, Any]:
    async with (
        aiohttp.ClientSession(raise_for_status=True) as session,
        session.post(url, json=body, **options) as answer,
    ):
        found: dict[str, Any] = await answer.json()
        return found
