"""Who may use Redis, and how: rights, streams that others make, and TLS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import pytest

from fencepost.brokers.redis import open_broker
from fencepost.brokers.redis.address import read_address
from fencepost.brokers.redis.streams import command as creating
from fencepost.errors import BrokerRefused, BrokerUnavailable, InvalidSettings
from fencepost.model.message import Message, Refused
from fencepost.testing.conformance.brokers import confirmed, numbered, received
from tests.brokers.test_redis import GROUP, HOLD_MAX, NAMES, PASSWORD, declared, opened, refused
from tests.leases.redis.tls import tls_before
from tests.servers.certificates import Certificates
from tests.servers.fixtures import started
from tests.servers.listening import listening
from tests.servers.ports import free_port
from tests.servers.redis import RedisServer

pytestmark = pytest.mark.redis

COMMANDS = [
    *("xadd", "xgroup", "xreadgroup", "xautoclaim", "xclaim", "xpending", "xack", "xdel", "xlen", "wait"),
    *("multi", "exec", "eval", "info", "publish", "subscribe", "ping"),
]
"""What the guide tells people to grant."""


@pytest.fixture(scope="module")
def guarded() -> Iterator[RedisServer]:
    with started(lambda: RedisServer(password=PASSWORD)) as server:
        yield server


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.mark.parametrize("who", ["", ":wrong@", "nobody:wrong@"])
async def test_who_does_not_know_the_password_is_not_let_in(
    guarded: RedisServer, stack: AsyncExitStack, who: str
) -> None:
    text = await refused(f"redis://{who}127.0.0.1:{guarded.port}", BrokerRefused, stack)
    assert text.endswith("; correct the user or the password in the URL")
    assert "wrong" not in text


async def test_a_server_that_is_not_there_is_no_traceback(stack: AsyncExitStack) -> None:
    text = await refused(f"redis://:{PASSWORD}@127.0.0.1:{free_port()}", BrokerUnavailable, stack)
    assert text.endswith("; is the server running, and is this its address?")


async def test_a_server_that_is_not_there_is_not_asked_at_every_call(stack: AsyncExitStack) -> None:
    asked = count()

    async def hang_up(*_: object) -> None:
        next(asked)

    async with listening(hang_up) as port:
        broker = await opened(f"redis://127.0.0.1:{port}", stack)
        for _ in range(50):
            with pytest.raises(BrokerUnavailable):
                await broker.connect()
    assert next(asked) <= 2


async def test_a_user_needs_no_more_than_the_guide_says(guarded: RedisServer, stack: AsyncExitStack) -> None:
    rules = [f"+{one}" for one in COMMANDS]
    guarded.call(
        *("ACL SETUSER", "modest", "reset", "on", f">{PASSWORD}", *rules),
        *("~jobs.*", "&fencepost.announcements.*"),
    )
    broker = await opened(f"redis://modest:{PASSWORD}@127.0.0.1:{guarded.port}", stack)
    destination = await declared(broker)
    await confirmed(broker, numbered(destination, 3))
    subscription = await broker.subscribe(destination, GROUP, HOLD_MAX)
    one, two, three = await received(subscription, 3)
    await subscription.acknowledge([one])
    await subscription.give_back([two])
    await subscription.reject([three], "poison")
    assert await broker.backlog(f"{destination}.dead", GROUP) == 1
    await subscription.close()
    assert guarded.call("XINFO CONSUMERS", destination, "fencepost")[0]["name"] == b"returned"
    heard = asyncio.Event()
    await broker.listen("stop", lambda _: heard.set())
    await broker.announce("stop", b"")
    await asyncio.wait_for(heard.wait(), 10)
    with pytest.raises(BrokerRefused, match=r"grant the user what the guide.*missing: redis-cli .* other "):
        await broker.declare(["other"])
    (answer,) = await broker.publish([Message("other", "1", b"")])
    assert isinstance(answer, Refused)
    assert answer.permanent


async def test_a_user_who_may_create_no_stream_is_told_the_command(
    guarded: RedisServer, stack: AsyncExitStack
) -> None:
    rules = [f"+{one}" for one in COMMANDS if one != "xgroup"]
    guarded.call(*("ACL SETUSER", "narrow", "reset", "on", f">{PASSWORD}", *rules), "~jobs.*")
    broker = await opened(f"redis://narrow:{PASSWORD}@127.0.0.1:{guarded.port}", stack)
    destination = f"jobs.{next(NAMES)}"
    (answer,) = await broker.publish(numbered(destination, 1))
    assert isinstance(answer, Refused)
    command = answer.reason.partition("; create it: ")[2]
    told = f"no stream {destination} with the group fencepost, and narrow may not create it; create it: "
    for call in (broker.declare([destination]), broker.subscribe(destination, GROUP, HOLD_MAX)):
        with pytest.raises(BrokerRefused) as refused:
            await call
        assert str(refused.value).endswith(told + command)
    program, *place, verb, verbs, name, group, first, make = command.split()
    assert (program, place) == ("redis-cli", ["-h", "127.0.0.1", "-p", str(guarded.port)])
    guarded.call(f"{verb} {verbs}", name, group, first, make)
    await broker.declare([destination])
    await confirmed(broker, numbered(destination, 1))
    assert len(await received(await broker.subscribe(destination, GROUP, HOLD_MAX), 1)) == 1


async def test_the_command_does_not_lead_to_another_database() -> None:
    address = read_address("rediss://anna:secret@h:7000/3")
    assert creating(address, "orders") == (
        "redis-cli -h h -p 7000 -n 3 --tls XGROUP CREATE orders fencepost 0 MKSTREAM"
    )


async def test_tls_does_not_trust_an_unknown_authority(
    guarded: RedisServer, stack: AsyncExitStack, tmp_path: Path
) -> None:
    certificates = Certificates(tmp_path)
    port = await stack.enter_async_context(tls_before(guarded.port, certificates, asks_for_certificate=False))
    url = f"rediss://:{PASSWORD}@127.0.0.1:{port}"
    assert "by ca=FILE" in await refused(url, BrokerRefused, stack)
    await (await opened(f"{url}?ca={certificates.authority_file}", stack)).connect()


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("redis://", "expected one host"),
        ("redis://a,b", "expected one host"),
        ("redis://h/first", "is no number"),
        ("redis://h?ca=/x", 'unknown parameter "ca"'),
        ("redis://anna@h", "has no password"),
        ("redis://h?length_max=0", "expected a number of at least 1"),
        ("rediss://h?ca=/nowhere", "there is no file"),
    ],
)
async def test_a_url_that_says_nothing_useful_is_refused(url: str, complaint: str) -> None:
    with pytest.raises(InvalidSettings, match=complaint):
        await open_broker(url)
