"""Prefetch: while runs are short, more of them are claimed than there is room for.

A worker that claims only what it has room for, and whose runs end at once, spends its time waiting for the
store. So it claims as many more as it would begin within a moment, at the pace of late. They wait here, with
a heartbeat like any run in progress, and begin as others end. What has not begun after a second is handed
back to the ledger, and that costs it no attempt.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from fencepost.model.job import JobSpec
from fencepost.services.active import ActiveRun

MOMENT_S = 0.05
PATIENCE_S = 1.0
PACE_MIN_S, PACE_MAX_S = 0.01, 0.5
"""A pace is measured over the first at least; one that is older than the second says nothing."""


class Prefetch:
    """The runs that wait in one worker, at most `most`, and the pace at which its runs end."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.waiting: deque[tuple[ActiveRun, float]] = deque()
        self.ended = 0
        """How many runs have ended since the last look at the pace."""
        self._since_s = 0.0
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

    def look(self, now_s: float) -> None:
        """Measure the pace anew."""
        passed_s = now_s - self._since_s
        if passed_s >= PACE_MIN_S:
            pace = self.ended / passed_s
            self._pace = max(pace, (self._pace + pace) / 2) if passed_s < PACE_MAX_S else pace
            self.ended, self._since_s = 0, now_s
            self.size = min(self._most, int(self._pace * MOMENT_S))
