"""What the check-up looks at. A service gathers it beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum

from fencepost.core.checkup.findings import Point
from fencepost.model.caveat import Caveat
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Fence, JobName, Namespace, NodeId, RunKey, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.lease import LeaseTerms
from fencepost.model.run import RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.trigger import Trigger


class Watch(StrEnum):
    """What an alert should watch, by the command that shows it."""

    COMPLETENESS = "audit"
    LAG = "status"


class Effect(StrEnum):
    """What a change of the clocks does to the ticks of a trigger."""

    SKIPPED = "skipped"
    DOUBLED = "doubled"
    MOVED = "moved"
    UNTOLD = "untold"
    """It fires near the change, and its wall times are not its own to name."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A change of the clocks that touches a trigger, and the sentence that tells how."""

    effect: Effect
    sentence: str


@dataclass(frozen=True, eq=False, slots=True)
class Rhythm:
    """When a trigger fires, within the time that was searched. Schedules with the same trigger share one.

    The periods are the shortest and the longest among its next ticks, None where there are fewer than two.
    """

    trigger: Trigger
    period_min: timedelta | None = None
    period_max: timedelta | None = None
    fires: bool = True
    """Whether it still fires at all."""
    edges: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class JobSheet:
    """A job, as far as it can be seen.

    `takes_run` is whether its function is handed its run; None where its code is not here. A command always
    finds its key and fence in its environment (`is_command`)."""

    spec: JobSpec
    takes_run: bool | None = None
    is_command: bool = False
    watches: frozenset[Watch] = frozenset()


@dataclass(frozen=True, slots=True)
class ScheduleSheet:
    """A schedule under examination. `trouble` says why its trigger cannot be read; then it has no rhythm."""

    schedule_id: ScheduleId
    spec: ScheduleSpec
    job: JobSheet | None
    rhythm: Rhythm | None
    typical_run: timedelta | None = None
    trouble: str | None = None

    @property
    def period_min(self) -> timedelta | None:
        """The shortest time between two of its ticks."""
        return None if self.rhythm is None else self.rhythm.period_min


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings of the process that is to run; `pool_max` is None where the store has no pool."""

    retention: timedelta
    poll: timedelta
    rescue: timedelta
    """How long a run may be silent, at most, before it is taken from its worker."""
    concurrency: int
    pool_max: int | None = None
    lease_ttl: timedelta = timedelta(seconds=LeaseTerms.ttl_s)


@dataclass(frozen=True, slots=True)
class Replayed:
    """An operator has replayed a run."""

    run_key: RunKey
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class FencedOff:
    """An attempt whose run was taken away, and the fence that the run has now."""

    run_key: RunKey
    fence: Fence
    fence_now: Fence


@dataclass(frozen=True, slots=True)
class Paused:
    """The living node whose event loop stood still for longest within a day."""

    node_id: NodeId
    longest: timedelta


@dataclass(frozen=True, slots=True)
class LastWatch:
    """How the last run of a job that watches something ended."""

    run_key: RunKey
    state: RunState
    finished_at: datetime


@dataclass(frozen=True, slots=True)
class LedgerSheet:
    """What the ledger and the audit log show of the past; `runs_read` is how many of the last runs were
    searched for one that was fenced off."""

    dead: RunKey | None = None
    replayed: Replayed | None = None
    fenced_off: FencedOff | None = None
    runs_read: int = 0
    caveats: tuple[Caveat, ...] = ()
    watched: Mapping[Watch, LastWatch] = field(default_factory=dict)
    paused: Paused | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts. `ledger` is None where no store was asked, and `unasked` says why. `cuts` names the points
    at which the search was cut short."""

    namespace: Namespace
    now: datetime
    limits: Limits
    jobs: Mapping[JobName, JobSheet]
    schedules: tuple[ScheduleSheet, ...]
    ledger: LedgerSheet | None = None
    unasked: str = "no store was asked"
    cuts: Mapping[Point, str] = field(default_factory=dict)
    unserved: frozenset[JobName] = frozenset()
    """Jobs of active schedules that neither this target nor any running process has."""
