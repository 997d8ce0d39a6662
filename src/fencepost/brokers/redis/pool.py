"""Connections to the server, each used by one call at a time.

The driver's plain connections, not its client: a client would repeat commands by itself, and keep connections
of which a caller was cancelled in mid-protocol.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import redis
from redis.asyncio import Connection

from fencepost.brokers.redis.address import RedisAddress
from fencepost.errors import BrokerRefused, BrokerUnavailable, FencepostError

CONNECT_TIMEOUT_S = 5.0
CALL_TIMEOUT_S = 5.0
RECONNECT_S = 1.0
IDLE_MAX = 8
FAULTS = (redis.ConnectionError, redis.TimeoutError, OSError, TimeoutError)

Command: TypeAlias = Sequence[str | bytes | int | float]


class NoAnswer(Exception):
    """The connection was lost, or time ran out: the server may have done it or not."""


class Pool:
    """Opens a connection where none is idle."""

    def __init__(self, address: RedisAddress) -> None:
        self.address = address
        self.about: dict[str, str] = {}
        """What the server says of itself, from the first connection on."""
        self.flushes = ""
        """When the server calls fsync, where we may ask."""
        self._idle: list[Connection] = []
        self._fault: FencepostError | None = None
        self._tried_at = float("-inf")
        self._is_closed = False

    async def call(self, *command: str | bytes | int | float) -> Any:
        """The answer to one command, or an error that says the fix."""
        (answer,) = await self.calls([command])
        return self.checked(answer)

    async def calls(self, commands: Sequence[Command], timeout_s: float = CALL_TIMEOUT_S) -> list[Any]:
        """The answers to all, errors among them; none is sent before a connection is there."""
        answers: list[Any] = []
        try:
            async with self.connection() as connection:
                async with asyncio.timeout(timeout_s):
                    await connection.send_packed_command(connection.pack_commands(commands))
                    while len(answers) < len(commands):
                        answers.append(await _read(connection))
        except FAULTS as error:
            lost = NoAnswer(brief(error))
            answers += [lost] * (len(commands) - len(answers))
        return answers

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection; it is given back only after a call without an error."""
        connection = await self._take()
        try:
            yield connection
        except BaseException:
            await discard(connection)
            raise
        if self._is_closed or len(self._idle) >= IDLE_MAX:
            await discard(connection)
        else:
            self._idle.append(connection)

    async def close(self) -> None:
        self._is_closed = True
        await self.forget()

    async def forget(self) -> None:
        """Close what is idle, and ask the next connection again what server it has met."""
        self.about = {}
        while self._idle:
            await discard(self._idle.pop())

    def checked(self, answer: Any) -> Any:
        if isinstance(answer, NoAnswer):
            raise BrokerUnavailable(f"broker {self.address.shown}: {answer}")
        if isinstance(answer, redis.RedisError):
            raise self.translated(answer)
        return answer

    def translated(self, error: BaseException) -> FencepostError:
        """The driver's fault in one line that says the fix."""
        where, text = f"broker {self.address.shown}", brief(error)
        remedy = _remedy(error, text)
        if remedy is not None:
            return BrokerRefused(f"{where}: {text}; {remedy}")
        if isinstance(error, redis.ResponseError):
            return BrokerUnavailable(f"{where}: {text}")
        return BrokerUnavailable(f"{where}: {text}; is the server running, and is this its address?")

    async def _take(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if await _is_sound(connection):
                return connection
            await discard(connection)
        loop = asyncio.get_running_loop()
        if self._is_closed:
            raise BrokerUnavailable(f"broker {self.address.shown}: closed")
        if self._fault is not None and loop.time() < self._tried_at + RECONNECT_S:
            raise type(self._fault)(str(self._fault))
        try:
            connection = await self._open()
        except FencepostError as fault:
            self._fault, self._tried_at = fault, loop.time()
            raise
        self._fault = None
        return connection

    async def _open(self) -> Connection:
        connection = self.address.connection()
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await connection.connect()  # type: ignore[no-untyped-call]
                if not self.about:
                    await self._ask(connection)
        except (redis.RedisError, OSError, TimeoutError) as error:
            await discard(connection)
            raise self.translated(error) from error
        except BaseException:
            await discard(connection)
            raise
        return connection

    async def _ask(self, connection: Connection) -> None:
        """See that the server is one that we can use."""
        commands: list[Command] = [("INFO",), ("CONFIG", "GET", "appendfsync")]
        await connection.send_packed_command(connection.pack_commands(commands))
        info, flushes = [await _read(connection) for _ in commands]
        if isinstance(info, redis.RedisError):
            raise info
        lines = info.decode(errors="replace").splitlines()
        about = {name: value for name, colon, value in (line.partition(":") for line in lines) if colon}
        version = tuple(int(part) for part in about.get("redis_version", "0.0").split(".")[:2])
        where = f"broker {self.address.shown}"
        if version < (6, 2):
            raise BrokerRefused(f"{where}: Redis {about.get('redis_version')}; upgrade it to 6.2 or newer")
        if about.get("role") != "master":
            raise BrokerRefused(f"{where}: the server is a replica; name the master in the URL")
        self.about = about
        self.flushes = flushes[1].decode() if isinstance(flushes, list) and len(flushes) == 2 else ""


async def discard(connection: Connection) -> None:
    """Close at once, whatever was under way."""
    await connection.disconnect(nowait=True)


async def _read(connection: Connection) -> Any:
    """The next answer; an error is an answer too."""
    try:
        return await connection.read_response(disable_decoding=True)
    except FAULTS:
        raise
    except redis.RedisError as error:
        return error


async def _is_sound(connection: Connection) -> bool:
    """Whether nothing came unasked while the connection was idle, its end included."""
    try:
        return not await connection.can_read()
    except (redis.RedisError, OSError):
        return False


def brief(error: BaseException) -> str:
    """The first line of what an exception says, or its name where it says nothing."""
    lines = str(error).strip().splitlines()
    if lines:
        return lines[0].rstrip(".")
    return "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__


def _remedy(error: BaseException, text: str) -> str | None:
    """What to change, where waiting does not help."""
    if isinstance(error, redis.exceptions.NoPermissionError):
        return "grant the user what the guide to brokers in Redis lists"
    if isinstance(error, redis.AuthenticationError):
        return "correct the user or the password in the URL"
    if isinstance(error.__context__, ssl.SSLCertVerificationError):
        return "name the authority that signed the server's certificate by ca=FILE"
    if "DB index" in text:
        return "choose another database in the URL"
    if "WRONGTYPE" in text or "wrong kind of value" in text:
        return "choose another destination or another database, this key is no stream"
    return None
