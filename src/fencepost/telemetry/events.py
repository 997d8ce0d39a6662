"""What happens in this process, reported once, where it is decided or answered.

A service reports an event with one line, `emit(RunClaimed(claim))`, and does not know its listeners: metrics
listen, traces may, a test can. An event is reported only once, because there is one place where it is known
to have happened: a claim when the ledger granted it, an ending when the ledger took the report.

A listener is called at once, in the thread of the caller, and must be quick. An error of a listener is logged
and goes no further: telemetry never changes what Fencepost does. Without listeners nothing is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeAlias

from fencepost.model.clocks import since
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Epoch, JobName, Namespace, Queue, RunKey, ScheduleId, Shard
from fencepost.model.quotas import Quota
from fencepost.model.run import LIVE_ORIGINS, Claim, RunState, Ticket
from fencepost.model.status import QueueView
from fencepost.telemetry.logs import Log
from fencepost.telemetry.message_events import (
    BacklogSeen,
    BrokerMissed,
    MessagesPublished,
    MessagesTaken,
    Redelivered,
    RepliesTaken,
)


@dataclass(frozen=True, slots=True)
class TicksPlanned:
    """A batch of plans is in the ledger."""

    runs: int
    schedules: int


@dataclass(frozen=True, slots=True)
class TicksMissed:
    """Ticks that were too late already when they were planned, and are counted as a range."""

    namespace: Namespace
    schedule_id: ScheduleId
    job: JobName
    ticks: int
    reason: str


@dataclass(frozen=True, slots=True)
class PlanRefused:
    """The ledger knows a later leader of the shard: nothing of the plan was written."""

    shard: Shard
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class QuotaRefused:
    """A namespace asked for more than its quota: it was refused, or its ticks are planned later."""

    quota: Quota


@dataclass(frozen=True, slots=True)
class RunClaimed:
    """The ledger gave an attempt to a worker; `adopted` where the first answer was lost."""

    claim: Claim
    adopted: bool = False

    @property
    def lag_s(self) -> float:
        """How long after it was due the attempt began, by the store's clock."""
        return max(since(self.claim.run_at, self.claim.started_at).total_seconds(), 0.0)

    @property
    def is_first(self) -> bool:
        """Whether it is the run's first attempt since it was written or replayed."""
        return self.claim.attempt - self.claim.attempts_before_replay <= 1

    @property
    def was_awaited(self) -> bool:
        """Whether the attempt was to begin when it was due. Work that comes after live work, and retries,
        have waited on purpose."""
        return self.is_first and self.claim.origin in LIVE_ORIGINS


@dataclass(frozen=True, slots=True)
class JobsServed:
    """This process begins to work for these jobs."""

    jobs: tuple[JobName, ...]


@dataclass(frozen=True, slots=True)
class TickTurnedDown:
    """A due tick was judged, and is accounted for without having run: skipped or missed."""

    namespace: Namespace
    schedule_id: ScheduleId
    run_key: RunKey
    job: JobName
    state: RunState
    reason: str


@dataclass(frozen=True, slots=True)
class AttemptFinished:
    """The ledger took the report of an attempt; `state` is the run's next one, `ready` where it is tried
    again. `took_s` is None where it was not measured."""

    ticket: Ticket
    job: JobName
    state: RunState
    took_s: float | None = None


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run that was begun has ended in this state."""

    namespace: Namespace
    run_key: RunKey
    job: JobName
    state: RunState


@dataclass(frozen=True, slots=True)
class RunRescued:
    """A run was taken from a worker that showed no life; `state` is its state after that."""

    ticket: Ticket
    job: JobName | None
    state: RunState
    silent_for_s: float


@dataclass(frozen=True, slots=True)
class RescuesWaited:
    """The sweep before was `last_s` ago: the store or the whole fleet was away, and the owners of all runs
    were given time to show life. Negative where the store's clock was set back."""

    last_s: float


@dataclass(frozen=True, slots=True)
class ClockSetBack:
    """Leases or heartbeats that a store wrote lay ahead of its own clock: they do not count."""

    record: Literal["leases", "heartbeats"]
    by_s: float


@dataclass(frozen=True, slots=True)
class ClockSetAhead:
    """The store's clock went ahead by more than time passed for this process."""

    by_s: float


