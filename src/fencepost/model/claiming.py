"""What a worker asks for, and what is known of a schedule when one of its ticks is judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    JobName,
    Namespace,
    NodeId,
    Queue,
    RunKey,
    ScheduleId,
)
from fencepost.model.run import RunState
from fencepost.model.schedule import CatchUp, Overlap


@dataclass(frozen=True, slots=True)
class Appetite:
    """What one worker can take on: which queues and jobs of its namespace, how long without a heartbeat."""

    worker: NodeId
    queues: tuple[Queue, ...]
    jobs: tuple[JobName, ...]
    alive_for_s: float
    namespace: Namespace = DEFAULT_NAMESPACE


@dataclass(frozen=True, slots=True)
class Head:
    """The first due run of a kind: the smaller one is served first."""

    priority: int
    run_at: datetime


@dataclass(frozen=True, slots=True)
class Outlook:
    """What waits for a worker. A *direct* run needs no judgement (enqueued by hand, or a retry); a
    *tick* is a scheduled run that nobody has started yet. `next_due_at` is the first of the future."""

    now: StoreTime
    direct: Head | None
    tick: Head | None
    next_due_at: datetime | None


@dataclass(frozen=True, slots=True)
class DueTick:
    """A due tick with the policy of the version that planned it. It is late by how long it has been due."""

    run_key: RunKey
    fire_time: datetime
    run_at: datetime
    overlap: Overlap
    catch_up: CatchUp


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run of the schedule that some worker has begun; `finished_at` is None while it is unfinished."""

    run_key: RunKey
    finished_at: StoreTime | None


@dataclass(frozen=True, slots=True)
class ScheduleFacts:
    """All that a verdict may depend on, read under a lock on the schedule.

    `due` is ascending by fire time and may be cut at a limit; `newest_due` never is. `unfinished` are
    runs that were started and have not ended (running, or waiting for a retry); `last_finished` is the
    started run that ended last.
    """

    namespace: Namespace
    schedule_id: ScheduleId
    due: tuple[DueTick, ...]
    newest_due: datetime
    unfinished: tuple[StartedRun, ...]
    last_finished: StartedRun | None
    previous: datetime | None


@dataclass(frozen=True, slots=True)
class Start:
    """The tick may begin now."""

    run_key: RunKey


@dataclass(frozen=True, slots=True)
class End:
    """The tick is accounted for without having run."""

    run_key: RunKey
    state: RunState
    reason: str


Verdict: TypeAlias = Start | End
Judge: TypeAlias = Callable[[ScheduleFacts, StoreTime, int], Sequence[Verdict]]
"""(facts, the store's time, how many may start) → verdicts; a tick without one stays due."""
