"""I12: what a client was told to be there was written once, and stays until retention takes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.history.findings import Kind, Looked, bounded
from tests.history.model import Change, History, Violation
from tests.history.moves import ENDED

NEEDS = frozenset({"changes", "acknowledged"})
LOST = Kind("I12", "acknowledged and never written")
DOUBLED = Kind("I12", "acknowledged and written more than once")
VANISHED = Kind("I12", "acknowledged and gone before its end")
KINDS = (LOST, DOUBLED, VANISHED)


@bounded
def check(history: History, looked: Looked) -> Iterator[Violation]:
    """See the module."""
    wanted = set(history.acknowledged)
    changes: dict[str, list[Change]] = defaultdict(list)
    for change in history.changes:
        if change.run.run_key in wanted:
            changes[change.run.run_key].append(change)
    for key in sorted(wanted):
        looked["acknowledged keys"] += 1
        writings = sum(one.before is None for one in changes[key])
        if not writings:
            yield LOST.found(key)
        elif writings > 1:
            yield DOUBLED.found(f"{key}, {writings} times")
        elif any(_vanishes(one) for one in changes[key]):
            yield VANISHED.found(key)


def _vanishes(change: Change) -> bool:
    return change.after is None and change.before is not None and change.before.state not in ENDED
