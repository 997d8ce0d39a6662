"""Quotas: how many schedules and runs by hand a namespace may have, and the refusal where it asks for
more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from fencepost.errors import QuotaExceeded
from fencepost.model.identifiers import Namespace
from fencepost.model.quotas import Quota, Quotas

LOOKED_AT = 20
"""The number of fire times among which the shortest period is looked for. It is looked for in two stretches
where a part of the trigger may fire often."""


def room_for_schedules(namespace: Namespace, quotas: Quotas) -> Callable[[int, int], None]:
    """Refuses more schedules where they would be too many."""

    def check(there: int, more: int) -> None:
        if there + more > quotas.schedules:
            gets = f", would get {more} more" if more > 1 else ""
            said = f"has {there} schedules{gets}, and its quota is {quotas.schedules}; remove some"
            raise _exceeded(namespace, Quota.SCHEDULES, said)

    return check


def check_interval(namespace: Namespace, quotas: Quotas, looked_at: Iterable[Sequence[datetime]]) -> None:
    """Refuse a schedule that fires more often than it may, by some stretches of its fire times."""
    pairs = (pair for fire_times in looked_at for pair in pairwise(fire_times))
    periods = [(later - earlier).total_seconds() for earlier, later in pairs]
    if periods and min(periods) < quotas.interval_s:
        said = f"a schedule may fire every {quotas.interval_s:g} s at most, this one fires {min(periods):g} s"
        raise _exceeded(namespace, Quota.INTERVAL_S, f"{said} after another time; let it fire less often")


def check_enqueues(namespace: Namespace, quotas: Quotas, asked: int, left: int, at_once_max: int) -> None:
    """Refuse runs by request, all of them, where the namespace may make fewer at this moment."""
    if asked <= left:
        return
    per_s = quotas.enqueues_per_s
    runs = "1 run" if asked == 1 else f"{asked} runs"
    said = f"asks for {runs} and may make {left} now, as its quota is {per_s:g} per second"
    if asked > at_once_max:
        raise _exceeded(namespace, Quota.ENQUEUES_PER_S, f"{said}; ask for at most {at_once_max} at once")
    wait_s = math.ceil((asked - left) / per_s)
    raise _exceeded(namespace, Quota.ENQUEUES_PER_S, f"{said}; try again in {wait_s} s", wait_s)


def _exceeded(namespace: Namespace, quota: Quota, said: str, retry_in_s: int | None = None) -> QuotaExceeded:
    remedy = f"or have quota_{quota} raised for all, or quota_exceptions for this namespace"
    return QuotaExceeded(f"namespace {namespace}: {said}, {remedy}", quota, retry_in_s)
