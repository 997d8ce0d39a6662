"""What a worker asks for, and what is known of a schedule when one of its ticks is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from datetime import datetime
from typing import TypeAlias

from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    DEFAULT_QUEUE,
    JobName,
    Namespace,
    NodeId,
    Queue,
    RunKey,
    ScheduleId,
)
from fencepost.model.job import LANES
from fencepost.model.json import JsonObject
from fencepost.model.policies import CatchUp, Overlap
from fencepost.model.run import Hold, Origin, RunState


@dataclass(frozen=True, slots=True)
class LaneLimit:
    """How many runs of one lane, a queue and a priority, a claim may take at most."""

    queue: Queue
    priority: int
    most: int


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What one worker can take on: which queues and jobs of its namespace, how long without a heartbeat.

    `lane_limits` say in which order the lanes are walked and how far; without any, every lane of the queues
    is walked, by priority."""

    worker: NodeId
    queues: tuple[Queue, ...]
    jobs: tuple[JobName, ...]
    alive_for_s: float
    namespace: Namespace = DEFAULT_NAMESPACE
    lane_limits: tuple[LaneLimit, ...] = ()

    def walk(self, limit: int) -> Sequence[LaneLimit]:
        """The lanes in the order in which they are to be walked."""
        if self.lane_limits:
            return self.lane_limits
        queues = sorted(set(self.queues))
        return [LaneLimit(queue, priority, limit) for priority in LANES for queue in queues]


@dataclass(frozen=True, slots=True, order=True)
class Head:
    """The first due run of a lane."""

    priority: int
    run_at: datetime
    queue: Queue = DEFAULT_QUEUE


@dataclass(frozen=True, slots=True)
class Outlook:
    """What waits for a worker: the head of each lane that has due runs, by kind. A *direct* run needs no
    verdict (enqueued by hand, or a retry). A *tick* is a scheduled run that no worker has started yet. A
    *lined* run is in the limit queue of its job. `next_due_at` is the first run of the future."""

    now: StoreTime
    directs: tuple[Head, ...]
    ticks: tuple[Head, ...]
    lined: tuple[Head, ...]
    next_due_at: datetime | None

    @property
    def direct(self) -> Head | None:
        """The first direct run by priority."""
        return min(self.directs, default=None)

    @property
    def tick(self) -> Head | None:
        """The first tick by priority."""
        return min(self.ticks, default=None)

    @property
    def is_anything_due(self) -> bool:
        return bool(self.directs or self.ticks or self.lined)


def nothing_due(now: StoreTime) -> Outlook:
    """The outlook where everything is frozen."""
    return Outlook(now, (), (), (), None)


