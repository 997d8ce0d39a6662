"""Prefetch: while runs are short, more of them are claimed than there is room for.

A worker that claims only what it has room for, and whose runs end at once, spends its time waiting for the
store. So it claims as many more as it would begin within a moment, at the pace at which runs ended while it
was at work. They wait here, with a heartbeat like any run in progress, and begin as others end. What has not
begun after a second is handed back to the ledger, and that costs it no attempt.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from fencepost.model.job import JobSpec
from fencepost.services.active import ActiveRun

MOMENT_S = 0.05
PATIENCE_S = 1.0
PACE_OF_MIN = 10
"""A pace is that of so many runs at least."""
PACE_MAX_S = 0.5
"""A pace that is older than this says nothing."""


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
        """How many may wait, as of the last look at the pace."""

    def add(self, active: ActiveRun, spec: JobSpec, now_s: float) -> None:
        """Let a run wait. One that a crash would end for good, or that keeps others of its job from
        beginning, goes first."""
        goes_first = spec.at_most_once or spec.retry.max_attempts == 1 or spec.limit is not None
        (self.waiting.appendleft if goes_first else self.waiting.append)((active, now_s))

    def next(self) -> ActiveRun | None:
        """Whose turn it is; None where nothing waits."""
        return self.waiting.popleft()[0] if self.waiting else None

    def stale(self, now_s: float) -> Iterator[ActiveRun]:
        """Take out what has waited for too long."""
        late = [one for one in self.waiting if now_s - one[1] >= PATIENCE_S]
        for one in late:
            self.waiting.remove(one)
            yield one[0]

    @property
    def is_low(self) -> bool:
        """Whether so few wait that a claim is a large one."""
        return len(self.waiting) <= self.size // 2

    def is_at_work(self, busy: bool, now_s: float) -> None:
        """Whether runs are in progress from now on."""
        if self._busy_since_s is not None:
            self._busy_s += now_s - self._busy_since_s
        self._busy_since_s = now_s if busy else None

    def look(self, now_s: float) -> None:
        """Measure the pace anew."""
        self.is_at_work(self._busy_since_s is not None, now_s)
        is_old = now_s - self._measured_at_s > PACE_MAX_S
        if is_old or (self.ended >= PACE_OF_MIN and self._busy_s > 0):
            pace = self.ended / self._busy_s if self.ended >= PACE_OF_MIN and self._busy_s > 0 else 0.0
            self._pace = pace if is_old else max(pace, (self._pace + pace) / 2)
            self.ended, self._busy_s, self._measured_at_s = 0, 0.0, now_s
            self.size = min(self._most, int(self._pace * MOMENT_S))
