"""A run: one logical execution, its states, and what the ledger says of it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import IntFlag, StrEnum
from typing import NamedTuple, TypeAlias

from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.enqueueing import Unique
from fencepost.model.identifiers import (
    DEFAULT_QUEUE,
    Epoch,
    Fence,
    JobName,
    Namespace,
    NodeId,
    Queue,
    RunKey,
    ScheduleId,
)
from fencepost.model.json import JsonObject

STOPPED_ON_REQUEST = "stopped on request"
SNOOZED = "snoozed"
"""How an attempt ended that snoozed its run."""
SEARCHED_MAX = 25_000
"""How many runs a store reads in a search without an index, before it reports how far it came."""

RunPlace: TypeAlias = tuple[datetime, RunKey]
"""Where a run stands in a list: its fire time and its key."""


class RunState(StrEnum):
    """The state of a run; the table of its moves is in `core.lifecycle`."""

    PLANNED = "planned"
    READY = "ready"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    SKIPPED = "skipped"
    MISSED = "missed"
    CANCELLED = "cancelled"
    WITHDRAWN = "withdrawn"


class Origin(StrEnum):
    """Where a run comes from."""

    LIVE = "live"
    """A tick that was planned ahead, or a run enqueued by hand."""
    MANUAL = "manual"
    """An extra tick that a person or a program asked for."""
    CATCH_UP = "catch_up"
    """A tick that came late and still runs."""
    BACKFILL = "backfill"
    REPLAY = "replay"
    """A run that had ended and was replayed."""


LIVE_ORIGINS = frozenset({Origin.LIVE, Origin.MANUAL})
"""Runs that come as they are due; all others come after them."""


class Hold(IntFlag):
    """Why no worker may start a waiting run. Each reason comes and goes by itself."""

    NONE = 0
    OPERATOR = 1
    """An operator holds this run by name."""
    FROZEN = 2
    """Its schedule is frozen."""
    GATE = 4
    """The catch-up gate of its schedule is closed."""
    PARKED = 8
    """It waits for its turn among the runs of its schedule."""
    LIMITED = 16
    """It waits for a slot of its job: all slots, of its key where there is one, are taken."""
    PACED = 32
    """It is in the limit queue of its job: until the rate lets it go, or a claimer looks at the queue."""


IN_TURN = Hold.PARKED | Hold.LIMITED | Hold.PACED
"""Holds that end by themselves when it is the run's turn. A run has one of these at a time."""


REPLAYABLE = frozenset(
    {RunState.SUCCEEDED, RunState.DEAD, RunState.SKIPPED, RunState.MISSED, RunState.CANCELLED}
)
"""The states from which an operator can replay a run."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A row of the ledger, in the order in which people read it."""

    namespace: Namespace
    run_key: RunKey
    schedule_id: ScheduleId | None
    job: JobName
    fire_time: datetime
    version: int
    state: RunState
    reason: str | None
    attempt: int
    fence: Fence
    epoch: Epoch
    run_at: datetime
    started_at: StoreTime | None
    finished_at: StoreTime | None
    worker: NodeId | None
    error: str | None
    queue: Queue
    priority: int
    payload: JsonObject
    progress: str | None = None
    cancel_requested: bool = False
    origin: Origin = Origin.LIVE
    held: Hold = Hold.NONE
    blocked_by: RunKey | None = None
    """The run that kept this one from starting."""
    first_started_at: StoreTime | None = None
    """When its first attempt began, since it was last replayed."""
    attempts_before_replay: int = 0
    """How many attempts it had had before it was last replayed."""
    backfill_id: int | None = None
    alive_until: datetime | None = None
    note: str | None = None
    """What the job is at, in its own words."""
    progress_at: StoreTime | None = None
    """When the ledger last got progress from the job."""
    expires_at: datetime | None = None
    """When it ends as missed unless its first attempt has begun."""
    due_at: datetime | None = None
    """When its first attempt was due, once a retry has moved `run_at`."""
    created_at: StoreTime | None = None
    """When it was written; None where an earlier release did."""

    @property
    def late_s(self) -> float | None:
        """See `lateness_s`."""
        return lateness_s(self.due_at, self.run_at, self.first_started_at)

    @property
    def updated_at(self) -> StoreTime | None:
        """When it last began, made progress or ended; before that, when it was written. It is computed, so
        that nothing more is written."""
        moments = (
            self.created_at,
            self.first_started_at,
            self.started_at,
            self.progress_at,
            self.finished_at,
        )
        return max((one for one in moments if one is not None), default=None)


def lateness_s(due_at: datetime | None, run_at: datetime, first_started_at: datetime | None) -> float | None:
    """How long after it was due the first attempt of a run began; None where none has. It is unknown too
    where an earlier release has retried the run: nothing begins before it is due, so its time was moved."""
    if first_started_at is None or (due_at is None and first_started_at < run_at):
        return None
    return max((first_started_at - (due_at or run_at)).total_seconds(), 0.0)


