"""The contract with processors: what a message says of its run, and what a processor says in reply.

A message carries the payload as JSON, or the bytes of one name in it, and everything else as headers, all of
them texts. A reply is one JSON object. Neither depends on Python: a program in any language can read the one
and write the other.

A reply names the run key, the attempt and the fence that its message had. `started` and `heartbeat` keep the
attempt alive, `succeeded` and `failed` end it. The ledger compares all three, so that a reply that is late,
repeated or made up changes nothing.
"""

from __future__ import annotations

import json
import re
from binascii import b2a_base64
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from math import inf
from typing import Annotated, Any, TypeAlias

import msgspec

from fencepost.core.external_runs import End, error_kinds, first_end
from fencepost.core.outcome import Failed, Succeeded
from fencepost.core.payload import body_bytes
from fencepost.errors import InvalidPayload, InvalidSpec, InvalidTrigger
from fencepost.model.chain import predecessors_from_json
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    Epoch,
    Fence,
    JobName,
    Namespace,
    RunKey,
    ScheduleId,
    checked_name,
)
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.message import Delivery, Message, Reply, Route
from fencepost.model.quoting import quoted
from fencepost.model.run import Claim
from fencepost.model.text import beginning, storable
from fencepost.model.times import from_utc_text, to_utc_text

PROCESSORS = "processors"
"""The group of consumers that share the messages of a job."""
REPLIES = "replies"
"""The group of consumers that share the replies."""
PREFIX = "fencepost-"
TRACE_HEADERS = ("traceparent", "tracestate")
ERROR_LENGTH_MAX = 2_000
DETAIL_LENGTH_MAX = 16_384
NOTE_LENGTH_MAX = 1_000
WAIT_MAX_S = 86_400.0
ATTEMPT_MAX, FENCE_MAX = 2**31 - 1, 2**63 - 1
"""The largest numbers that every ledger can compare."""

_Attempt: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=ATTEMPT_MAX)]
_Fence: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=FENCE_MAX)]
_Key: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[^\\x00]*$")]

_REPLY_TO = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")

_encode = msgspec.json.Encoder().encode


def reply_destination(namespace: Namespace) -> str:
    """Where processors send the replies of a namespace's runs. RabbitMQ would read a slash as the name of an
    exchange, and Kafka takes no colon."""
    plain = re.sub("[/:]", "-", namespace)
    if plain != namespace:
        plain += f"-{sha256(namespace.encode()).hexdigest()[:12]}"
    return f"fencepost.replies.{plain}"


def control_topic(namespace: Namespace) -> str:
    """Where processors of a namespace's runs hear that a run is to stop."""
    return f"fencepost.control.{namespace}"


def route_of(job: JobSpec) -> Route:
    """How the runs of a message job are sent."""
    assert job.message is not None, "a message job has a route"
    return job.message


def message_of(claim: Claim, job: JobSpec, carried: Mapping[str, str], heartbeat_every_s: float) -> Message:
    """The message of an attempt. `carried` are headers of its trace. Raises `InvalidPayload` where a value
    that is to be sent as bytes is not in Base64."""
    route = route_of(job)
    headers = {
        "run-key": claim.run_key,
        "job": claim.job,
        "namespace": claim.namespace,
        "attempt": str(claim.attempt),
        "fence": str(claim.fence),
        "version": str(claim.version),
        "fire-time": to_utc_text(claim.fire_time),
    }
    if claim.schedule_id is not None:
        headers["schedule"] = claim.schedule_id
    if claim.previous is not None:
        headers["previous"] = to_utc_text(claim.previous)
    if claim.after:
        headers["after"] = json.dumps(
            [{"key": one.key, "job": one.job, "state": str(one.state)} for one in claim.after]
        )
    if job.timeout is not None:
        headers["timeout"] = f"{job.timeout.total_seconds():g}"
    if job.at_most_once:
        headers["delivery"] = "at_most_once"
    if route.body is None:
        body = _body(claim.payload)
    else:
        headers["body"] = route.body
        body = body_bytes(claim.job, route.body, claim.payload)
    identity: str = claim.run_key
    if route.reply is Reply.RESULT:
        identity = f"{claim.run_key}/{claim.attempt}"
        headers["reply-to"] = reply_destination(claim.namespace)
        headers["heartbeat-every"] = f"{heartbeat_every_s:g}"
        end = last_moment(job, claim.started_at, None)
        if end is not None:
            headers["deadline"] = to_utc_text(end.at)
    named = {f"{PREFIX}{name}": value for name, value in headers.items()}
    order_key = claim.schedule_id or claim.run_key
    return Message(route.destination, identity, body, named | dict(carried), order_key)


