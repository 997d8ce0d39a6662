"""Notifications: which events are told, and to which targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from fencepost.errors import InvalidSpec
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import JobName, checked_name
from fencepost.model.job import JobSpec, Parameter, Retry
from fencepost.model.quoting import quoted
from fencepost.model.secret import REFERENCE_PREFIX

DELIVERY = JobName("fencepost.notify")
"""The job that sends messages to targets."""
DELIVERY_SPEC = JobSpec(
    name=DELIVERY,
    retry=Retry(max_attempts=12, base="2s", cap="10m", budget=None),
    timeout=timedelta(minutes=2),
    parameters=(Parameter("target", required=True), Parameter("message", required=True)),
)
REFERENCES = ("env:", "file:")
"""The beginning of a text that says where a secret is kept."""
LISTED_MAX = 100
"""How many names one word of a target may have."""


class Event(StrEnum):
    """An event that can be told."""

    DEAD = "dead"
    """A run has failed for good."""
    MISSED = "missed"
    """A tick did not run, or a run by hand expired."""
    GATE_CLOSED = "gate_closed"
    """Catch-up of a schedule waits for a decision."""
    STUCK = "stuck"
    """A run shows no life, or no progress."""
    UNSERVED = "unserved"
    """No running process has the job of a schedule."""
    INCOMPLETE = "incomplete"
    """Completeness of a job is below its target."""
    RECOVERED = "recovered"
    """What was told before has ended."""


STATES = (Event.GATE_CLOSED, Event.STUCK, Event.UNSERVED, Event.INCOMPLETE)
"""Events that begin and end."""


EventWord: TypeAlias = Literal[
    "dead", "missed", "gate_closed", "stuck", "unserved", "incomplete", "recovered"
]
TargetWord: TypeAlias = Literal["webhook", "slack", "email"]
"""The words that a type checker accepts in code."""


class TargetKind(StrEnum):
    """How a target is told."""

    WEBHOOK = "webhook"
    SLACK = "slack"
    EMAIL = "email"
    HOOK = "hook"
    """A function of the application."""


@dataclass(frozen=True, slots=True)
class Target:
    """Which target is told of which events. An empty filter lets everything through; names may end in `*`."""

    name: str
    kind: TargetKind
    events: tuple[Event, ...] = ()
    jobs: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ()
    url: str = ""
    """Of a webhook or a Slack channel: a URL, or where it is kept (`env:NAME`, `file:/path`)."""
    secret: str | None = None
    """Where the secret is kept that signs a webhook's requests."""
    allow_private: bool = False
    to: tuple[str, ...] = ()
    """Addresses of an e-mail."""
    job: JobName = DELIVERY
    """The job that tells it."""
    parameter: str = ""
    """The name of the parameter by which a hook's function takes the notification."""
    from_code: bool = False

    @property
    def shown(self) -> str:
        """Where it sends, without what may be secret."""
        match self.kind:
            case TargetKind.EMAIL:
                return ", ".join(self.to)
            case TargetKind.HOOK:
                return f"job {self.job}"
            case _:
                return self.url if self.url.startswith((REFERENCE_PREFIX, *REFERENCES)) else _origin(self.url)


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is told: a run, missed ticks, or an alarm that began or ended."""

    event: Event
    subject: str
    at: datetime
    words: str = ""
    job: str | None = None
    schedule_id: str | None = None
    ticks: int = 1
    of: Event | None = None
    """The event that has ended, where this is a recovery."""

    @property
    def place(self) -> tuple[Event, str]:
        """The key of the alarm."""
        return self.of or self.event, self.subject


@dataclass(frozen=True, slots=True)
class Alarm:
    """A state that is wrong at this moment, or was until a moment ago and is not told to be over yet."""

    event: Event
    subject: str
    job: str | None
    schedule_id: str | None
    words: str
    since: StoreTime
    told: bool
    ended_at: StoreTime | None = None


class NotifyTerms(NamedTuple):
    """How notifications are grouped, and what their links begin with."""

    window_s: float
    most: int
    """The largest number of runs in one message."""
    public_url: str = ""


class Collected(NamedTuple):
    """What one pass told: how many messages to each target, and in how many seconds more messages are due."""

    messages: Mapping[str, int]
    next_in_s: float | None = None


def parse_events(given: Sequence[str]) -> tuple[Event, ...]:
    """Events by their names, each once."""
    known = ", ".join(Event)
    for one in given:
        if one not in set(Event):
            raise InvalidSpec(f"event {quoted(one)}: expected one of {known}")
    return tuple(dict.fromkeys(map(Event, given)))


def check_target(target: Target) -> None:
    """Refuse a target that lacks a field of its kind, or has a field of another kind."""
    checked_name("notify", target.name)
    needs = {
        TargetKind.WEBHOOK: ("url", target.url),
        TargetKind.SLACK: ("url", target.url),
        TargetKind.EMAIL: ("to", target.to),
        TargetKind.HOOK: ("parameter", target.parameter),
    }
    word, value = needs[target.kind]
    if not value:
        raise InvalidSpec(f"notify {target.name}: {word} is missing; a target of kind {target.kind} needs it")
    said = {"url": target.url, "to": target.to, "secret": target.secret}
    takes = {
        TargetKind.WEBHOOK: {"url", "secret"},
        TargetKind.SLACK: {"url"},
        TargetKind.EMAIL: {"to"},
        TargetKind.HOOK: set[str](),
    }
    for name in sorted({word for word, given in said.items() if given} - takes[target.kind]):
        raise InvalidSpec(f"notify {target.name}: {name} is not for kind {target.kind}; leave it out")
    if (
        target.url
        and not target.url.startswith((REFERENCE_PREFIX, *REFERENCES))
        and not _has_host(target.url)
    ):
        raise InvalidSpec(f"notify {target.name}: url: its host or port cannot be read")
    for names in (target.jobs, target.schedules, target.to):
        if len(names) > LISTED_MAX:
            raise InvalidSpec(f"notify {target.name}: more than {LISTED_MAX} names in one list")
    for address in target.to:
        if "@" not in address or not address.isprintable() or any(one in address for one in " ,;<>"):
            raise InvalidSpec(f"notify {target.name}: to: {quoted(address)}: expected an e-mail address")


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}" + (f":{parts.port}" if parts.port else "") + "/…"
