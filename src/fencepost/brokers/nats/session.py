"""One connection, and the requests that wait for an answer on it.

All answers come to one inbox. A request's reply subject names its batch and its place there. An
answer that comes too late, after its caller has gone, belongs to no batch and is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from fencepost.brokers.nats.address import NatsAddress

CONNECT_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 2.0
PING_INTERVAL_S = 5
FAULTS = (nats.errors.Error, OSError, TimeoutError)
NO_LIMIT: dict[str, Any] = {"pending_msgs_limit": 0, "pending_bytes_limit": 0}
"""What has arrived is never dropped: as much was asked for."""

Headers: TypeAlias = Mapping[str, str]
Request: TypeAlias = tuple[str, bytes, Headers | None]


class NoAnswer(Exception):
    """The connection was lost, or time ran out: the server may have done it or not."""


class NoResponders(Exception):
    """The server knows no listener of the subject."""


class Forbidden(Exception):
    """The user may not publish to the subject."""


Answer: TypeAlias = bytes | NoAnswer | NoResponders | Forbidden
TOO_LATE = NoAnswer("no answer in time")
NO_RESPONDERS = NoResponders()


class PlainServer(nats.errors.Error):
    """TLS was asked for, and the server has none."""


class _Client(Client):
    """Sends no password to a server without TLS where TLS was asked for."""

    def __init__(self, is_secure: bool) -> None:
        super().__init__()
        self._is_secure = is_secure

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        if self._is_secure and not info.get("tls_required"):
            raise PlainServer("the server does not offer TLS")
        await super()._process_info(info, initial_connection)


class _Batch:
    """Requests that are sent together, and their answers so far."""

    __slots__ = ("answers", "done", "left", "requests")

    def __init__(self, requests: Sequence[Request]) -> None:
        self.requests = requests
        self.answers: list[Answer] = [TOO_LATE] * len(requests)
        self.left = len(requests)
        self.done = asyncio.get_running_loop().create_future()

    def settle(self, place: int, answer: Answer) -> None:
        if self.answers[place] is TOO_LATE:
            self.answers[place] = answer
            self.left -= 1
            if not self.left:
                self.end()

    def end(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


class Session:
    """A connection from its beginning to its end; a lost one is not used again."""

    def __init__(self, address: NatsAddress) -> None:
        self.client: Client = _Client(address.is_secure)
        self.lost = asyncio.Event()
        self.fault: BaseException | None = None
        self._address = address
        self._inbox = ""
        self._number = 0
        self._batches: dict[int, _Batch] = {}
        self._told: list[Callable[[], None]] = []

    async def open(self) -> None:
        """Connect, or raise one of the `FAULTS`."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await self.client.connect(
                    **self._address.options,
                    name="fencepost",
                    allow_reconnect=False,
                    connect_timeout=int(CONNECT_TIMEOUT_S),
                    max_reconnect_attempts=1,
                    reconnect_time_wait=0,
                    ping_interval=PING_INTERVAL_S,
                    error_cb=self._note,
                    closed_cb=self._end,
                )
                self._inbox = f"{self.client.new_inbox()}."
                await self.client.subscribe(f"{self._inbox}>", cb=self._settle, **NO_LIMIT)
        except BaseException:
            await self.close()
            raise

    async def exchange(self, requests: Sequence[Request], timeout_s: float) -> list[Answer]:
        """Send all, at least one, then wait for all answers together."""
        assert requests
        self._number = number = self._number + 1
        self._batches[number] = batch = _Batch(requests)
        send, inbox = self.client.publish, f"{self._inbox}{number}."
        try:
            async with asyncio.timeout(timeout_s):
                for place, (subject, body, headers) in enumerate(requests):
                    try:
                        await send(subject, body, f"{inbox}{place}", headers)  # type: ignore[arg-type]
                    except (nats.errors.BadHeaderError, nats.errors.BadSubjectError) as error:
                        batch.settle(place, Forbidden(str(error)))
                await batch.done
        except FAULTS as error:
            if not isinstance(error, TimeoutError):
                self.fault = self.fault or error
                self.lost.set()
        finally:
            del self._batches[number]
        return batch.answers

    async def ask(self, subject: str, body: bytes, timeout_s: float) -> Answer:
        return (await self.exchange([(subject, body, None)], timeout_s))[0]

    async def is_alive(self) -> bool:
        """Whether the server still answers. (The driver's `flush` ends its reader where it is cancelled.)"""
        return isinstance(await self.ask("$JS.API.INFO", b"", CONNECT_TIMEOUT_S), bytes)

    async def listen(self, subject: str, callback: Callable[[Msg], None]) -> Callable[[], Any]:
        """Hand over what comes to the subject, until the returned function is called and awaited."""
        subscription = await self.client.subscribe(subject, cb=partial(_pass_on, callback), **NO_LIMIT)

        async def stop() -> None:
            with suppress(*FAULTS):
                await subscription.unsubscribe()

        return stop

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Call back when the connection is gone."""
        self._told.append(callback)

    async def close(self) -> None:
        """Give the connection back, also one that was never made."""
        with suppress(*FAULTS, AssertionError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.client.close()
        await self._end()

    async def _settle(self, message: Msg) -> None:
        number, _, place = message.subject[len(self._inbox) :].partition(".")
        batch = self._batches.get(int(number))
        if batch is not None:
            batch.settle(int(place), NO_RESPONDERS if status_of(message) == "503" else message.data)

    async def _note(self, error: Exception) -> None:
        """What the driver complains of. A right that is missing concerns only its subject."""
        text = str(error)
        if "permissions violation" in text:
            for batch in self._batches.values():
                for place, (subject, _, _) in enumerate(batch.requests):
                    if f'"{subject.lower()}"' in text or "subscription to" in text:
                        batch.settle(place, Forbidden(text.removeprefix("nats: ")))
        else:
            self.fault = self.fault or error
            await self._end()

    async def _end(self) -> None:
        """Every caller that waits is told."""
        self.lost.set()
        for batch in self._batches.values():
            batch.end()
        for tell in self._told:
            tell()


def status_of(message: Msg) -> str | None:
    """The status of a message that the server itself has written."""
    return message.headers.get("Status") if message.headers and not message.data else None


async def _pass_on(callback: Callable[[Msg], None], message: Msg) -> None:
    callback(message)