def _body(payload: JsonObject) -> bytes:
    """The payload as JSON in UTF-8. A lone surrogate, which UTF-8 does not have, is escaped."""
    try:
        return _encode(payload)
    except UnicodeEncodeError:
        return json.dumps(payload).encode()


def last_moment(job: JobSpec, started_at: StoreTime, progress_at: StoreTime | None) -> End | None:
    """Until when an attempt that was sent may count as alive. Its timeout and its progress deadline begin
    when a processor begins. They begin, at the latest, when the time for which it may wait for one is
    over."""
    first_started_at = StoreTime(started_at + timedelta(seconds=route_of(job).start_within_s))
    return first_end(job, first_started_at, progress_at)


@dataclass(frozen=True, slots=True)
class Order:
    """What a processor is asked to do."""

    claim: Claim
    """The attempt, as far as a message tells of it."""
    reply_to: str | None
    timeout_s: float | None
    heartbeat_every_s: float | None
    """How often the sender wants a sign of life; None where it does not say."""
    at_most_once: bool
    carried: Mapping[str, str]


def read_order(delivery: Delivery) -> Order:
    """The order in a message; `InvalidPayload` where it is none."""
    said = {
        name.removeprefix(PREFIX): value
        for name, value in delivery.headers.items()
        if name.startswith(PREFIX)
    }
    try:
        claim = Claim(
            namespace=Namespace(checked_name("namespace", said.get("namespace", DEFAULT_NAMESPACE))),
            run_key=RunKey(said["run-key"]),
            schedule_id=ScheduleId(said["schedule"]) if "schedule" in said else None,
            job=JobName(said["job"]),
            fire_time=from_utc_text(said["fire-time"]),
            version=int(said.get("version", "0")),
            attempt=int(said["attempt"]),
            fence=Fence(int(said["fence"])),
            epoch=Epoch(0),
            payload=_payload(delivery.body, said.get("body")),
            run_at=from_utc_text(said["fire-time"]),
            started_at=StoreTime(from_utc_text(said["fire-time"])),
            previous=_instant(said.get("previous")),
            after=predecessors_from_json(json.loads(said.get("after", "[]"))),
        )
        return Order(
            claim,
            _reply_to(said.get("reply-to")),
            _seconds(said.get("timeout")),
            _seconds(said.get("heartbeat-every")),
            said.get("delivery") == "at_most_once",
            {name: value for name, value in delivery.headers.items() if name in TRACE_HEADERS},
        )
    except KeyError as error:
        raise InvalidPayload(f"message {delivery.id}: header {PREFIX}{error.args[0]} is missing") from None
    except (TypeError, ValueError, RecursionError, InvalidTrigger, InvalidSpec) as error:
        raise InvalidPayload(f"message {delivery.id}: {error}") from None


def _instant(text: str | None) -> datetime | None:
    return None if text is None else from_utc_text(text)


def _reply_to(text: str | None) -> str | None:
    """See `reply_destination`: it ends in the name of a namespace."""
    if text is None or _REPLY_TO.fullmatch(text):
        return text
    raise ValueError(f"reply-to {quoted(text)}: expected letters, digits or _ . : / -")


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    found = float(text)
    if 0 < found < inf:
        return found
    raise ValueError(f"{text} seconds: expected a number larger than 0")


