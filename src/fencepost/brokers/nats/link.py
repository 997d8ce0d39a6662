"""The way to the server: one session at a time, and a new one where that was lost."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress

import msgspec
import nats.errors
import nkeys
from nats.aio.msg import Msg

from fencepost.brokers.nats.address import NatsAddress
from fencepost.brokers.nats.session import (
    CONNECT_TIMEOUT_S,
    FAULTS,
    Forbidden,
    NoAnswer,
    NoResponders,
    PlainServer,
    Session,
)
from fencepost.errors import BrokerRefused, BrokerUnavailable, FencepostError

RECONNECT_S = 1.0
API = "$JS.API."
NO_JETSTREAM = (10039, 10076)
"""JetStream is not enabled for the account, or not at all."""


class ApiError(msgspec.Struct):
    code: int = 0
    err_code: int = 0
    description: str = ""


class ApiAnswer(msgspec.Struct):
    """What all answers of JetStream have in common."""

    error: ApiError | None = None


HEADERS_MAX = 16_384
"""The server counts headers as a part of the message. The headers of one message may have this many bytes."""
decoded = msgspec.json.Decoder(ApiAnswer).decode


class Link:
    """Hands out the session that is connected."""

    def __init__(self, address: NatsAddress) -> None:
        self.address = address
        self.message_max: int | None = None
        self._session: Session | None = None
        self._lock = asyncio.Lock()
        self._tried_at = float("-inf")
        self._fault: FencepostError | None = None
        self._listeners: dict[str, list[Callable[[bytes], None]]] = {}
        self._keeper: asyncio.Task[None] | None = None
        self._is_closed = False

    async def session(self) -> Session:
        """A session, connected now where there is none; the last fault again, where that was just tried."""
        session = self._session
        if session is not None and not session.lost.is_set():
            return session
        async with self._lock:
            if self._session is None or self._session.lost.is_set():
                await self._renew()
            assert self._session is not None
            return self._session

    async def ask(self, verb: str, body: object = None) -> bytes | ApiError:
        """Call JetStream's API, which answers with a document or with an error."""
        session = await self.session()
        answer = await session.ask(API + verb, msgspec.json.encode(body) if body else b"", CONNECT_TIMEOUT_S)
        match answer:
            case bytes():
                return decoded(answer).error or answer
            case Forbidden():
                raise self.refused(f"{answer}; grant the user what the guide to NATS lists")
            case NoResponders():
                raise BrokerUnavailable(f"broker {self.address.shown}: JetStream does not answer")
            case NoAnswer():
                raise self.unavailable(session)

    async def listen(self, topic: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        """Subscribe now, and again after each loss."""
        callbacks = self._listeners.setdefault(topic, [])
        callbacks.append(callback)
        try:
            session = await self.session()
            if len(callbacks) == 1:
                await self._hear(session, topic)
                await session.is_alive()
        except BaseException:
            callbacks.remove(callback)
            raise
        self._keeper = self._keeper or asyncio.create_task(self._keep())

        def stop() -> None:
            if callback in callbacks:
                callbacks.remove(callback)

        return stop

    async def close(self) -> None:
        self._is_closed = True
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
            self._keeper = None
        if self._session is not None:
            await self._session.close()

    def refused(self, complaint: str) -> BrokerRefused:
        return BrokerRefused(f"broker {self.address.shown}: {complaint}")

    def unavailable(self, session: Session) -> BrokerUnavailable:
        """What to say where no answer came."""
        what = "the connection was lost" if session.lost.is_set() else "no answer in time"
        return BrokerUnavailable(f"broker {self.address.shown}: {what}")

    async def _renew(self) -> None:
        """Connect, unless that has just failed."""
        loop = asyncio.get_running_loop()
        if self._is_closed:
            raise BrokerUnavailable(f"broker {self.address.shown}: closed")
        if self._fault is not None and loop.time() < self._tried_at + RECONNECT_S:
            raise type(self._fault)(str(self._fault))
        if self._session is not None:
            await self._session.close()
            self._session = None
        self._tried_at, session = loop.time(), Session(self.address)
        try:
            await self._open(session)
        except FencepostError as fault:
            self._tried_at, self._fault = loop.time(), fault
            raise
        self._session, self._fault = session, None

    async def _open(self, session: Session) -> None:
        try:
            await session.open()
        except FAULTS as error:
            is_last = not isinstance(error, nats.errors.NoServersError)
            raise self._translated(error if is_last else session.fault or error) from error
        except (nkeys.NkeysError, ValueError, TypeError) as error:
            raise self.refused("the key in the file of creds or nkey is none; write a new one") from error
        try:
            await self._check(session)
            for topic in self._listeners:
                await self._hear(session, topic)
        except BaseException:
            await session.close()
            raise
        self.message_max = max(session.client.max_payload - HEADERS_MAX, 0)

    async def _check(self, session: Session) -> None:
        """See that there is JetStream for us."""
        answer = await session.ask(f"{API}INFO", b"", CONNECT_TIMEOUT_S)
        match answer:
            case Forbidden():
                raise self.refused(f"{answer}; grant the user what the guide to NATS lists")
            case NoAnswer():
                raise self.unavailable(session)
            case bytes():
                error = decoded(answer).error
                if error is None:
                    return
                if error.err_code not in NO_JETSTREAM:
                    raise BrokerUnavailable(f"broker {self.address.shown}: {error.description}")
            case NoResponders():
                pass
        raise self.refused(
            "JetStream is off; start nats-server with -js, or write jetstream: enabled for the account"
        )

    def _translated(self, error: BaseException) -> FencepostError:
        """The driver's fault at connecting, in one line that says the fix."""
        text = brief(error)
        if isinstance(error, PlainServer):
            return self.refused(
                f"{text}; write nats:// without ca and cert, or give the server a certificate"
            )
        if isinstance(error, ssl.SSLCertVerificationError):
            return self.refused(f"{text}; name the authority that signed the server's certificate by ca=FILE")
        if "authoriz" in text.lower() or "authentic" in text.lower():
            remedy = "correct the user, password, token or file of credentials in the URL"
            return self.refused(f"{text}; {remedy}")
        where = f"broker {self.address.shown}"
        return BrokerUnavailable(f"{where}: {text}; is the server running, and is this its address?")

    async def _hear(self, session: Session, topic: str) -> None:
        def tell(message: Msg) -> None:
            for one in list(self._listeners[topic]):
                one(message.data)

        await session.listen(topic, tell)

    async def _keep(self) -> None:
        """Connect again after a loss, so that listeners go on hearing."""
        while True:
            with suppress(FencepostError):
                await (await self.session()).lost.wait()
            await asyncio.sleep(RECONNECT_S)


def brief(error: BaseException) -> str:
    """The first line of what an exception says, or its name where it says nothing."""
    lines = str(error).strip().splitlines()
    if lines:
        return lines[0].removeprefix("nats: ").strip("'\" ").rstrip(".")
    return "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
