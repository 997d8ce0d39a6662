"""What happens over a message broker; told by `telemetry.events.emit`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from fencepost.model.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BrokerMissed:
    """The message broker did not answer a service; `failures` counts the times in a row."""

    service: str
    failures: int


class Answer(StrEnum):
    """What a broker said of a message."""

    CONFIRMED = "confirmed"
    REFUSED = "refused"
    UNCONFIRMED = "unconfirmed"


@dataclass(frozen=True, slots=True)
class MessagesPublished:
    """A batch of runs was sent; how many the broker confirmed, refused, and left unconfirmed."""

    broker: str
    answers: Mapping[Answer, int]


class ReplyFate(StrEnum):
    """What became of a reply of a processor."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"
    """It was there already."""
    LATE = "late"
    """Its attempt does not own the run any more."""
    UNKNOWN = "unknown"
    """There is no such run, or it was not sent to a processor."""
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class RepliesTaken:
    """Replies of processors were received."""

    fate: ReplyFate
    replies: int


@dataclass(frozen=True, slots=True)
class MessagesTaken:
    """Messages of a source became runs: `new` ones, `unreadable` among them; the others had one already."""

    source: str
    new: int
    repeated: int
    unreadable: int


@dataclass(frozen=True, slots=True)
class Redelivered:
    """Messages came to a service again, because they had not been acknowledged."""

    service: str
    messages: int


@dataclass(frozen=True, slots=True)
class BacklogSeen:
    """This number of messages waits in a destination for a processor or an intake."""

    destination: str
    messages: int