class Cause(StrEnum):
    """What was about to happen twice."""

    EPOCH = "epoch"
    """A plan of a leader that has a successor."""
    FENCE = "fence"
    """A report or a heartbeat of an attempt that does not own its run any more."""
    KEY = "key"
    """A run by hand whose key was there already."""
    UNIQUE = "unique"
    """A run by hand whose name another run had."""


@dataclass(frozen=True, slots=True)
class DuplicateSuppressed:
    """A write that would have done something twice changed nothing."""

    cause: Cause
    run_key: RunKey | None = None


@dataclass(frozen=True, slots=True)
class GateClosed:
    """Catch-up of a schedule is held back until an operator decides."""

    namespace: Namespace
    schedule_id: ScheduleId
    reason: str


@dataclass(frozen=True, slots=True)
class LeaseChanged:
    """A shard was gained or lost by this node, which leads `led` of them now."""

    shard: Shard
    epoch: Epoch
    gained: bool
    reason: str
    led: int


@dataclass(frozen=True, slots=True)
class RenewalFailed:
    """A renewal was refused, or had no answer."""

    shard: Shard
    why: str


@dataclass(frozen=True, slots=True)
class SkewMeasured:
    """This host's wall clock minus the store's."""

    skew_s: float


@dataclass(frozen=True, slots=True)
class HeartbeatLate:
    """The ledger did not answer a heartbeat for these runs within its period."""

    runs: int


@dataclass(frozen=True, slots=True)
class StoreMissed:
    """The store did not answer a service; `failures` counts the times in a row."""

    service: str
    failures: int


class Share(NamedTuple):
    """A number out of a total."""

    part: int
    whole: int

    def __add__(self, other: object) -> Share:
        assert isinstance(other, Share)
        return Share(self.part + other.part, self.whole + other.whole)

    @property
    def ratio(self) -> float:
        return self.part / self.whole if self.whole else 1.0


@dataclass(frozen=True, slots=True)
class LedgerMeasured:
    """What the ledger and the list of nodes say of one namespace at one moment; see `services.gauges`."""

    at_unix_s: float
    took_s: float
    accounted: Mapping[JobName, Share]
    complete: Mapping[JobName, Share]
    burn_rates: Mapping[str, float]
    budget_left: float
    target: float
    queues: Mapping[Queue, QueueView]
    dead: int
    gates_closed: int
    stuck: int
    unserved: int
    shards: int
    shards_unled: int
    planners: int
    workers: int


class RefusedFor(StrEnum):
    """Why the web did not answer a request, or closed a connection."""

    ADDRESS_RATE = "address_rate"
    CREDENTIAL_RATE = "credential_rate"
    WRONG_CREDENTIALS = "wrong_credentials"
    BUSY = "busy"
    CONNECTIONS = "connections"
    SLOW_READER = "slow_reader"
    TINY_PIECES = "tiny_pieces"


@dataclass(frozen=True, slots=True)
class RequestRefused:
    """The web protected itself: too many requests, connections, or answers that are not taken."""

    cause: RefusedFor


Event: TypeAlias = (
    TicksPlanned
    | TicksMissed
    | PlanRefused
    | QuotaRefused
    | RunClaimed
    | TickTurnedDown
    | AttemptFinished
    | RunEnded
    | RunRescued
    | RescuesWaited
    | ClockSetBack
    | ClockSetAhead
    | DuplicateSuppressed
    | JobsServed
    | GateClosed
    | LeaseChanged
    | RenewalFailed
    | SkewMeasured
    | HeartbeatLate
    | StoreMissed
    | BrokerMissed
    | MessagesPublished
    | RepliesTaken
    | MessagesTaken
    | Redelivered
    | BacklogSeen
    | LedgerMeasured
    | RequestRefused
)
Listener: TypeAlias = Callable[[Any], None]

_log = Log("events")
_changing = Lock()
_listeners: tuple[Listener, ...] = ()


def emit(event: Event) -> None:
    """Tell all listeners."""
    for one in _listeners:
        try:
            one(event)
        except Exception as error:
            _log.error("a listener failed", listening_to=type(event).__name__, error=repr(error))


def listen(callback: Listener) -> Callable[[], None]:
    """Hear every event of this process from now on; returns the way to stop that."""
    global _listeners
    with _changing:
        _listeners = (*_listeners, callback)

    def unlisten() -> None:
        global _listeners
        with _changing:
            _listeners = tuple(one for one in _listeners if one is not callback)

    return unlisten


def is_heard() -> bool:
    """Whether there is a listener: events that cost work to gather are skipped without one."""
    return bool(_listeners)
