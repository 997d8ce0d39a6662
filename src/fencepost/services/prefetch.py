"""Prefetch: while runs are short, more of them are claimed than there is room for.

A worker that claims only what it has room for, and whose runs end at once, spends its time waiting for the
store. So it claims a number more: those that it would begin within a moment, at the pace at which runs ended
while it was at work. They wait here, with a heartbeat like any run in progress, and begin in the order of
their claims as others end. A run that has not begun after a second is handed back to the ledger, at no cost
of an attempt.

Two kinds of runs are never prefetched: those that a crash would end for good, and those that take a place
which others of their job wait for. Of those a worker holds only as many as it may run at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec
from fencepost.ports.executor import Job
from fencepost.services.active import ActiveRun

MOMENT_S = 0.05
PATIENCE_S = 1.0
PACE_OF_MIN = 10
"""A pace is measured over at least this number of runs."""
PACE_MAX_S = 0.5
"""A pace that is older than this is not used."""


class Prefetch:
    """The runs that wait in one worker, at most `most`, and the pace at which its runs end."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.waiting: deque[tuple[ActiveRun, float]] = deque()
        self.ended = 0
        """How many runs have ended since the pace was measured."""
        self._measured_at_s = 0.0
        self._busy_since_s: float | None = None
        self._busy_s = 0.0
        self._pace = 0.0
        self.size = 0
        """How many may wait, by the last pace."""

    def add(self, active: ActiveRun, now_s: float) -> None:
        active.is_waiting = True
        self.waiting.append((active, now_s))

    def next(self) -> ActiveRun | None:
        """The run whose turn it is; None where nothing waits."""
        return self.waiting.popleft()[0] if self.waiting else None

    def stale(self, now_s: float) -> list[ActiveRun]:
        """Take out the runs that have waited for too long."""
        found = []
        while self.waiting and now_s - self.waiting[0][1] >= PATIENCE_S:
            found.append(self.waiting.popleft()[0])
        return found

    def stale_in_s(self, now_s: float) -> float | None:
        """When the first of them will have waited for too long; None where nothing waits."""
        return max(self.waiting[0][1] + PATIENCE_S - now_s, 0.0) if self.waiting else None

    @property
    def is_low(self) -> bool:
        """Whether so few runs wait that a claim would be large."""
        return len(self.waiting) <= self.size // 2

    def note_work(self, under_way: bool, now_s: float) -> None:
        """Runs are in progress from now on, or none is."""
        if self._busy_since_s is not None:
            self._busy_s += now_s - self._busy_since_s
        self._busy_since_s = now_s if under_way else None

    def measure(self, now_s: float) -> None:
        """Measure the pace anew, where enough runs have ended or the last one is old."""
        self.note_work(self._busy_since_s is not None, now_s)
        is_old = now_s - self._measured_at_s > PACE_MAX_S
        is_known = self.ended >= PACE_OF_MIN and self._busy_s > 0
        if is_old or is_known:
            pace = self.ended / self._busy_s if is_known else 0.0
            self._pace = pace if is_old else max(pace, (self._pace + pace) / 2)
            self.ended, self._busy_s, self._measured_at_s = 0, 0.0, now_s
            self.size = min(self._most, int(self._pace * MOMENT_S))


def not_prefetched(jobs: Mapping[JobName, Job]) -> frozenset[JobName]:
    """The jobs whose runs are never prefetched; see the module."""
    return frozenset(name for name, job in jobs.items() if _is_dear(job.spec))


def _is_dear(spec: JobSpec) -> bool:
    return spec.at_most_once or spec.retry.max_attempts == 1 or spec.limit is not None
