"""Messages: what is published to a broker, what comes back from it, and how a job of the kind `message` is
sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import TypeAlias

from fencepost.errors import InvalidSpec
from fencepost.model.dataclasses import dataclass
from fencepost.model.quoting import quoted

DESTINATION_LENGTH_MAX = 200
_DESTINATION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")


@dataclass(frozen=True, slots=True)
class Message:
    """A message to publish. `id` is the same each time the same thing is published again, so that a broker or
    a consumer can drop the copy. `order_key` says which messages a broker with partitions keeps in order."""

    destination: str
    id: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    order_key: str = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message as it was received. Until it is acknowledged the broker may deliver it again."""

    id: str
    body: bytes
    headers: Mapping[str, str]
    delivered: int
    """How often it has been delivered, this time included; 1 where the broker does not count."""
    handle: object
    """The adapter's own reference to the message; no other code reads it."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The broker has the message durably, and has a place for it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The broker has refused, and does not have the message. `permanent`: it would refuse again."""

    reason: str
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """The answer did not come: the broker may have the message or not."""

    reason: str


Publication: TypeAlias = Confirmed | Refused | Unconfirmed


class Reply(StrEnum):
    """When an attempt of a message job has succeeded."""

    NONE = "none"
    """The broker has confirmed the message."""
    RESULT = "result"
    """A processor has reported success under the same run key, attempt and fence."""


@dataclass(frozen=True, slots=True)
class Route:
    """How the runs of a message job are sent."""

    destination: str
    reply: Reply = Reply.NONE
    start_within_s: float = 600.0
    """How long a run that was sent may wait for a processor to begin; after that the next attempt sends it
    again. It counts only where a result is expected."""
    ahead_max: int = 1_000
    """The number of messages in the destination from which no more are sent."""
    body: str | None = None
    """The name in the payload whose bytes, in Base64 there, are the message's body. None: the body is the
    payload as JSON."""

    def __post_init__(self) -> None:
        checked_destination(self.destination)
        if self.start_within_s <= 0:
            raise InvalidSpec(f"start_within {self.start_within_s:g}: expected more than 0 seconds")
        if self.ahead_max < 1:
            raise InvalidSpec(f"ahead_max {self.ahead_max}: expected 1 or more")


def checked_destination(name: str) -> str:
    """The name itself, or a refusal that says what a destination may be called."""
    if len(name) <= DESTINATION_LENGTH_MAX and _DESTINATION.fullmatch(name):
        return name
    raise InvalidSpec(
        f"destination {quoted(name)}: expected 1 to {DESTINATION_LENGTH_MAX} letters, digits or _ . / -, "
        "beginning with a letter, digit or _"
    )
