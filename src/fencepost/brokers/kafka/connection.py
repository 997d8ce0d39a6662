"""The clients of one cluster: opened when they are first used, and opened anew after a fault.

The driver's clients connect again by themselves, so a fault only makes a connection doubtful: the next call
first tries to reach a server, and replaces what it had. It does not try more often than once a second.

A producer numbers what it sends to each partition, so that the server can drop copies. After one failure the
numbers no longer fit, and the driver would go on sending what we have called unconfirmed. Such a producer is
replaced, and ended behind the caller's back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.conn import create_conn
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    KafkaConnectionError,
    NodeNotReadyError,
    NotCoordinatorForGroupError,
)

from fencepost.brokers.kafka.address import KafkaAddress
from fencepost.brokers.kafka.faults import FAULTS, translated
from fencepost.errors import BrokerRefused, BrokerUnavailable
from fencepost.model.address import Host

CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 5.0
END_TIMEOUT_S = 12.0
RECONNECT_S = 1.0
TRIES = 3
"""A cluster may answer while one of its servers does not."""
CLIENT = "fencepost"
SETTLING = (GroupCoordinatorNotAvailableError, GroupLoadInProgressError, NotCoordinatorForGroupError)
"""A cluster finds a server for its groups when it is first asked for one, and when the one it had is gone."""
SETTLING_S = 0.1
SETTLED_WITHIN_S = 3.0

Place = tuple[int, str]
"""An offset, and the note beside it."""


class Connection:
    """Everything that is open to one cluster."""

    def __init__(self, address: KafkaAddress) -> None:
        self.address = address
        self._hosts = list(address.hosts)
        self._turn = asyncio.Lock()
        self._admin: Any = None
        self._producer: Any = None
        self._inspector: Any = None
        self._is_doubtful = True
        self._failure: BrokerRefused | BrokerUnavailable | None = None
        self._failed_at = 0.0
        self._endings: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """RunContext a server, where that has not been done since the last fault."""
        if not self._is_doubtful:
            return
        async with self._turn:
            await self._open_again()

    async def _open_again(self) -> None:
        if self._is_doubtful:
            now = asyncio.get_running_loop().time()
            if self._failure is not None and now < self._failed_at + RECONNECT_S:
                raise type(self._failure)(str(self._failure))
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    await self._open()
            except FAULTS as error:
                self._failed_at = asyncio.get_running_loop().time()
                self._failure = translated(self.address, error)
                raise self._failure from error
            self._is_doubtful, self._failure = False, None

    async def ask(self, question: Callable[[Any], Awaitable[Any]]) -> Any:
        """What the cluster answers to the driver's client for administrators."""
        await self.open()
        return await self._answered(lambda: question(self._admin))

    async def committed(self, group: str, partitions: list[TopicPartition]) -> dict[TopicPartition, Place]:
        """The offset and the note that the group has committed of each."""

        async def known(admin: Any) -> dict[TopicPartition, Place]:
            found = await admin.list_consumer_group_offsets(group, partitions=partitions)
            if set(partitions) - found.keys():  # The driver drops what the server says of the whole group.
                raise NotCoordinatorForGroupError(f"group {group}: another server keeps it now")
            return {one: (found[one].offset, found[one].metadata) for one in partitions}

        return dict(await self.ask(known))

    async def inspect(self, question: Callable[[Any], Awaitable[Any]]) -> Any:
        """What the cluster answers to a consumer that belongs to no group."""
        await self.open()
        async with self._turn:
            if self._inspector is None:
                self._inspector = await self._started(self.consumer(retry_backoff_ms=100))
        return await self._answered(lambda: question(self._inspector))

    async def producer(self) -> Any:
        """The producer that all share."""
        await self.open()
        async with self._turn:
            if self._producer is None:
                size = self.address.max_request_size
                self._producer = await self._started(
                    AIOKafkaProducer(enable_idempotence=True, max_request_size=size, **self._options())
                )
            return self._producer

    def replace(self, producer: Any) -> None:
        """Use it no more, and end it."""
        if self._producer is producer:
            self._producer = None
            self._in_background(_end_producer(producer))

    def consumer(self, **options: Any) -> Any:
        """A new consumer, not started."""
        return AIOKafkaConsumer(enable_auto_commit=False, **(self._options() | options))

    async def start(self, client: Any) -> None:
        """Start a consumer of the caller's, or raise with nothing left open."""
        await self._started(client)

    def end(self, client: Any) -> None:
        """Stop a client behind the caller's back."""
        self._in_background(_stop(client))

    def doubt(self) -> None:
        """Try to reach a server before the next call."""
        self._is_doubtful = True

    def fault(self, error: BaseException) -> BrokerRefused | BrokerUnavailable:
        """What to raise for a fault of a call."""
        self.doubt()
        return translated(self.address, error)

    async def close(self) -> None:
        async with self._turn:
            self._drop()
        while self._endings:
            await asyncio.wait(self._endings)

    async def _open(self) -> None:
        host = await self._reached()
        self._hosts.remove(host)
        self._hosts.insert(0, host)
        self._drop()
        self._admin = await self._begun(AIOKafkaAdminClient(**self._options()))

    async def _reached(self) -> Host:
        """The first server that lets us in. The driver's own search hides why one did not."""
        fault: BaseException = KafkaConnectionError("no server")
        for host in list(self._hosts):
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S / len(self._hosts)):
                    options = self._options()
                    del options["bootstrap_servers"], options["retry_backoff_ms"]
                    (await create_conn(host.name, host.port, **options)).close()
                    return host
            except FAULTS as error:
                fault = error
                if isinstance(translated(self.address, error), BrokerRefused):
                    break
        raise fault

    async def _started(self, client: Any) -> Any:
        try:
            return await self._begun(client)
        except FAULTS as error:
            raise self.fault(error) from error

    async def _begun(self, client: Any) -> Any:
        """The client, once it has started. Cancelled in its start it would lose an open connection. So a
        client whose caller has gone still starts, and is then stopped."""
        starting = asyncio.ensure_future(client.start())
        try:
            await asyncio.wait({starting}, timeout=CONNECT_TIMEOUT_S)
            if not starting.done():
                raise TimeoutError
            starting.result()
        except BaseException:
            self._in_background(_stop(client, starting))
            raise
        return client

    async def _answered(self, question: Callable[[], Awaitable[Any]]) -> Any:
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return await _settled(question)
        except FAULTS as error:
            raise self.fault(error) from error

    def _drop(self) -> None:
        for client in (self._admin, self._inspector):
            if client is not None:
                self._in_background(_stop(client))
        if self._producer is not None:
            self._in_background(_end_producer(self._producer))
        self._admin = self._inspector = self._producer = None

    def _options(self) -> dict[str, Any]:
        return {
            "bootstrap_servers": [str(one) for one in self._hosts],
            "client_id": CLIENT,
            "request_timeout_ms": round(ANSWER_TIMEOUT_S * 1000),
            "retry_backoff_ms": round(RECONNECT_S * 1000),
            **self.address.security,
        }

    def _in_background(self, ending: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(ending)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)