@dataclass(frozen=True, slots=True)
class DueTick:
    """A due tick with the policy of the version that planned it. Its lateness is how long it has been due.

    `origin` says how it came to be judged: a *live* tick is judged for lateness; a tick that was admitted to
    catch-up, is filled in or replayed is not judged for it again. `at_once_max` is how many runs of its
    origin its schedule may have unfinished at a time. A `parked` tick waits for its turn already.
    """

    run_key: RunKey
    fire_time: datetime
    run_at: datetime
    overlap: Overlap
    catch_up: CatchUp
    origin: Origin = Origin.LIVE
    at_once_max: int = 1
    parked: bool = False
    job: JobName = field(default=JobName(""), compare=False)
    payload: JsonObject = field(default_factory=dict, compare=False)
    limited: bool = field(default=False, compare=False)
    """It waits for the limits of its job already."""
    is_new: bool = field(default=True, compare=False)
    """It was never told to wait."""


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run of the schedule that some worker has begun; `finished_at` is None while it is unfinished."""

    run_key: RunKey
    fire_time: datetime
    finished_at: StoreTime | None = None
    origin: Origin = Origin.LIVE
    cancel_requested: bool = False
    first_started_at: StoreTime | None = None
    """When its first attempt began; None where that was not recorded."""


@dataclass(frozen=True, slots=True)
class GateFacts:
    """What is known of catch-up. `waiting` are its ticks that no worker started and that came after the gate
    was last opened. `failed` says of its runs that ended since then whether they failed, the last one first.
    Neither is looked up where the gate is closed or no catch-up tick is due (`GateQuestion`)."""

    closed: bool = False
    waiting: int = 0
    failed: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class ScheduleFacts:
    """All that a verdict may depend on, read under a lock on the schedule.

    `due` holds the live ticks first, each group ascending by fire time, and may be cut at a limit;
    `newest_due` never is. Of the parked ticks behind live work only the first are there (`parked_max`). Ticks
    that an operator, a freeze or the gate holds are not among them.

    `unfinished` are runs that were started and have not ended (running, or waiting for a retry), by fire
    time. `finished` are the started runs that ended after the first of the due live ticks became due, the
    latest end first, at most `FINISHED_KEPT` of them. The run that a tick stood behind ended last before its
    turn came, so these few are enough however many ticks wait.

    `unplanned` is the newest fire time that has passed, that the planners have not written yet, and that a
    cursor knows, of the `VERSIONS_SEEN` newest versions: they were away for longer than their horizon. A
    cursor knows none where it only says up to when the planners have searched.
    """

    namespace: Namespace
    schedule_id: ScheduleId
    due: tuple[DueTick, ...]
    newest_due: datetime
    unfinished: tuple[StartedRun, ...]
    finished: tuple[StartedRun, ...]
    previous: datetime | None
    gate: GateFacts = GateFacts()
    unplanned: datetime | None = None


FINISHED_KEPT = 8
VERSIONS_SEEN = 8


def parked_max(room: int, schedules: int) -> int:
    """How many parked ticks of each of these schedules are among the facts: as many as may start if each of
    the others starts one."""
    return max(room - schedules + 1, 1)


@dataclass(frozen=True, slots=True)
class GateQuestion:
    """How far a store looks for `GateFacts`: as far as it can make a difference to any due tick's gate.

    Waiting ticks are counted only where one of them is new. All others were counted when they were new, and
    are fewer since; to count them again for every run would cost more than the run."""

    waiting_max: int
    of_last: int


def gate_question(due: Iterable[DueTick]) -> GateQuestion | None:
    """What to look up for these due ticks; None where none of them catches up."""
    ticks = [tick for tick in due if tick.origin is Origin.CATCH_UP]
    if not ticks:
        return None
    terms = [tick.catch_up.gate for tick in ticks]
    is_any_new = any(tick.is_new for tick in ticks)
    most = max(one.waiting_max for one in terms) + 1 if is_any_new else 0
    return GateQuestion(most, max(one.of_last for one in terms))


@dataclass(frozen=True, slots=True)
class Start:
    """The tick may begin now."""

    run_key: RunKey


@dataclass(frozen=True, slots=True)
class End:
    """The tick is accounted for without having run; `blocked_by` is the run that kept it from starting."""

    run_key: RunKey
    state: RunState
    reason: str
    blocked_by: RunKey | None = None


@dataclass(frozen=True, slots=True)
class Admit:
    """The tick is late and still runs: it becomes a catch-up run, below live work, and is held where the gate
    is closed. With a reason to wait, the same write parks it."""

    run_key: RunKey
    held: bool = False
    waits: str | None = None

    @property
    def hold(self) -> Hold:
        if self.held:
            return Hold.GATE
        return Hold.NONE if self.waits is None else Hold.PARKED


@dataclass(frozen=True, slots=True)
class Wait:
    """The tick waits for its turn: it is parked until a run of its schedule ends."""

    run_key: RunKey
    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """An unfinished run has to make way: it is asked to stop, or fenced off at once."""

    run_key: RunKey
    reason: str
    at_once: bool


@dataclass(frozen=True, slots=True)
class CloseGate:
    """Catch-up of this schedule is held back until an operator decides."""

    reason: str


Verdict: TypeAlias = Start | End | Admit | Wait | Stop | CloseGate
Judge: TypeAlias = Callable[[ScheduleFacts, StoreTime, int], Sequence[Verdict]]
"""(facts, the store's time, how many may start) → verdicts; a tick without one stays as it is."""
