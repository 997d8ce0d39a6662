"""I7: the overlap policy holds at every instant, by the ledger's own order.

A run is unfinished from its first attempt to its end, the waits between attempts included, and every run of
the schedule counts, wherever it comes from. The number of unfinished runs grows only when a first attempt
begins (the first since a replay, too), so that this is where it is held against the policy of that run's
version. An edit to a stricter policy stops nobody: it counts for those who come after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fencepost.model.identifiers import Namespace, RunKey, ScheduleId
from fencepost.model.policies import Overlap
from fencepost.model.run import RunRecord
from tests.history import policies
from tests.history.findings import Kind, Looked, bounded
from tests.history.model import History, Violation
from tests.history.moves import ENDED

NEEDS = frozenset({"changes", "versions"})
TOO_MANY = Kind("I7", "too many at once")
NO_VERSION = Kind("I7", "started under no version")
KINDS = (TOO_MANY, NO_VERSION)


@bounded
def check(history: History, looked: Looked) -> Iterator[Violation]:
    """See the module."""
    by_version = {
        (schedule_id, one.version): one.spec.overlap
        for schedule_id, versions in history.versions.items()
        for one in versions
    }
    unfinished: dict[tuple[Namespace, ScheduleId], set[RunKey]] = defaultdict(set)
    for change in history.changes:
        run = change.run
        if run.schedule_id is None:
            continue
        here = unfinished[run.namespace, run.schedule_id]
        begun = run.run_key in here
        here.discard(run.run_key)
        if change.starts and not begun:
            looked["first attempts"] += 1
            policy = by_version.get((run.schedule_id, run.version))
            yield from _check_start(run, policy, here)
        if change.after is not None and _is_unfinished(change.after):
            here.add(run.run_key)


def _check_start(run: RunRecord, policy: Overlap | None, beside: set[RunKey]) -> Iterator[Violation]:
    if policy is None:
        yield NO_VERSION.found(run.run_key)
        return
    most = policies.at_once_max(policy)
    if most is not None and len(beside) >= most:
        yield TOO_MANY.found(f"{run.run_key} ({policy}) began beside {sorted(beside)[:3]}")


def _is_unfinished(run: RunRecord) -> bool:
    return run.fence > 0 and run.state not in ENDED