async def _settled(question: Callable[[], Awaitable[Any]]) -> Any:
    """The answer of a cluster that may be about to settle who answers."""
    now = asyncio.get_running_loop().time
    until_s, tries = now() + SETTLED_WITHIN_S, 1
    while True:
        try:
            return await question()
        except SETTLING:
            if now() >= until_s:
                raise
            await asyncio.sleep(SETTLING_S)
        except NodeNotReadyError:
            if tries == TRIES:
                raise
            tries += 1


async def _stop(client: Any, starting: asyncio.Future[Any] | None = None) -> None:
    """Close a client, whatever state it is in."""
    if starting is not None:
        await asyncio.wait({starting}, timeout=END_TIMEOUT_S)
        if not starting.cancel():
            starting.exception()
    stopping = asyncio.ensure_future(client.close() if hasattr(client, "close") else client.stop())
    stopping.add_done_callback(_look_at)
    await asyncio.wait({stopping}, timeout=END_TIMEOUT_S)
    if stopping.cancel() or stopping.exception() is not None:
        await asyncio.wait({stopping}, timeout=END_TIMEOUT_S)
        await _cut(client)


def _look_at(task: asyncio.Future[Any]) -> None:
    """Read the fault: asyncio logs faults that are never read."""
    if not task.cancelled():
        task.exception()


async def _cut(client: Any) -> None:
    """Close the connections of a client whose own stop did not."""
    driver = client.client if hasattr(client, "client") else client._client
    client._closed = True
    with suppress(*FAULTS):
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            await driver.close()


async def _end_producer(producer: Any) -> None:
    """Its `stop` would wait until all is sent, for ever. Without a server, so would a second try."""
    sender = producer._sender.sender_task
    if sender is not None:
        producer._closed = True
        sender.cancel()
        await asyncio.wait({sender}, timeout=END_TIMEOUT_S)
        _give_up(producer._message_accumulator)
        await producer.client.close()
    await _stop(producer)


def _give_up(accumulator: Any) -> None:
    """Fail all that a producer has. The driver's own callbacks expect every batch that was ever sent among
    those under way, also one that waits to be sent again, and it leaves futures that are never read. Each
    would be a traceback in the log."""
    waiting = [one for batches in accumulator._batches.values() for one in batches]
    accumulator._pending_batches.update(one for one in waiting if one.retry_count)
    accumulator.fail_all(KafkaConnectionError("the producer was replaced"))
    for one in waiting:
        _look_at(one._drain_waiter)
