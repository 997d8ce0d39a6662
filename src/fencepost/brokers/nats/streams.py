"""Streams: which one has a destination, and how one is made."""

from __future__ import annotations

from typing import Any

import msgspec

from fencepost.brokers.nats.link import ApiAnswer, ApiError, Link
from fencepost.errors import BrokerRefused

MESSAGE_ID = "Nats-Msg-Id"
PREFIX = "fencepost-"
DUPLICATE_WINDOW_S = 120
NOT_FOUND = 404
NS = 1_000_000_000


class _Names(ApiAnswer):
    streams: list[str] | None = None


class _Config(msgspec.Struct):
    retention: str = "limits"
    storage: str = "file"
    no_ack: bool = False


class _State(msgspec.Struct):
    subjects: dict[str, int] = {}


class _Stream(ApiAnswer):
    config: _Config = msgspec.field(default_factory=_Config)
    state: _State = msgspec.field(default_factory=_State)


class _Consumer(ApiAnswer):
    num_pending: int = 0


class Streams:
    """What the server knows of destinations."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._known: dict[str, str] = {}

    async def find(self, destination: str, *, anew: bool = False) -> str | None:
        """The stream that takes the destination; `anew` where it may have gone since it was last seen."""
        if anew:
            self._known.pop(destination, None)
        if destination not in self._known and is_subject(destination):
            answer = self._checked(await self._link.ask("STREAM.NAMES", {"subject": destination}))
            for name in msgspec.json.decode(answer, type=_Names).streams or ():
                self._known[destination] = name
        return self._known.get(destination)

    async def declare(self, destination: str) -> str:
        """The stream that takes the destination, made where there is none."""
        if not is_subject(destination):
            raise self._link.refused(
                f"destination {destination} is no subject: a part between dots is empty; choose another name"
            )
        stream = await self.find(destination, anew=True) or await self._create(destination)
        self._known[destination] = stream
        await self._check(destination, stream)
        return stream

    async def backlog(self, destination: str) -> int:
        """What no consumer has been given."""
        stream = await self.find(destination)
        if stream is None:
            return 0
        found = await self._link.ask(f"CONSUMER.INFO.{stream}.{derived(destination)}")
        if isinstance(found, bytes):
            return msgspec.json.decode(found, type=_Consumer).num_pending
        found = await self._link.ask(f"STREAM.INFO.{stream}", {"subjects_filter": destination})
        if isinstance(found, ApiError) and found.code == NOT_FOUND:
            del self._known[destination]
            return 0
        return msgspec.json.decode(self._checked(found), type=_Stream).state.subjects.get(destination, 0)

    async def consumer(self, destination: str, stream: str) -> str:
        """The durable consumer that all subscriptions of the destination share."""
        name = derived(destination)
        config = {
            "durable_name": name,
            "filter_subject": destination,
            "deliver_policy": "all",
            "ack_policy": "explicit",
            "ack_wait": int(self._link.address.redeliver_after_s * NS),
            "max_ack_pending": -1,
            "replay_policy": "instant",
        }
        request = {"stream_name": stream, "config": config}
        self._checked(await self._link.ask(f"CONSUMER.DURABLE.CREATE.{stream}.{name}", request))
        return name

    async def _create(self, destination: str) -> str:
        name = derived(destination)
        config: dict[str, Any] = {
            "name": name,
            "subjects": [destination],
            "retention": "workqueue",
            "storage": "file",
            "discard": "new",
            "num_replicas": self._link.address.replicas,
            "duplicate_window": DUPLICATE_WINDOW_S * NS,
            "max_consumers": -1,
            "max_msgs": -1,
            "max_bytes": -1,
            "max_age": 0,
        }
        try:
            found = await self._link.ask(f"STREAM.CREATE.{name}", config)
        except BrokerRefused as refusal:
            raise BrokerRefused(f"{refusal}, or run: {command(destination)}") from refusal
        if isinstance(found, ApiError):
            raise self._link.refused(f"{found.description}; run: {command(destination)}")
        return name

    async def _check(self, destination: str, stream: str) -> None:
        """A stream that would lose what it has confirmed is not used."""
        answer = self._checked(await self._link.ask(f"STREAM.INFO.{stream}"))
        config = msgspec.json.decode(answer, type=_Stream).config
        if config.no_ack or config.storage != "file" or config.retention == "interest":
            raise self._link.refused(
                f"the stream {stream} of {destination} has storage {config.storage}, retention "
                f"{config.retention} and no_ack {str(config.no_ack).lower()}, and would lose messages; "
                f"remove it and run: {command(destination)}"
            )

    def _checked(self, answer: bytes | ApiError) -> bytes:
        if isinstance(answer, ApiError):
            raise self._link.refused(f"JetStream refused: {answer.description} ({answer.err_code})")
        return answer


def is_subject(destination: str) -> bool:
    """Whether the server takes it as a subject: no part between two dots may be empty."""
    return all(destination.split("."))


def derived(destination: str) -> str:
    """The name of a stream or consumer: those may have neither dots nor slashes."""
    return PREFIX + destination.replace(".", "=").replace("/", "+")


def command(destination: str) -> str:
    """How a person creates the stream."""
    name = derived(destination)
    return (
        f"nats stream add {name} --subjects={destination} --retention=work --storage=file --discard=new "
        "--dupe-window=2m --defaults"
    )
