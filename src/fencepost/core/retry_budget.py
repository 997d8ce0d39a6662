"""Retry budget: a storm of failures does not become a storm of retries.

Every first attempt of a job brings a share of a token, every retry takes a whole one, and the balance never
exceeds a reserve. While tokens last, retries follow the exponential delays. Without one the run is not given
up: its retry waits for between half the cap and the whole cap instead. So over any stretch of time

    fast retries ≤ RESERVE + share × first attempts

The reserve is for jobs that run seldom: two bad runs of the default policy fit into it. The balance
belongs to one worker process and is forgotten with it. Because a process brings in only what its own first
attempts bring, the share holds for the whole fleet too, over one reserve a process.
"""

from __future__ import annotations

from fencepost.model.run import Claim, RunRecord

RESERVE = 10
_TOKEN = 1_000_000
"""Counted in millionths: a fifth of a token, five times, is a whole one."""


def is_first(run: Claim | RunRecord) -> bool:
    """Whether its attempt is the first since it was enqueued or last replayed."""
    return run.attempt - run.attempts_before_replay == 1


class RetryBudget:
    """One job's balance in one process."""

    __slots__ = ("_balance", "_share")

    def __init__(self, share: float) -> None:
        assert 0 <= share <= 1
        self._share = round(share * _TOKEN)
        self._balance = RESERVE * _TOKEN

    @property
    def balance(self) -> float:
        """How many retries it would still pay for."""
        return self._balance / _TOKEN

    def earn(self) -> None:
        """A run's first attempt began."""
        self._balance = min(self._balance + self._share, RESERVE * _TOKEN)

    def take(self) -> bool:
        """Pay for one retry; False where the budget is spent."""
        if self._balance < _TOKEN:
            return False
        self._balance -= _TOKEN
        return True
