"""Backfilling: which fire times of a range are to run after the fact, and how long that takes.

A fire time belongs to the version that was in force then, and runs under its key: so a backfill can never
run a tick a second time under another name. Where no version was in force, before the first and in pauses,
the latest version says what would have fired, and gives its number.

The ledger cannot say whether a fire time before `forgotten_before` ran. The backfill leaves it out, unless
everything is to run again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from fencepost.core.expectation import TriggerOf
from fencepost.errors import SearchExhausted
from fencepost.model.backfill import FillMode, FillTick, NewBackfill, runs_again
from fencepost.model.missed import MissedRange
from fencepost.model.run import RunRecord, RunState
from fencepost.model.schedule import ScheduleVersion

FIRE_TIMES_MAX = 100_000
"""A backfill has at most this number of fire times; a longer range is filled in parts."""

MISSING = "missing"
"""The account of a fire time that nothing accounts for."""
FORGOTTEN = "forgotten"
"""The account of a fire time that nothing accounts for any more: retention may have removed what did."""


class Reign(NamedTuple):
    """The version that speaks for the fire times in (after, through]."""

    after: datetime
    through: datetime
    version: ScheduleVersion


class Batch(NamedTuple):
    """The next fire times of a range, and how far it has been walked through with them."""

    ticks: tuple[FillTick, ...]
    through: datetime


def next_batch(
    versions: Sequence[ScheduleVersion],
    trigger_of: TriggerOf,
    after: datetime,
    until: datetime,
    limit: int,
) -> Batch:
    """The first `limit` fire times in (after, until]. A search that is cut ends the batch where it got to."""
    assert limit > 0
    ticks: list[FillTick] = []
    for reign in _reigns(versions, after, until):
        found: list[datetime] = []
        try:
            times = trigger_of(reign.version).fire_times(reign.after, reign.through)
            found.extend(islice(times, limit - len(ticks)))
        except SearchExhausted as cut:
            ticks += [FillTick(one, reign.version.version) for one in found]
            reached = max(reign.after, min(cut.searched_through, reign.through))
            if reached <= after:
                raise
            return Batch(tuple(ticks), reached)
        ticks += [FillTick(one, reign.version.version) for one in found]
        if len(ticks) == limit:
            return Batch(tuple(ticks), ticks[-1].fire_time)
    return Batch(tuple(ticks), until)


@dataclass(slots=True)
class BackfillCounts:
    """How the fire times of a range stand before it is filled: how many in each state, and how many run."""

    mode: FillMode
    forgotten_before: datetime | None = None
    fire_times: int = 0
    states: Counter[str] = field(default_factory=Counter)
    to_run: int = 0

    def add(
        self, ticks: Iterable[FillTick], runs: Iterable[RunRecord], ranges: Sequence[MissedRange]
    ) -> None:
        """Count a batch: its fire times, the runs that have one of them, and the missed ranges around it."""
        latest = _latest(runs)
        for tick in ticks:
            run = latest.get(tick.fire_time)
            state = None if run is None else run.state
            if state is None and any(one.first <= tick.fire_time <= one.last for one in ranges):
                state = RunState.MISSED
            forgotten = self.forgotten_before is not None and tick.fire_time < self.forgotten_before
            nothing = FORGOTTEN if forgotten else MISSING
            self.fire_times += 1
            self.states[nothing if state is None else str(state)] += 1
            self.to_run += _runs(self.mode, state) and (self.mode is FillMode.ALL or not forgotten)

    @property
    def recorded(self) -> int:
        """How many have a run or lie in a missed range."""
        return self.fire_times - self.states[MISSING] - self.forgotten

    @property
    def forgotten(self) -> int:
        """How many have nothing, and are so old that they may have had something."""
        return self.states[FORGOTTEN]


def duration_s(
    request: NewBackfill, count: int, at_once_max: int | None, run_s: float | None
) -> float | None:
    """How long this number of runs takes, as an estimate; `at_once_max` is what the overlap policy allows."""
    if count == 0:
        return 0.0
    if run_s is None:
        return None
    at_once = request.at_once_max if at_once_max is None else min(request.at_once_max, at_once_max)
    return max(-(-count // at_once) * run_s, (count - 1) * request.every_s + run_s)


def _reigns(versions: Sequence[ScheduleVersion], after: datetime, through: datetime) -> Iterator[Reign]:
    """The versions that govern (after, through], ascending. A version governs (in_force_from,
    in_force_until]."""
    assert versions
    latest = versions[-1]
    for one in versions:
        until = through if one.in_force_until is None else min(one.in_force_until, through)
        begins = min(max(one.in_force_from, after), through)
        if begins > after:
            yield Reign(after, begins, latest)
            after = begins
        if until > after:
            yield Reign(after, until, one)
            after = until
    if through > after:
        yield Reign(after, through, latest)


def _latest(runs: Iterable[RunRecord]) -> Mapping[datetime, RunRecord]:
    """The run that stands for each fire time: where there are several, the one of the latest version."""
    latest: dict[datetime, RunRecord] = {}
    for run in runs:
        known = latest.get(run.fire_time)
        if run.state is not RunState.WITHDRAWN and (known is None or known.version < run.version):
            latest[run.fire_time] = run
    return latest


def _runs(mode: FillMode, state: RunState | None) -> bool:
    return state is None or runs_again(mode, state)
