"""What a MongoDB server must be before leases are kept in it, and what its users may."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator

import pytest

from fencepost.clock import SystemClock
from fencepost.errors import InvalidSettings, LeaseStoreUnavailable
from fencepost.leases.mongodb import open_leases
from fencepost.model.lease import Granted
from fencepost.testing.conformance.builders import ALICE
from fencepost.testing.conformance.lease_steps import SHARD
from tests.leases.mongodb.servers import ESCAPED, PASSWORD, AloneServer, GuardedServer, UninitiatedServer
from tests.servers.fixtures import started
from tests.servers.mongodb import MongoServer
from tests.servers.ports import free_port
from tests.servers.proxy import Proxy

PATIENCE_S = 8.0

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""The driver forgets to close a connection to a server that it strikes off."""


@pytest.fixture(scope="module", autouse=True)
def collected() -> Iterator[None]:
    """What was forgotten here is not found in another module's tests."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def alone() -> Iterator[MongoServer]:
    with started(AloneServer) as server:
        yield server


@pytest.fixture(scope="module")
def uninitiated() -> Iterator[MongoServer]:
    with started(UninitiatedServer) as server:
        yield server


@pytest.fixture(scope="module")
def guarded() -> Iterator[GuardedServer]:
    with started(GuardedServer) as server:
        yield server


@pytest.fixture
async def silent() -> AsyncIterator[Proxy]:
    """Accepts connections, and nothing comes of it."""
    proxy = Proxy("127.0.0.1", free_port())
    await proxy.start()
    proxy.cut()
    yield proxy
    await proxy.close()


@pytest.mark.parametrize("parameters", ["", "?directConnection=true"])
async def test_a_server_that_stands_alone_is_not_accepted(alone: MongoServer, parameters: str) -> None:
    complaint = await refusal(f"mongodb://{alone.address}/{parameters}")
    assert "stands alone" in complaint
    assert "rs.initiate()" in complaint


@pytest.mark.parametrize("parameters", ["replicaSet=rs0", "replicaSet=rs0&directConnection=true"])
async def test_a_server_that_stands_alone_is_not_taken_for_a_replica_set(
    alone: MongoServer, parameters: str
) -> None:
    complaint = await refusal(f"mongodb://{alone.address}/?{parameters}")
    assert "belongs to the replica set that it names" in complaint
    assert "rs.initiate()" in complaint


@pytest.mark.parametrize("parameters", ["", "?directConnection=true"])
async def test_a_replica_set_that_was_never_initiated_is_not_accepted(
    uninitiated: MongoServer, parameters: str
) -> None:
    complaint = await refusal(f"mongodb://{uninitiated.address}/{parameters}")
    assert "never initiated; run rs.initiate()" in complaint


async def test_a_driver_that_refuses_the_url_does_not_raise_its_own_error() -> None:
    assert "correct the URL" in await refusal("mongodb+srv://db.example.com:27017/")


async def test_the_right_password_is_not_refused(guarded: GuardedServer) -> None:
    leases = await open_leases(guarded.url_of("alice"), clock=SystemClock())
    answers = await leases.acquire([SHARD], ALICE, 1.0)
    await leases.close()
    assert isinstance(answers[SHARD], Granted)


@pytest.mark.parametrize(("user", "password"), [("alice", "wrong"), ("nobody", ESCAPED)])
async def test_wrong_credentials_are_not_taken_for_a_server_that_is_away(
    guarded: GuardedServer, user: str, password: str
) -> None:
    complaint = await refusal(guarded.url_of(user, password))
    assert "correct the user, password or authSource" in complaint
    assert not any(secret in complaint for secret in (":wrong", PASSWORD, ESCAPED))


async def test_a_user_who_may_only_read_is_not_accepted(guarded: GuardedServer) -> None:
    assert "readWrite on the database cron" in await refusal(guarded.url_of("reader"))


async def test_a_user_who_was_not_named_is_not_accepted(guarded: GuardedServer) -> None:
    assert "readWrite" in await refusal(guarded.url)


async def test_a_server_that_is_away_is_not_a_wrong_setting() -> None:
    url = f"mongodb://alice:{ESCAPED}@127.0.0.1:{free_port()}/?replicaSet=rs0"
    with pytest.raises(LeaseStoreUnavailable) as away:
        await within(url)
    assert "is the server running" in str(away.value)
    assert not any(secret in str(away.value) for secret in (PASSWORD, ESCAPED))
    assert "Topology" not in str(away.value)


async def test_a_server_that_accepts_and_never_answers_does_not_hang_the_start(silent: Proxy) -> None:
    with pytest.raises(LeaseStoreUnavailable):
        await within(f"mongodb://{silent.address}/?replicaSet=rs0&connectTimeoutMS=60000&timeoutMS=60000")


async def refusal(url: str) -> str:
    """The one line with which the URL is refused."""
    with pytest.raises(InvalidSettings) as refused:
        await within(url)
    assert "\n" not in str(refused.value)
    return str(refused.value)


async def within(url: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        leases = await open_leases(url, clock=SystemClock())
    await leases.close()
    pytest.fail("it was opened")
