"""The connection to NATS: what is not allowed or not there is said in one line, with the mend."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import nkeys
import pytest

from fencepost.brokers.nats import open_broker
from fencepost.errors import BrokerRefused, BrokerUnavailable, FencepostError, InvalidSettings
from fencepost.model.address import mask
from fencepost.model.message import Confirmed, Message, Refused
from fencepost.testing.conformance.brokers import (
    confirmed,
    numbered,
    received,
)
from tests.brokers.on_nats import GROUP, HOLD_MAX, declared, opened
from tests.servers.certificates import Certificates
from tests.servers.fixtures import started
from tests.servers.listening import listening
from tests.servers.nats import NatsServer
from tests.servers.ports import free_port

pytestmark = pytest.mark.nats

PASSWORD = "s3cret"
USERS = f"""
max_payload: 65536
authorization {{ users: [
  {{ user: anna, password: {PASSWORD} }}
  {{ user: narrow, password: {PASSWORD}, permissions: {{
      publish: ["$JS.API.INFO", "$JS.API.STREAM.NAMES"], subscribe: ["_INBOX.>"] }} }}
  {{ user: modest, password: {PASSWORD}, permissions: {{
      publish: ["$JS.API.INFO", "$JS.API.STREAM.*", "$JS.API.STREAM.*.*", "$JS.API.CONSUMER.INFO.*.*",
                "$JS.API.CONSUMER.DURABLE.CREATE.*.*", "$JS.API.CONSUMER.MSG.NEXT.*.*", "$JS.ACK.>",
                "jobs.>", "fencepost.announcements.>"],
      subscribe: ["_INBOX.>", "fencepost.announcements.>"] }} }}
] }}
"""


@pytest.fixture(scope="module")
def guarded() -> Iterator[NatsServer]:
    with started(lambda: NatsServer(USERS)) as server:
        yield server


def url_of(server: NatsServer, who: str) -> str:
    return server.url.replace("//", f"//{who}@")


async def refused(url: str, kind: type[FencepostError], stack: AsyncExitStack) -> str:
    """What is said when nothing comes of the connection."""
    with pytest.raises(kind) as caught:
        await (await opened(url, stack)).connect()
    text = str(caught.value)
    assert PASSWORD not in text
    assert "\n" not in text
    return text


@pytest.mark.parametrize("who", ["anna:wrong", "nobody:wrong", "wrong"])
async def test_who_does_not_know_the_password_is_not_let_in(
    guarded: NatsServer, stack: AsyncExitStack, who: str
) -> None:
    text = await refused(url_of(guarded, who), BrokerRefused, stack)
    assert "correct the user, password, token or file" in text
    assert "wrong" not in text


async def test_a_refusal_is_not_hidden_by_how_the_connection_ends(stack: AsyncExitStack) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"auth_required": true}\r\n')
        await reader.readuntil(b"PING\r\n")
        writer.write(b"-ERR 'Authorization Violation'\r\n")
        await writer.drain()
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async with listening(refuse) as port:
        assert "authorization" in (await refused(f"nats://t@127.0.0.1:{port}", BrokerRefused, stack)).lower()


async def test_who_knows_the_token_or_the_key_is_let_in(stack: AsyncExitStack, tmp_path: Path) -> None:
    seed = nkeys.encode_seed(b"x" * 32, nkeys.PREFIX_BYTE_USER)
    file = tmp_path / "user.nk"
    file.write_bytes(seed)
    public = nkeys.from_seed(bytearray(seed)).public_key.decode()
    for settings, who, query in (
        (f"authorization {{ token: {PASSWORD} }}", f"{PASSWORD}@", ""),
        (f"authorization {{ users: [ {{ nkey: {public} }} ] }}", "", f"?nkey={file}"),
    ):
        with started(lambda settings=settings: NatsServer(settings)) as server:  # type: ignore[misc]
            await (await opened(f"nats://{who}127.0.0.1:{server.port}{query}", stack)).connect()


async def test_a_file_of_no_credentials_is_refused_in_one_line(
    guarded: NatsServer, stack: AsyncExitStack, tmp_path: Path
) -> None:
    file = tmp_path / "user.nk"
    for text, name, kind in (
        ("no seed", "nkey", InvalidSettings),
        ("no seed", "creds", InvalidSettings),
        ("SUAAA", "nkey", BrokerRefused),
    ):
        file.write_text(text)
        assert "write a new one" in await refused(f"{guarded.url}?{name}={file}", kind, stack)


async def test_a_server_that_is_not_there_is_no_traceback(stack: AsyncExitStack) -> None:
    text = await refused(f"nats://anna:{PASSWORD}@127.0.0.1:{free_port()}", BrokerUnavailable, stack)
    assert text.endswith("; is the server running, and is this its address?")


async def test_a_server_that_is_not_there_is_not_asked_at_every_call(stack: AsyncExitStack) -> None:
    asked = count()

    async def hang_up(*_: object) -> None:
        next(asked)

    async with listening(hang_up) as port:
        broker = await opened(f"nats://127.0.0.1:{port}", stack)
        for _ in range(50):
            with pytest.raises(BrokerUnavailable):
                await broker.connect()
    assert next(asked) <= 2


async def test_a_server_without_jetstream_is_refused(stack: AsyncExitStack) -> None:
    with started(lambda: NatsServer(jetstream=False)) as server:
        assert "JetStream is off; start nats-server with -js" in await refused(
            server.url, BrokerRefused, stack
        )


async def test_a_user_who_may_not_create_streams_is_told_the_command(
    guarded: NatsServer, stack: AsyncExitStack
) -> None:
    broker = await opened(url_of(guarded, f"narrow:{PASSWORD}"), stack)
    with pytest.raises(
        BrokerRefused, match=r"nats stream add fencepost-orders=new --subjects=orders\.new"
    ) as it:
        await broker.declare(["orders.new"])
    assert PASSWORD not in str(it.value)
    (answer,) = await broker.publish([Message("orders.new", "1", b"")])
    assert isinstance(answer, Refused)
    assert "permissions violation" in answer.reason


async def test_a_user_needs_no_more_than_the_guide_says(guarded: NatsServer, stack: AsyncExitStack) -> None:
    broker = await opened(url_of(guarded, f"modest:{PASSWORD}"), stack)
    destination = await declared(broker)
    await confirmed(broker, numbered(destination, 3))
    subscription = await broker.subscribe(destination, GROUP, HOLD_MAX)
    one, two, three = await received(subscription, 3)
    await subscription.acknowledge([one])
    await subscription.give_back([two])
    await subscription.reject([three], "poison")
    assert await broker.backlog(f"{destination}.dead", GROUP) == 1
    heard = asyncio.Event()
    await broker.listen("stop", lambda _: heard.set())
    await broker.announce("stop", b"")
    await asyncio.wait_for(heard.wait(), 10)


async def test_tls_does_not_trust_an_unknown_authority(stack: AsyncExitStack, tmp_path: Path) -> None:
    files = Certificates(tmp_path)
    settings = f'tls {{ cert_file: "{files.certificate_file}", key_file: "{files.key_file}" }}'
    with started(lambda: NatsServer(settings)) as server:
        for scheme in ("nats", "tls"):
            url = f"{scheme}://127.0.0.1:{server.port}"
            assert "by ca=FILE" in await refused(url, BrokerRefused, stack)
            await (await opened(f"{url}?ca={files.authority_file}", stack)).connect()


async def test_no_password_goes_to_a_server_without_tls(guarded: NatsServer, stack: AsyncExitStack) -> None:
    url = url_of(guarded, f"anna:{PASSWORD}").replace("nats:", "tls:")
    assert "the server does not offer TLS; write" in await refused(url, BrokerRefused, stack)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("nats://", "it names no host"),
        ("nats://h/x", "has no meaning"),
        ("nats://h?colour=red", 'unknown parameter "colour"'),
        ("nats://h?redeliver_after=soon", "expected a number"),
        ("nats://h?replicas=0", "expected a number of at least 1"),
        ("nats://h?key=/nowhere", "there is no file"),
    ],
)
async def test_a_url_that_says_nothing_useful_is_refused(url: str, complaint: str) -> None:
    with pytest.raises(InvalidSettings, match=complaint):
        await open_broker(url)


def test_a_token_is_not_shown() -> None:
    assert mask("nats://t0ken@host:4222") == "nats://***@host:4222"
    assert mask("tls://t0ken@a,b?ca=f") == "tls://***@a,b?ca=f"


async def test_what_would_be_too_large_with_its_headers_does_not_end_the_connection(
    guarded: NatsServer, stack: AsyncExitStack
) -> None:
    broker = await opened(url_of(guarded, f"anna:{PASSWORD}"), stack)
    destination = await declared(broker)
    assert broker.message_max is not None
    headers = {f"h{number}": "ä" * 300 for number in range(10)}
    large = Message(destination, "a", b"x" * broker.message_max, headers)
    long = Message(destination, "b", b"", {"h": "x" * 100_000})
    changed = Message(destination, "c", b"", {"h": "two\nlines"})
    odd = Message(destination, "d", b"", {"no header": "x"})
    first, *others, last = await broker.publish(
        [large, long, changed, odd, Message(destination, "e", b"", headers)]
    )
    assert first == last == Confirmed()
    assert all(isinstance(one, Refused) and one.permanent for one in others)
    got = await received(await broker.subscribe(destination, GROUP, HOLD_MAX), 2)
    assert [dict(one.headers) for one in got] == [headers, headers]
