"""Going through the limit queues of jobs, the same way in every store.

A limit queue is gone through lane by lane, in the order of the worker's lane limits, and as far as they say:
what is taken for one queue is not taken from the share of another. Runs behind a head in their own queue, in
a lane without a lane limit, come after all lanes that have one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import TypeAlias

from fencepost.model.claiming import LaneLimit
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import JobName, Queue, RunKey
from fencepost.model.limits import Candidate, Limiter, LimitFacts, LimitVerdict, Waiting
from fencepost.model.run import Hold
from fencepost.rules.allowances import candidates_max

KnownLimits: TypeAlias = Mapping[JobName, LimitFacts]


@dataclass(frozen=True, slots=True)
class Standing:
    """A run in the limit queue of its job; `reason` is the last one that it was given."""

    job: JobName
    run_key: RunKey
    queue: Queue
    priority: int
    run_at: datetime
    slot: str
    is_tick: bool
    reason: str | None


@dataclass(slots=True)
class Passage:
    """The result of going through the limit queues. A tick whose turn it is becomes due, to be judged; it
    uses up nothing until it starts."""

    begun: list[Candidate] = field(default_factory=list)
    due: list[RunKey] = field(default_factory=list)
    waits: list[Waiting] = field(default_factory=list)
    """Runs whose reason changes; a run that waits for the rate as before is not among them."""
    full: set[tuple[JobName, str]] = field(default_factory=set)
    """The slots that have no place left for one of these."""
    paid: dict[JobName, LimitVerdict] = field(default_factory=dict)


@dataclass(slots=True)
class _Quota:
    """How many runs may be taken of each lane, of each queue and in all."""

    room: int
    lanes: dict[tuple[Queue, int], int]
    queues: dict[Queue, int]

    @classmethod
    def of(cls, walk: Iterable[LaneLimit], room: int) -> _Quota:
        lanes: dict[tuple[Queue, int], int] = {}
        queues: dict[Queue, int] = {}
        for one in walk:
            lanes.setdefault((one.queue, one.priority), one.most)
            queues[one.queue] = max(one.most, queues.get(one.queue, 0))
        return cls(room, lanes, queues)

    def left(self, queue: Queue, priority: int) -> int:
        return min(self.room, self.queues.get(queue, 0), self.lanes.get((queue, priority), self.room))

    def take(self, queue: Queue, priority: int, count: int) -> None:
        self.room -= count
        self.queues[queue] -= count
        if (queue, priority) in self.lanes:
            self.lanes[queue, priority] -= count


def looked_at(walk: Sequence[LaneLimit], limit: int, facts: Collection[LimitFacts]) -> int:
    """How many runs of a limit queue are read: no more than may start, where all wanted runs of one lane
    may."""
    free = (one.limit.concurrency - one.running[""] for one in facts if one.limit.concurrency is not None)
    all_may = bool(facts) and len(walk) == 1 and min(free, default=limit) >= limit
    return limit if all_may else candidates_max(limit)


def go_through(
    known: KnownLimits,
    standing: Iterable[Standing],
    walk: Sequence[LaneLimit],
    room: int,
    now: StoreTime,
    limiter: Limiter,
) -> Passage:
    """Ask the limiter about each lane of each limit queue in turn, until no more runs may start."""
    passage, quota, seen = Passage(), _Quota.of(walk, room), dict(known)
    begun: dict[JobName, list[Candidate]] = {}
    for lane in _in_order(standing, walk):
        first, rows = lane[0], {one.run_key: one for one in lane}
        left = quota.left(first.queue, first.priority)
        if left <= 0:
            continue
        candidates = tuple(Candidate(one.run_key, one.slot) for one in lane)
        facts = seen[first.job]
        verdict = limiter(replace(facts, candidates=candidates), now, left)
        seen[first.job] = replace(facts, running=verdict.running, paid_until=verdict.paid_until)
        starts = [one for one in verdict.starts if not rows[one.run_key].is_tick]
        quota.take(first.queue, first.priority, len(starts))
        begun.setdefault(first.job, []).extend(starts)
        passage.begun += starts
        passage.due += [one.run_key for one in verdict.starts if rows[one.run_key].is_tick]
        passage.waits += [one for one in verdict.waits if _has_to_be_told(one, rows[one.run_key])]
        passage.full |= {(first.job, one.slot) for one in verdict.waits if one.hold is Hold.LIMITED}
    for job, starts in begun.items():
        passage.paid[job] = limiter(replace(known[job], candidates=tuple(starts)), now, len(starts))
    return passage


def _in_order(standing: Iterable[Standing], walk: Sequence[LaneLimit]) -> list[list[Standing]]:
    """The runs of each lane of each limit queue, the lanes by their place in the walk."""
    places: dict[tuple[Queue, int], int] = {}
    for place, lane_limit in enumerate(walk):
        places.setdefault((lane_limit.queue, lane_limit.priority), place)
    lanes: dict[tuple[JobName, Queue, int], list[Standing]] = {}
    for one in sorted(standing, key=lambda one: (one.priority, one.run_at, one.run_key)):
        lanes.setdefault((one.job, one.queue, one.priority), []).append(one)
    return sorted(lanes.values(), key=lambda lane: places.get((lane[0].queue, lane[0].priority), len(walk)))


def _has_to_be_told(wait: Waiting, run: Standing) -> bool:
    return wait.hold is not Hold.PACED or wait.reason != run.reason
