"""The planner's reading and writing: cursors in, plans out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from datetime import datetime
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Epoch, JobName, Namespace, Queue, ScheduleId, Shard
from fencepost.model.missed import MissedTicks
from fencepost.model.schedule import ScheduleSpec

CursorPlace: TypeAlias = tuple[Namespace, ScheduleId, int]
"""A version of a schedule, which has one cursor."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far one version of a schedule is planned, and where its runs go.

    `until` is the end of the version's time in force, None while it has none: nothing later is planned.
    `tzdata` is the release of the zone rules by which it was last planned.
    `spec` is None where this release cannot read it: in a rolling deploy an old node meets a spec of newer
    code, and leaves it to a node that can read it.
    """

    namespace: Namespace
    schedule_id: ScheduleId
    shard: Shard
    version: int
    planned_through: datetime
    spec: ScheduleSpec | None
    queue: Queue
    priority: int
    until: datetime | None = None
    tzdata: str = field(default="", compare=False)
    touched: int = field(default=0, compare=False)
    """How often a writer other than a planner has written ticks of the version."""

    @property
    def place(self) -> CursorPlace:
        """The version of a schedule that the cursor belongs to."""
        return self.namespace, self.schedule_id, self.version


@dataclass(frozen=True, slots=True)
class PlanningWindow:
    """The cursors that have ticks up to `through`, the first `limit` of them."""

    now: StoreTime
    through: datetime
    cursors: tuple[Cursor, ...]


class Tick(NamedTuple):
    """A fire time, and when its run is due: at once, or later where the schedule spreads its load.

    A tick that is late already when it is planned, and still runs, is a catch-up run from the start.
    """

    fire_time: datetime
    run_at: datetime
    catches_up: bool = False


class Fate(Enum):
    """What happens to a tick that is written by name."""

    PLANNED = auto()
    HELD = auto()
    SKIPPED = auto()


@dataclass(frozen=True, slots=True)
class Plan:
    """The next ticks of one version: written together with the cursor's advance, or not at all.

    `planned_through` never falls; `next_fire_at` is when the planner needs to look again, None when the
    version has no more fire times. `tzdata` is the release of the zone rules that it was computed with.
    """

    cursor: Cursor
    epoch: Epoch
    ticks: tuple[Tick, ...]
    planned_through: datetime
    next_fire_at: datetime | None
    tzdata: str
    missed: tuple[MissedTicks, ...] = ()
    """Ticks before all of `ticks` that are too late already and are counted as ranges."""

    def counted_through(self, missed: MissedTicks) -> datetime:
        """How far the range of these missed ticks reaches: to the cursor's new place, unless ticks follow."""
        last = missed is self.missed[-1] and not self.ticks
        return self.planned_through if last else missed.fire_times[-1]

    @property
    def job(self) -> JobName:
        """What its runs will run; a cursor without a spec is never planned."""
        assert self.cursor.spec is not None
        return self.cursor.spec.job


@dataclass(frozen=True, slots=True)
class PlanReceipt:
    """What the ledger did with a batch of plans.

    `stale` are shards whose epoch the ledger no longer accepts: nothing of theirs was written.
    `dropped` are the places of plans whose version had been closed or advanced meanwhile, or that another
    transaction is changing just now; they changed nothing.
    """

    runs_written: int
    stale: tuple[Shard, ...] = ()
    dropped: tuple[CursorPlace, ...] = ()

    @property
    def outdated(self) -> int:
        """How many plans were dropped."""
        return len(self.dropped)

    def written(self, plans: Iterable[Plan]) -> Iterator[Plan]:
        """The plans of the batch that were carried out."""
        without = set(self.dropped)
        return (
            one for one in plans if one.cursor.shard not in self.stale and one.cursor.place not in without
        )


@dataclass(frozen=True, slots=True)
class Outlived:
    """A version in force that was last planned by older zone rules.

    `planned` are the fire times of its planned runs that lie in the future; `next_fire_at` is what the older
    rules said comes after `planned_through`.
    """

    cursor: Cursor
    next_fire_at: datetime
    planned: tuple[datetime, ...]
