"""What lists, boards and live streams read of the ledger, small enough to be read often."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any

from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Fence, JobName, Namespace, NodeId, RunKey, ScheduleId
from fencepost.model.missed import MissedRange
from fencepost.model.run import Origin, RunState, lateness_s
from fencepost.model.times import EPOCH

COUNTED_MAX = 10_000
"""The counts of lists and streams stop here: a larger count is `many`, and shown so."""
ERROR_SHOWN_MAX = 300


@dataclass(frozen=True, slots=True)
class RunMark:
    """One cell of a schedule's strip. `late_s` is how long after it was due its first attempt began
    (`lateness_s`), `took_s` how long the last one took."""

    run_key: RunKey
    fire_time: datetime
    state: RunState
    origin: Origin
    late_s: float | None
    took_s: float | None
    attempt: int


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Runs of one schedule and one stretch of time that are in the same state, on time or late: how many they
    are, and the greatest of their keys, which of ticks is that of the latest."""

    state: RunState
    late: bool
    runs: int
    run_key: RunKey


@dataclass(frozen=True, slots=True)
class ScheduleOutcomes:
    """What became of the runs of one schedule, by the number of the stretch of time in which they fired.
    `known_from`: what fired then or earlier is not in it, because there is more than was asked for."""

    stretches: Mapping[int, tuple[Outcomes, ...]] = field(default_factory=dict)
    known_from: datetime | None = None
    missed: tuple[MissedRange, ...] = ()
    """Ticks that were missed without a run, the oldest first."""


@dataclass(frozen=True, slots=True)
class TrafficBucket:
    """The runs whose fire time lies in [at, at + bucket): how many are in each state, how late those that
    began did so, and how long the last attempts of those that ended took. A percentile is the least value
    that this share of them does not exceed."""

    at: datetime
    counts: Mapping[RunState, int] = field(default_factory=dict)
    late_p50_s: float | None = None
    late_p95_s: float | None = None
    late_max_s: float | None = None
    took_p50_s: float | None = None
    took_p95_s: float | None = None
    took_max_s: float | None = None


@dataclass(frozen=True, slots=True)
class RunNews:
    """A run that began, failed for now, or ended, with the first line of its error."""

    namespace: Namespace
    run_key: RunKey
    schedule_id: ScheduleId | None
    job: JobName
    state: RunState
    origin: Origin
    fire_time: datetime
    run_at: datetime
    started_at: StoreTime | None
    finished_at: StoreTime | None
    attempt: int
    fence: Fence
    worker: NodeId | None
    error: str | None
    at: StoreTime
    """When that happened."""
    first_started_at: StoreTime | None = None
    due_at: datetime | None = None

    @property
    def late_s(self) -> float | None:
        """See `lateness_s`."""
        return lateness_s(self.due_at, self.run_at, self.first_started_at)


@dataclass(frozen=True, slots=True)
class Standing:
    """How one namespace stands: due and not held, running, dead, held, and its closed gates; each counted up
    to `COUNTED_MAX`. `schedules_at` is when a schedule of it last changed."""

    ready: int = 0
    running: int = 0
    dead: int = 0
    held: int = 0
    gates: int = 0
    oldest_ready_s: float | None = None
    schedules_at: StoreTime | None = None


@dataclass(frozen=True, slots=True)
class Attention:
    """What waits for a person at that moment: dead runs, runs that an operator, a freeze or a gate holds, and
    closed gates. Runs that only wait for their turn are not among them."""

    at: StoreTime
    dead: int = 0
    held: int = 0
    gates: int = 0


@dataclass(frozen=True, slots=True)
class News:
    """What happened lately, the latest first, and how every namespace stands. `cut`: there was more than
    the call asked for. `leases_at` is when a shard last changed hands."""

    at: StoreTime
    runs: tuple[RunNews, ...] = ()
    cut: bool = False
    standings: Mapping[Namespace, Standing] = field(default_factory=dict)
    leases_at: StoreTime | None = None


def bucket_start(moment: datetime, bucket_s: int) -> datetime:
    """The beginning of the bucket in which a moment lies; buckets are counted from 1970."""
    size = timedelta(seconds=bucket_s)
    return EPOCH + (moment - EPOCH) // size * size


def outcomes_of(
    runs: Sequence[Mapping[str, Any]], edges: Sequence[datetime], each: int, late_s: float
) -> ScheduleOutcomes:
    """What became of these runs of one schedule, the latest `each` of them first. A run has `run_key`,
    `fire_time`, `state` as it is shown, `origin`, `run_at`, `due_at` and `first_started_at`."""
    known_from = runs[-1]["fire_time"] if len(runs) == each else None
    found: dict[int, dict[tuple[RunState, bool], list[RunKey]]] = {}
    for run in runs:
        if run["fire_time"] == known_from:
            break
        kinds = found.setdefault(bisect_right(edges, run["fire_time"]) - 1, {})
        kinds.setdefault((RunState(run["state"]), _is_late(run, late_s)), []).append(run["run_key"])
    return ScheduleOutcomes(
        {
            number: tuple(Outcomes(*kind, len(keys), max(keys)) for kind, keys in sorted(kinds.items()))
            for number, kinds in sorted(found.items())
        },
        known_from,
    )


def _is_late(run: Mapping[str, Any], late_s: float) -> bool:
    late = lateness_s(run["due_at"], run["run_at"], run["first_started_at"])
    return run["origin"] == Origin.CATCH_UP or (late is not None and late > late_s)


def every_bucket(
    found: Iterable[TrafficBucket], since: datetime, until: datetime, bucket_s: int
) -> list[TrafficBucket]:
    """A bucket for every stretch up to `until`, empty where nothing was found."""
    known = {one.at: one for one in found}
    first, last = bucket_start(since, bucket_s), bucket_start(until, bucket_s)
    steps = (last - first) // timedelta(seconds=bucket_s)
    moments = (first + timedelta(seconds=bucket_s * step) for step in range(steps + 1))
    return [known.get(at) or TrafficBucket(at) for at in moments]


def percentile(ascending: Sequence[float], part: float) -> float | None:
    """The least value that this share of the values does not exceed."""
    return ascending[math.ceil(part * len(ascending)) - 1] if ascending else None


def shown_error(error: str | None) -> str | None:
    """The first line of an error, as far as it fits into a list."""
    return None if error is None else error.partition("\n")[0][:ERROR_SHOWN_MAX]
