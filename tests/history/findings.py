"""What every checker has in common: the kinds of violation it can find, a count of what it looked at, and an
end to its output."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import islice
from typing import NamedTuple, TypeAlias

from fencepost.model.run import RunRecord, RunState
from tests.history.model import Change, History, Violation

ROUNDING_S = 0.05
HANDFUL = 5
"""How many violations a checker tells of; whoever has seen these has seen enough."""

Looked: TypeAlias = Counter[str]
"""How many things of each kind a checker held against its rule."""
Row: TypeAlias = tuple[str, str]
"""Namespace and key."""
Check: TypeAlias = Callable[[History, Looked], Iterator[Violation]]
BoundedCheck: TypeAlias = Callable[..., Iterator[Violation]]


_sorted: list[tuple[History, dict[Row, list[Change]]]] = []


class Kind(NamedTuple):
    """One way to break one invariant."""

    invariant: str
    name: str

    def found(self, what: object) -> Violation:
        """An instance of it."""
        return Violation(self.invariant, f"{self.name}: {what}")


def bounded(check: Check) -> BoundedCheck:
    """The check with a handful of violations at most, and with a count of its own where none is given."""

    @wraps(check)
    def first(history: History, looked: Looked | None = None) -> Iterator[Violation]:
        return islice(check(history, Counter() if looked is None else looked), HANDFUL)

    return first


def row_of(run: RunRecord) -> Row:
    """What names a row."""
    return run.namespace, run.run_key


@contextmanager
def sorted_once(history: History) -> Iterator[None]:
    """While this lasts nobody changes the history, and its changes are sorted by row only once. Nothing here
    leaves garbage behind, and looking for some among so many objects costs more than all checks together."""
    collects = gc.isenabled()
    gc.disable()
    _sorted.append((history, _by_row(history)))
    try:
        yield
    finally:
        _sorted.pop()
        if collects:
            gc.enable()


def by_row(history: History) -> dict[Row, list[Change]]:
    """All changes of each row, in order."""
    if _sorted and _sorted[-1][0] is history:
        return _sorted[-1][1]
    return _by_row(history)


def _by_row(history: History) -> dict[Row, list[Change]]:
    found: dict[Row, list[Change]] = {}
    for change in history.changes:
        run = change.after or change.before
        assert run is not None
        row = run.namespace, run.run_key
        if row in found:
            found[row].append(change)
        else:
            found[row] = [change]
    return found


def rescues(change: Change) -> bool:
    """Whether a running attempt was taken away from its silent worker: its fence is spent, and no tick of
    its schedule asked for that."""
    before, after = change.before, change.after
    if before is None or after is None or before.state is not RunState.RUNNING:
        return False
    if after.fence <= before.fence:
        return False
    return after.state is not RunState.CANCELLED or not (after.reason or "").startswith("terminated by")


def ends_attempt(change: Change) -> bool:
    """Whether an attempt that was under way is so no more."""
    before, after = change.before, change.after
    if before is None or before.state is not RunState.RUNNING:
        return False
    return after is None or after.state is not RunState.RUNNING or after.fence != before.fence
