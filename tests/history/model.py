"""A history: all that was seen of one fleet over one ledger, from outside.

The recorders fill it in: the simulator as it goes, the drills from triggers in the database, from the logs of
the processes and from files that were synced to disk. The checkers read it. Times are the ledger's. What a
recorder cannot see it leaves empty, and says so in `unseen`: a checker that needs it then has no say, which
is told apart from a checker that found nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from fencepost.config import Settings
from fencepost.model.identifiers import JobName, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.missed import MissedRange
from fencepost.model.run import Receipt, RunRecord, RunState, Ticket
from fencepost.model.schedule import ScheduleVersion

START_OF_TIME = datetime.min.replace(tzinfo=UTC)
END_OF_TIME = datetime.max.replace(tzinfo=UTC)


class Change(NamedTuple):
    """One run's row before and after one write: nothing before it was written, nothing after it was pruned.

    Heartbeats are no changes. All changes of one row are in the order in which they were made, and so are all
    starts within one schedule."""

    at: datetime
    before: RunRecord | None
    after: RunRecord | None

    @property
    def run(self) -> RunRecord:
        """The row, whichever side has it."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def starts(self) -> bool:
        """Whether an attempt began."""
        if self.after is None or self.after.state is not RunState.RUNNING:
            return False
        return self.before is None or self.before.state is not RunState.RUNNING


class Pulse(NamedTuple):
    """A heartbeat that the ledger took: this attempt counts as alive until then."""

    at: datetime
    key: str
    fence: int
    alive_until: datetime


class PlanWrite(NamedTuple):
    """A planning write for one shard, as the ledger met it."""

    at: datetime
    shard: int
    epoch: int
    accepted: bool


class PlanSent(NamedTuple):
    """A planning write for one shard, the moment that it left its node: whether the lease store still called
    that node the holder, and whether something had happened that no holder can know of (the lease store lost
    its memory, the node's monotonic clock stood still)."""

    at: datetime
    node: str
    shard: int
    epoch: int
    held: bool
    excused: bool


class Registration(NamedTuple):
    """The ledger's record of who leads a shard, as it changed."""

    at: datetime
    shard: int
    epoch: int
    holder: str


class Report(NamedTuple):
    """The end of an attempt as its worker reported it, what the ledger said, and the row just before."""

    at: datetime
    ticket: Ticket
    receipt: Receipt
    before: RunRecord | None


class Effect(NamedTuple):
    """Something done outside of the system by an attempt, when it arrived there. The naive sink does all that
    it is asked to; the fenced sink takes from each schedule (or run by hand) only what carries a fence that
    is not older than any that it has seen."""

    at: datetime
    key: str
    attempt: int
    fence: int
    taken_by_fenced: bool


class Halt(NamedTuple):
    """Somebody paused or removed a schedule: asked for it then, and was told so by then."""

    schedule_id: ScheduleId
    since: datetime
    until: datetime


class Fault(NamedTuple):
    """Something bad, from when to when, and to whom; `until` of what is over at once is `since`."""

    kind: str
    since: datetime
    until: datetime
    whom: str = ""


@dataclass
class History:
    """See the module."""

    settings: Settings
    through: datetime = START_OF_TIME
    """Ticks are expected up to here, and accounted for by the end."""
    quiet_since: datetime = START_OF_TIME
    """The last fault was over by then."""
    ended_at: datetime = START_OF_TIME
    statement_s: float = 0.0
    """How long a statement may take between reading the clock and being seen: on a real server it may wait
    for a row in between."""
    changes: list[Change] = field(default_factory=list)
    pulses: list[Pulse] = field(default_factory=list)
    plan_writes: list[PlanWrite] = field(default_factory=list)
    plans_sent: list[PlanSent] = field(default_factory=list)
    registrations: list[Registration] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    effects_seen_through: datetime = END_OF_TIME
    """What was done by an attempt that had ended by then has arrived."""
    faults: list[Fault] = field(default_factory=list)
    halts: list[Halt] = field(default_factory=list)
    """Every pause and removal; between all other versions of a schedule there is no gap."""
    versions: Mapping[ScheduleId, Sequence[ScheduleVersion]] = field(default_factory=dict)
    ranges: Sequence[MissedRange] = ()
    jobs: Mapping[JobName, JobSpec] = field(default_factory=dict)
    acknowledged: list[str] = field(default_factory=list)
    """Keys of runs whose enqueuing was confirmed to a client."""
    published: set[str] = field(default_factory=set)
    """Keys of runs whose message a broker has had."""
    replies: set[tuple[str, int, int, str]] = field(default_factory=set)
    """Run key, attempt, fence and outcome of every reply that a processor has sent."""
    handled: list[Effect] = field(default_factory=list)
    """What processors did outside, as a sink saw it that compares the fence for each run."""
    arrived: dict[str, str] = field(default_factory=dict)
    """The messages of intakes that a broker has confirmed, by their ids, each with the key of its run."""
    unseen: frozenset[str] = frozenset()
    """Fields that this recorder cannot fill."""
    forgives: frozenset[str] = frozenset()
    """Invariants that this ledger does not promise (one that loses acknowledged writes, for instance)."""

    def starts(self) -> Iterable[Change]:
        """The beginnings of attempts."""
        return (one for one in self.changes if one.starts)


class Violation(NamedTuple):
    """A promise that was not kept."""

    invariant: str
    what: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.what}"
