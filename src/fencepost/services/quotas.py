"""Quotas in use: counts the runs by request, and the refusals, of all callers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.clock import SystemClock
from fencepost.config import Settings
from fencepost.core.fair_share import Allowance
from fencepost.core.quotas import check_enqueues
from fencepost.errors import QuotaExceeded
from fencepost.model.identifiers import DEFAULT_NAMESPACE, Namespace
from fencepost.model.quotas import UNLIMITED, Quota, Quotas
from fencepost.telemetry.events import QuotaRefused, emit

CLOCK = SystemClock()
RESERVE_PASSES = 2
"""Beyond the horizon, which is planned at once at the start."""


class RunQuota:
    """How many runs a namespace may make by request. Every call that makes runs takes them from here before
    it writes, and gives back those that it did not make. A server counts all calls together; without an
    allowance nothing is counted."""

    def __init__(self, namespace: Namespace, quotas: Quotas, allowance: Allowance | None) -> None:
        self._namespace = namespace
        self._quotas = quotas
        self._allowance = allowance

    def take(self, count: int) -> None:
        """Take `count` runs, or refuse them all."""
        if self._allowance is not None:
            at_once_max = self._allowance.most(self._quotas.enqueues_per_s)
            with refusals_counted():
                check_enqueues(self._namespace, self._quotas, count, self._left(self._allowance), at_once_max)
            self._allowance.spend(self._namespace, count)

    def take_some(self, count_max: int) -> int:
        """Take as many as are left, up to `count_max`; none counts as a refusal."""
        if self._allowance is None:
            return count_max
        taken = max(0, min(count_max, self._left(self._allowance)))
        self._allowance.spend(self._namespace, taken)
        if not taken:
            emit(QuotaRefused(Quota.ENQUEUES_PER_S))
        return taken

    def give_back(self, count: int) -> None:
        """Return `count` runs that were taken and not made."""
        if self._allowance is not None:
            self._allowance.give_back(self._namespace, count)

    def _left(self, allowance: Allowance) -> int:
        return allowance.left(self._namespace, self._quotas.enqueues_per_s, CLOCK.monotonic())


UNCOUNTED = RunQuota(DEFAULT_NAMESPACE, UNLIMITED, None)
"""For callers that work on the store directly."""


def planning_allowance(settings: Settings) -> Allowance:
    """How many runs one node may plan, or backfill, for each namespace."""
    return Allowance(settings.horizon_s + RESERVE_PASSES * settings.plan_every_s)


@contextmanager
def refusals_counted() -> Iterator[None]:
    """Count a refusal inside the block, and raise it again."""
    try:
        yield
    except QuotaExceeded as error:
        count_refusal(error)
        raise


def count_refusal(error: QuotaExceeded) -> None:
    """Count a refusal that is returned and not raised."""
    emit(QuotaRefused(Quota(error.quota)))
