"""Over TLS a broker is reached only where its certificate is trusted; then it carries what it always does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from fencepost.config import settings_from
from fencepost.errors import BrokerRefused, BrokerUnavailable
from fencepost.ports.broker import Broker
from fencepost.testing.conformance.brokers import GROUP, Heard, confirmed, numbered, received
from fencepost.wiring import open_broker
from tests.leases.redis.tls import tls_before
from tests.servers.certificates import Certificates
from tests.servers.fixtures import started


@dataclass(frozen=True)
class Secured:
    """A server that speaks TLS: its URL, what is added to trust it, and the same without TLS."""

    url: str
    trust: str
    plain: str


Start = Callable[[pytest.FixtureRequest, AsyncExitStack, Path], Awaitable[Secured]]


async def _rabbitmq(request: pytest.FixtureRequest, stack: AsyncExitStack, folder: Path) -> Secured:
    from tests.servers.rabbitmq import RabbitServer

    server = request.getfixturevalue("rabbitmq_server")
    if not isinstance(server, RabbitServer):
        pytest.skip("needs a RabbitMQ of its own: unset FENCEPOST_TEST_RABBITMQ")
    files = server.certificates
    mine = f"&certfile={files.certificate_file}&keyfile={files.key_file}"
    url = server.tls_url
    return Secured(url, f"?cafile={files.authority_file}{mine}", url.replace("amqps", "amqp"))


async def _nats(request: pytest.FixtureRequest, stack: AsyncExitStack, folder: Path) -> Secured:
    from tests.servers.nats import NatsServer

    files = Certificates(folder)
    named = f'cert_file: "{files.certificate_file}", key_file: "{files.key_file}"'
    settings = f'tls {{ {named}, ca_file: "{files.authority_file}", verify: true }}'
    server = stack.enter_context(started(lambda: NatsServer(settings)))
    url = f"tls://127.0.0.1:{server.port}"
    return Secured(url, _trust(files), url.replace("tls", "nats"))


async def _redis(request: pytest.FixtureRequest, stack: AsyncExitStack, folder: Path) -> Secured:
    from tests.servers.redis import RedisServer

    files, server = Certificates(folder), stack.enter_context(started(RedisServer))
    port = await stack.enter_async_context(tls_before(server.port, files, asks_for_certificate=True))
    url = f"rediss://127.0.0.1:{port}"
    return Secured(url, _trust(files), url.replace("rediss", "redis"))


async def _kafka(request: pytest.FixtureRequest, stack: AsyncExitStack, folder: Path) -> Secured:
    server = request.getfixturevalue("kafka_server")
    url = server.guarded("", "SSL")
    return Secured(url, f"&ssl_cafile={server.authority_file}", url.replace("=SSL", "=PLAINTEXT"))


def _trust(files: Certificates) -> str:
    """For servers that want to see a certificate of ours."""
    return f"?ca={files.authority_file}&cert={files.certificate_file}&key={files.key_file}"


KINDS = [
    pytest.param(start, marks=getattr(pytest.mark, start.__name__[1:]), id=start.__name__[1:])
    for start in (_rabbitmq, _nats, _redis, _kafka)
]


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def opened(url: str, stack: AsyncExitStack) -> Broker:
    broker = await open_broker(settings_from({}, overrides={"broker": url}))
    stack.push_async_callback(broker.close)
    return broker


@pytest.mark.timeout(300)
@pytest.mark.parametrize("start", KINDS)
async def test_no_message_goes_to_whom_nobody_vouches_for(
    start: Start, request: pytest.FixtureRequest, stack: AsyncExitStack, tmp_path: Path
) -> None:
    """RabbitMQ and Kafka take their time to start."""
    server = await start(request, stack, tmp_path)
    with pytest.raises(BrokerRefused, match="certificate") as refused:
        await (await opened(server.url, stack)).connect()
    assert "\n" not in str(refused.value)
    async with asyncio.timeout(30):
        with pytest.raises((BrokerUnavailable, BrokerRefused)) as plain:
            await (await opened(server.plain, stack)).connect()
    assert "\n" not in str(plain.value)
    await carries(await opened(server.url + server.trust, stack))


async def carries(broker: Broker) -> None:
    """A message there, and its rejection; one acknowledged; an announcement."""
    destination, heard = f"tls-{uuid4().hex}", Heard()
    await broker.declare([destination])
    await confirmed(broker, numbered(destination, 2))
    subscription = await broker.subscribe(destination, GROUP, 10)
    first, second = await received(subscription, 2)
    assert {first.id, second.id} == {"id-0", "id-1"}
    await subscription.acknowledge([first])
    await subscription.reject([second], "not JSON")
    await broker.listen(destination, heard.note)
    await broker.announce(destination, b"stop")
    assert await heard.first() == b"stop"