def took_s(started_at: datetime | None, finished_at: datetime | None) -> float | None:
    """How long the last attempt of a run took; None where none has ended."""
    if started_at is None or finished_at is None:
        return None
    return (finished_at - started_at).total_seconds()


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run enqueued by hand, due at once unless `run_at` says otherwise: at an instant, or after a delay."""

    run_key: RunKey
    job: JobName
    payload: JsonObject
    queue: Queue
    priority: int
    run_at: datetime | timedelta | None = None
    expires: datetime | timedelta | None = None
    """When it ends as missed unless it has begun: at an instant, or after a delay from when it is due."""
    unique: Unique | None = None
    """The name of which it is to be the only run, as the ledger keeps it."""

    @property
    def is_plain(self) -> bool:
        """Whether the row has no more fields than every run has."""
        return self.expires is None and not isinstance(self.run_at, timedelta)


@dataclass(frozen=True, slots=True)
class Predecessor:
    """A run that ended before this one was enqueued: how, and what it left."""

    key: RunKey
    job: JobName
    state: RunState
    result: str | None = None
    """What it returned: a text as it is, anything else as JSON; None where it returned nothing."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One attempt of one run, granted to one worker under one fence."""

    namespace: Namespace
    run_key: RunKey
    schedule_id: ScheduleId | None
    job: JobName
    fire_time: datetime
    version: int
    attempt: int
    fence: Fence
    epoch: Epoch
    payload: JsonObject
    run_at: datetime
    started_at: StoreTime
    previous: datetime | None = None
    first_started_at: StoreTime | None = None
    """When the first attempt began, since the run was last replayed."""
    attempts_before_replay: int = 0
    """How many attempts it had had before it was last replayed."""
    queue: Queue = DEFAULT_QUEUE
    origin: Origin = Origin.LIVE
    after: tuple[Predecessor, ...] = ()
    """The runs that it followed, where its job runs after others."""

    @property
    def ticket(self) -> Ticket:
        """What every later write of this attempt must show."""
        return Ticket(self.namespace, self.run_key, self.attempt, self.fence)


@dataclass(frozen=True, slots=True)
class Ticket:
    """Proof of ownership: a write is accepted only where attempt and fence are still the row's."""

    namespace: Namespace
    run_key: RunKey
    attempt: int
    fence: Fence


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended: the run's next state, and `retry_in_s` where that is `ready`. An attempt that had
    not `begun` is given back, and does not count; nor does one that `snoozed`."""

    ticket: Ticket
    state: RunState
    reason: str | None = None
    error: str | None = None
    detail: str | None = None
    output: str | None = None
    retry_in_s: float | None = None
    begun: bool = True
    snoozed: bool = False


class Receipt(StrEnum):
    """The ledger's answer to an outcome."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"
    """The same attempt had reported already; its first report stands."""
    REFUSED = "refused"
    """The run belongs to a later attempt, or another call has ended it."""


class Ordered(NamedTuple):
    """A run after an operator's command about it, and why the command was refused, where it was."""

    run: RunRecord
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Pulse:
    """The ledger's answer to a heartbeat."""

    owned: bool
    cancel_requested: bool = False


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """A job's progress; fields that it leaves out stay as they were."""

    ticket: Ticket
    progress: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that is kept by itself: one that failed, was lost, or left output."""

    attempt: int
    fence: Fence
    worker: NodeId | None
    started_at: StoreTime | None
    finished_at: StoreTime
    outcome: str
    error: str | None
    detail: str | None
    output: str | None


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs to list, newest fire time first, those of one fire time by descending key. `after` is the
    last run of the page before: what is behind it in that order is never listed twice, and nothing that stays
    is left out. For a job, an origin, an error, a text, a worker, a queue or a mixture of states a store may
    have no index. It then looks through the newest `searched_max` runs behind that place, or the few more of
    their last fire time, and reports how far it came (`RunList`). So a search for what is not there ends."""

    schedule_id: ScheduleId | None = None
    job: JobName | None = None
    state: RunState | None = None
    since: datetime | None = None
    until: datetime | None = None
    limit: int = 50
    origin: Origin | None = None
    error: str | None = None
    """Only runs whose error contains this."""
    backfill_id: int | None = None
    held: bool | None = None
    after: RunPlace | None = None
    text: str | None = None
    """Only runs whose key contains this."""
    worker: NodeId | None = None
    queue: Queue | None = None
    states: tuple[RunState, ...] = ()
    """Only runs in one of these, where there are any."""
    searched_max: int = SEARCHED_MAX


class RunList(list[RunRecord]):
    """A page of runs. `searched_to` is set where the page was not full and the store did not look through all
    runs: other matches are behind that place, and the next page begins there, even if this one is empty."""

    def __init__(self, runs: Iterable[RunRecord] = (), searched_to: RunPlace | None = None) -> None:
        super().__init__(runs)
        self.searched_to = searched_to

    def following(self, shown: int) -> RunPlace | None:
        """Where the next page begins, if this page shows `shown` of these runs; None where no run is left."""
        if len(self) > shown:
            return self[shown - 1].fire_time, self[shown - 1].run_key
        return self.searched_to