def _payload(body: bytes, name: str | None) -> JsonObject:
    """The payload; with a name the body is what stands there, as the ledger has it."""
    return _object(body) if name is None else {name: b2a_base64(body, newline=False).decode("ascii")}


def _object(body: bytes) -> JsonObject:
    found = json.loads(body or b"{}")
    if not isinstance(found, dict):
        raise ValueError(f"the body is a JSON {type(found).__name__}; expected an object")
    return found


class Outcome(StrEnum):
    """What a reply says of the attempt."""

    STARTED = "started"
    HEARTBEAT = "heartbeat"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class ReplyForm(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A reply as it is sent. A reader ignores fields that it does not know."""

    run_key: _Key
    attempt: _Attempt
    fence: _Fence
    outcome: Outcome
    result: Any = None
    error: str | None = None
    detail: str | None = None
    kinds: list[str] | None = None
    permanent: bool = False
    retry_after: float | None = None
    """For this number of seconds the run is not to be tried again."""
    progress: float | str | None = None
    note: str | None = None
    processor: str | None = None
    """Who sends it, for people."""

    @property
    def ends(self) -> bool:
        """Whether the attempt is over."""
        return self.outcome in (Outcome.SUCCEEDED, Outcome.FAILED)

    def masked(self, mask: Callable[[str], str]) -> ReplyForm:
        """The same with every text masked, before any is cut; a result that is no text is JSON from here."""
        result = self.result
        text = result if result is None or isinstance(result, str) else _encode(result).decode()
        texts = {"result": text, "error": self.error, "detail": self.detail, "note": self.note}
        said = {name: mask(text) for name, text in texts.items() if text is not None}
        return msgspec.structs.replace(self, **said)

    @property
    def output(self) -> str | None:
        """The result as the ledger keeps it, in bounds."""
        return None if self.result is None else beginning(str(self.result))

    @property
    def noted(self) -> str | None:
        """What the work is at, in bounds."""
        return None if self.note is None else storable(self.note, NOTE_LENGTH_MAX)

    @property
    def ending(self) -> Succeeded | Failed:
        """How the attempt ended."""
        if self.outcome is Outcome.SUCCEEDED:
            return Succeeded(self.output)
        error = storable((self.error or "failed without a word")[:ERROR_LENGTH_MAX], ERROR_LENGTH_MAX)
        wait_s = min(max(self.retry_after or 0.0, 0.0), WAIT_MAX_S)
        return Failed(
            error=error,
            detail=None if self.detail is None else storable(self.detail, DETAIL_LENGTH_MAX),
            output=self.output,
            permanent=self.permanent,
            kinds=tuple(self.kinds) if self.kinds is not None else error_kinds(error),
            wait_s=wait_s,
        )


# Headers are texts: a processor may send the attempt and the fence back as it read them.
_read_reply = msgspec.json.Decoder(ReplyForm, strict=False).decode


def read_reply(body: bytes) -> ReplyForm:
    """The reply in a message; `InvalidPayload` where it is none."""
    try:
        return _read_reply(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidPayload(f"reply: {error}") from None


def reply_message(order: Order, form: ReplyForm, number: int) -> Message:
    """A reply on its way; `number` tells apart the replies of one attempt."""
    assert order.reply_to is not None, "a reply is expected"
    claim = order.claim
    identity = f"{claim.run_key}/{claim.attempt}/{claim.fence}/{form.outcome}-{number}"
    return Message(order.reply_to, identity, msgspec.json.encode(form), dict(order.carried), claim.run_key)


class StopForm(msgspec.Struct, kw_only=True):
    """An announcement: the processor that carries out this attempt is to stop, and why."""

    run_key: str
    attempt: int
    fence: int
    why: str


def stop_body(form: StopForm) -> bytes:
    """The announcement as it is sent."""
    return msgspec.json.encode(form)


def read_stop(body: bytes) -> StopForm | None:
    """The announcement; None where it is none."""
    try:
        return msgspec.json.decode(body, type=StopForm)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
