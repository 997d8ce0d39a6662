"""I4 and I5: epochs never fall, fences rise, and whoever comes with an old one changes nothing.

A plan is accepted only under the epoch that was registered last for its shard. A replay gives a row its
fence 0 back, as if it had never begun; the next attempt's is larger than any before it all the same. What the
workers are told of it is the reports'.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from tests.history.findings import Kind, Looked, Row, bounded, row_of
from tests.history.model import Change, History, Registration, Violation
from tests.history.moves import REPLAYS

NEEDS = frozenset({"changes"})
EPOCH_FELL = Kind("I4", "an accepted epoch fell")
REGISTERED_FELL = Kind("I4", "a registered epoch fell")
STALE_PLAN = Kind("I4", "a stale plan was accepted")
UNKNOWN_EPOCH = Kind("I4", "written under no registered epoch")
RUN_FENCE = Kind("I5", "a run's fence did not rise by attempt")
SCHEDULE_FENCE = Kind("I5", "a schedule's fence did not rise by claim")
OLD_FENCE = Kind("I5", "changed under an older fence")
KINDS = (
    EPOCH_FELL,
    REGISTERED_FELL,
    STALE_PLAN,
    UNKNOWN_EPOCH,
    RUN_FENCE,
    SCHEDULE_FENCE,
    OLD_FENCE,
)


@bounded
def check(history: History, looked: Looked) -> Iterator[Violation]:
    """See the module."""
    yield from _check_writes(history, looked)
    if "registrations" not in history.unseen:
        yield from _check_registrations(history, looked)
    yield from _check_fences(history, looked)


def _check_writes(history: History, looked: Looked) -> Iterator[Violation]:
    newest: dict[int, int] = {}
    for one in history.plan_writes:
        looked["plan writes"] += 1
        if one.accepted and one.epoch < newest.get(one.shard, 0):
            yield EPOCH_FELL.found(f"shard {one.shard}: {one.epoch} after {newest[one.shard]}, {one.at}")
        if one.accepted:
            newest[one.shard] = max(one.epoch, newest.get(one.shard, 0))


def _check_registrations(history: History, looked: Looked) -> Iterator[Violation]:
    shards: dict[int, list[Registration]] = defaultdict(list)
    for one in history.registrations:
        looked["registrations"] += 1
        known = shards[one.shard]
        if known and one.epoch < known[-1].epoch:
            yield REGISTERED_FELL.found(f"shard {one.shard}: {one.epoch} after {known[-1].epoch}, {one.at}")
        known.append(one)
    reigns = {shard: _Reigns(known) for shard, known in shards.items()}
    for write in history.plan_writes:
        if write.accepted and (
            write.shard not in reigns or write.epoch not in reigns[write.shard].at(write.at)
        ):
            yield STALE_PLAN.found(f"shard {write.shard}, epoch {write.epoch}, {write.at}")
    yield from _check_rows(history, list(reigns.values()), looked)


class _Reigns:
    """Which epoch was in force when; at the instant of a change, both are."""

    def __init__(self, registrations: list[Registration]) -> None:
        self._times = [one.at for one in registrations]
        self._epochs = [one.epoch for one in registrations]

    def at(self, moment: datetime) -> list[int]:
        first = max(bisect_left(self._times, moment) - 1, 0)
        return self._epochs[first : bisect_right(self._times, moment)]


def _check_rows(history: History, reigns: list[_Reigns], looked: Looked) -> Iterator[Violation]:
    """A new cut of the shards moves schedules between them, so the epoch may be that of any shard."""
    for change in history.changes:
        if change.before is None and change.after is not None and change.after.epoch:
            looked["planned rows"] += 1
            epoch = change.after.epoch
            if not any(epoch in one.at(change.at) for one in reigns):
                yield UNKNOWN_EPOCH.found(f"{change.after.run_key}, epoch {epoch}")


def _check_fences(history: History, looked: Looked) -> Iterator[Violation]:
    started: dict[Row, int] = {}
    claimed: dict[tuple[str, str], _Claim] = {}
    newest: dict[Row, int] = {}
    for change in history.changes:
        after = change.after
        if after is None:
            continue
        row, fence = row_of(after), after.fence
        if change.starts:
            looked["starts"] += 1
            if fence <= started.get(row, 0):
                yield RUN_FENCE.found(f"{after.run_key}: {fence} after {started.get(row, 0)}")
            started[row] = max(fence, started.get(row, 0))
            if after.schedule_id is not None:
                owner = after.namespace, after.schedule_id
                claim = claimed.get(owner, _NONE).next(change.at, after.worker, fence)
                if fence <= claim.before:
                    yield SCHEDULE_FENCE.found(f"{after.run_key}: {fence} after {claim.before}")
                claimed[owner] = claim
        if fence < newest.get(row, 0) and not _is_untouched_since_replay(change):
            yield OLD_FENCE.found(f"{after.run_key}: {fence} after {newest[row]}, {after.state}")
        newest[row] = max(fence, newest.get(row, 0))


class _Claim(NamedTuple):
    """What one worker began of a schedule at one instant; in which order the rows of a claim are written is
    the store's own affair."""

    at: datetime | None
    worker: str | None
    before: int
    """The largest fence of the claims before it."""
    largest: int

    def next(self, at: datetime, worker: str | None, fence: int) -> _Claim:
        """The claim that a start belongs to: this one, or the one after it."""
        same = (at, worker) == (self.at, self.worker)
        before = self.before if same else self.largest
        return _Claim(at, worker, before, max(fence, self.largest))


_NONE = _Claim(None, None, 0, 0)


def _is_untouched_since_replay(change: Change) -> bool:
    """Whether the row has no fence because it was replayed and has not begun since."""
    before, after = change.before, change.after
    assert after is not None
    if before is None or after.fence:
        return False
    return before.fence == 0 or (before.state, after.state) in REPLAYS
