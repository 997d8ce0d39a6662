"""Limits: never more of a job run than may, of each key, and they never start faster than its rate.

What runs is what the ledger's rows say, in the order in which they were written. The limits are those of the
job's spec at the end of the history, so this is for histories in which nobody changes them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

from fencepost.model.identifiers import JobName, Namespace, RunKey
from fencepost.model.limits import JobLimit
from fencepost.model.run import RunRecord, RunState
from tests.history.findings import Kind, Looked, bounded
from tests.history.model import History, Violation

NEEDS = frozenset({"changes", "jobs"})
TOO_MANY = Kind("limits", "too many at once")
TOO_FAST = Kind("limits", "too many in too short a time")
KINDS = (TOO_MANY, TOO_FAST)
ROUNDING = timedelta(microseconds=10)


@bounded
def check(history: History, looked: Looked) -> Iterator[Violation]:
    """See the module."""
    running: dict[tuple[Namespace, JobName, str], set[RunKey]] = defaultdict(set)
    started: dict[tuple[Namespace, JobName], list[datetime]] = defaultdict(list)
    for change in history.changes:
        run, spec = change.run, history.jobs.get(change.run.job)
        if spec is None or spec.limit is None:
            continue
        here = running[run.namespace, run.job, spec.limit.slot_of(run.payload)]
        here.discard(run.run_key)
        if change.starts:
            looked["starts"] += 1
            yield from _check_slots(run, spec.limit, here)
            before = started[run.namespace, run.job]
            before.append(run.started_at or change.at)
            yield from _check_rate(run, spec.limit, before)
        if change.after is not None and change.after.state is RunState.RUNNING:
            here.add(run.run_key)


def _check_slots(run: RunRecord, limit: JobLimit, beside: set[RunKey]) -> Iterator[Violation]:
    if limit.concurrency is not None and len(beside) >= limit.concurrency:
        yield TOO_MANY.found(f"{run.run_key} began beside {sorted(beside)[:3]}")


def _check_rate(run: RunRecord, limit: JobLimit, starts: list[datetime]) -> Iterator[Violation]:
    """In no stretch that ends here more than its intervals and one burst."""
    if limit.every_s is None:
        return
    for number, first in enumerate(reversed(starts), start=1):
        earned = (starts[-1] - first + ROUNDING) / timedelta(seconds=limit.every_s)
        if number > earned + limit.burst:
            yield TOO_FAST.found(f"{run.run_key} is number {number} since {first}")
            return
