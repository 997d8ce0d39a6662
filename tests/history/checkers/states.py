"""I6 and conservation: rows move along the table, nothing moves unseen, and nothing is lost count of.

A planned run becomes ready without a write, so that a move may skip that step. What has ended changes only by
a replay, which its origin names, and by retention, which empties a run by hand of its payload and error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fencepost.model.run import Hold, RunRecord
from tests.history.findings import Kind, Looked, bounded, by_row
from tests.history.model import Change, History, Violation
from tests.history.moves import ENDED, INITIAL, is_replay, may_move

NEEDS = frozenset({"changes"})
BORN = Kind("I6", "born in a later state")
FORBIDDEN = Kind("I6", "moved where it may not")
ENDED_CHANGED = Kind("I6", "changed after its end")
HELD_STARTED = Kind("I6", "started although held")
UNFINISHED_MARK = Kind("I6", "its end and the time of its end disagree")
PRUNED_OPEN = Kind("I6", "pruned before its end")
UNSEEN_CHANGE = Kind("conservation", "changed behind the recorder's back")
UNSEEN_BIRTH = Kind("conservation", "changed without being there")
UNBALANCED = Kind("conservation", "created is not ended, live and pruned together")
KINDS = (
    BORN,
    FORBIDDEN,
    ENDED_CHANGED,
    HELD_STARTED,
    UNFINISHED_MARK,
    PRUNED_OPEN,
    UNSEEN_CHANGE,
    UNSEEN_BIRTH,
    UNBALANCED,
)


@bounded
def check(history: History, looked: Looked) -> Iterator[Violation]:
    """See the module."""
    counted: Counter[str] = Counter()
    for changes in by_row(history).values():
        yield from _check_chain(changes)
        last = changes[-1].after
        counted["created"] += any(one.before is None for one in changes)
        counted["pruned" if last is None else "ended" if last.state in ENDED else "live"] += 1
    for change in history.changes:
        looked["changes"] += 1
        yield from _check_change(change)
    if counted["created"] != counted["ended"] + counted["live"] + counted["pruned"]:
        yield UNBALANCED.found(dict(counted))


def _check_chain(changes: Sequence[Change]) -> Iterator[Violation]:
    previous: RunRecord | None = None
    for one in changes:
        if one.before is not previous and not _same(one.before, previous):
            kind = UNSEEN_BIRTH if previous is None else UNSEEN_CHANGE
            yield kind.found(f"{one.run.run_key} was {previous}, is {one.before}, {one.at}")
        previous = one.after


def _same(one: RunRecord | None, other: RunRecord | None) -> bool:
    """Whether two rows are the same but for what heartbeats write. A row that was there before nothing is
    written twice, which is the ticks' to tell."""
    if one is None:
        return True
    return other is not None and _without_pulse(one) == _without_pulse(other)


def _without_pulse(run: RunRecord) -> RunRecord:
    return replace(run, alive_until=None, progress=None)


def _check_change(change: Change) -> Iterator[Violation]:
    before, after = change.before, change.after
    if after is None:
        if before is not None and before.state not in ENDED:
            yield PRUNED_OPEN.found(f"{before.run_key} was {before.state}")
        return
    if (after.state in ENDED) != (after.finished_at is not None):
        yield UNFINISHED_MARK.found(f"{after.run_key} is {after.state}, finished {after.finished_at}")
    if change.starts and after.held is not Hold.NONE:
        yield HELD_STARTED.found(f"{after.run_key}: {after.held!r}")
    if before is None:
        if after.state not in INITIAL:
            yield BORN.found(f"{after.run_key} was born {after.state}")
    elif before.state is not after.state:
        if not (is_replay(change) or may_move(before.state, after.state)):
            yield FORBIDDEN.found(f"{after.run_key} went from {before.state} to {after.state}")
    elif before.state in ENDED and _stripped(before) != _stripped(after):
        yield ENDED_CHANGED.found(f"{before} became {after}")


def _stripped(run: RunRecord) -> RunRecord:
    return replace(run, payload={}, error=None, progress=None, alive_until=None)
