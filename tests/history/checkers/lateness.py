"""Catch-up, and who may wait: lateness as the ledger shows it, schedule by schedule.

- A live tick begins on time, or becomes a catch-up run, or does not begin. Time that it spent behind a run
  which excuses it does not count: it is late from the end of the last of those.
- With `latest` a catch-up run begins only while no newer tick of its schedule is due: none that waits, and
  none that the planners write only afterwards.
- With `sequential` and `parallel(n)` one, or n, of them are unfinished at a time.
- No more live ticks are parked than the overlap policy lets wait.

Of ticks that wait, those count that whoever parks or starts another must have seen: written, due and free of
other holds for as long as a statement may take. Several versions have their own policies, and workers of
their own may serve them, so that a tick is parked behind those of its own version. What is parked and what
starts in one verdict is told in that order: too many at once is told of only if it lasts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fencepost.model.identifiers import RunKey, ScheduleId
from fencepost.model.policies import CatchUpMode
from fencepost.model.run import Hold, Origin, RunRecord
from fencepost.model.schedule import ScheduleSpec
from tests.history import policies
from tests.history.findings import ROUNDING_S, Kind, Looked, bounded
from tests.history.model import END_OF_TIME, Change, History, Violation
from tests.history.moves import ENDED, INITIAL

NEEDS = frozenset({"changes", "versions"})
TOO_LATE = Kind("catch-up", "a live tick began too late")
NOT_NEWEST = Kind("catch-up", "began although a newer tick was due")
TOO_MANY = Kind("catch-up", "too many caught up at once")
TOO_MANY_WAIT = Kind("catch-up", "too many wait")
KINDS = (TOO_LATE, NOT_NEWEST, TOO_MANY, TOO_MANY_WAIT)

FREE = (Hold.NONE, Hold.PARKED)


@dataclass(slots=True)
class _Lane:
    """What is open of one schedule."""

    waiting: dict[RunKey, tuple[RunRecord, datetime]] = field(default_factory=dict)
    """What nobody has begun and nobody holds, and since when it is so."""
    unfinished: dict[RunKey, RunRecord] = field(default_factory=dict)
    parked: dict[RunKey, RunRecord] = field(default_factory=dict)
    suspects: list[tuple[datetime, RunKey]] = field(default_factory=list)
    """What was parked behind too many others, and when."""
    begun: dict[RunKey, datetime] = field(default_factory=dict)
    """When what is unfinished began."""
    ended: list[tuple[datetime, datetime, RunRecord]] = field(default_factory=list)
    """When it ended and when it had begun, in the order of the ends."""
    newest: dict[int, tuple[datetime, RunRecord]] = field(default_factory=dict)
    """By version, the catch-up run that began last as the newest tick, and when."""


@bounded
def check(history: History, looked: Looked) -> Iterator[Violation]:
    """See the module."""
    return _Lateness(history, looked).check()


class _Lateness:
    def __init__(self, history: History, looked: Looked) -> None:
        self._history = history
        self._looked = looked
        self._slack = timedelta(seconds=history.statement_s + ROUNDING_S)
        self._specs = {
            (schedule_id, one.version): one.spec
            for schedule_id, versions in history.versions.items()
            for one in versions
        }
        self._lanes: dict[tuple[str, ScheduleId], _Lane] = defaultdict(_Lane)

    def check(self) -> Iterator[Violation]:
        for change in self._history.changes:
            run = change.after or change.before
            if run is None or run.schedule_id is None:
                continue
            lane = self._lanes[run.namespace, run.schedule_id]
            if lane.suspects:
                yield from self._check_suspects(lane, change.at)
            spec = self._specs.get((run.schedule_id, run.version))
            if spec is not None and change.starts and run.run_key not in lane.unfinished:
                yield from self._check_first(change, run, spec, lane)
            if change.before is None:
                yield from self._check_written(change, run, lane)
            self._note(change, run, lane, spec)
        for lane in self._lanes.values():
            yield from self._check_suspects(lane, END_OF_TIME)

    def _note(self, change: Change, run: RunRecord, lane: _Lane, spec: ScheduleSpec | None) -> None:
        key, after = run.run_key, change.after
        was_parked = lane.parked.pop(key, None) is not None
        known = lane.waiting.pop(key, None)
        lane.unfinished.pop(key, None)
        self._note_life(change, run, lane)
        if after is None or after.state in ENDED:
            return
        if after.fence > 0:
            lane.unfinished[key] = after
            return
        if after.state not in INITIAL or after.held not in FREE:
            return
        lane.waiting[key] = after, change.at if known is None else known[1]
        if after.held is Hold.PARKED and after.origin is Origin.LIVE:
            lane.parked[key] = after
            if not was_parked:
                self._looked["parked"] += 1
                if spec is not None and self._waits_behind_too_many(after, lane, spec):
                    lane.suspects.append((change.at, key))

    def _note_life(self, change: Change, run: RunRecord, lane: _Lane) -> None:
        if change.starts:
            lane.begun.setdefault(run.run_key, change.at)
        if change.after is None or change.after.state in ENDED:
            begun = lane.begun.pop(run.run_key, None)
            if begun is not None:
                lane.ended.append((change.at, begun, run))

    def _late_since(self, run: RunRecord, spec: ScheduleSpec, lane: _Lane) -> datetime | None:
        """From when on the tick is late; None while something excuses it."""

        def excuses(begun: datetime, other: RunRecord) -> bool:
            return policies.is_excused(spec.overlap, run, other, begun <= run.run_at + self._slack)

        if any(excuses(lane.begun.get(key, run.run_at), other) for key, other in lane.unfinished.items()):
            return None
        for ended, begun, other in reversed(lane.ended):
            if ended <= run.run_at:
                break
            if excuses(begun, other):
                return ended
        return run.run_at

    def _check_first(
        self, change: Change, run: RunRecord, spec: ScheduleSpec, lane: _Lane
    ) -> Iterator[Violation]:
        if run.origin is Origin.LIVE:
            self._looked["live first attempts"] += 1
            most, since = policies.live_lateness_max(spec.catch_up), self._late_since(run, spec, lane)
            if since is not None and change.at - since > most + self._slack:
                yield TOO_LATE.found(f"{run.run_key} at {change.at}, late since {since}, at most {most}")
        elif run.origin is Origin.CATCH_UP:
            self._looked["catch-up first attempts"] += 1
            yield from self._check_turn(change, run, spec, lane)

    def _check_turn(
        self, change: Change, run: RunRecord, spec: ScheduleSpec, lane: _Lane
    ) -> Iterator[Violation]:
        if spec.catch_up.mode is CatchUpMode.LATEST:
            seen = change.at - self._slack
            newer = [
                one.run_key
                for one, since in lane.waiting.values()
                if one.fire_time > run.fire_time and one.run_at <= seen and since <= seen
            ]
            if newer:
                yield NOT_NEWEST.found(f"{run.run_key} at {change.at} before {max(newer)}")
            lane.newest[run.version] = change.at, run
        most = policies.catch_ups_max(spec.catch_up)
        alike = [one.run_key for one in lane.unfinished.values() if one.origin is Origin.CATCH_UP]
        if most is not None and len(alike) >= most:
            yield TOO_MANY.found(f"{run.run_key} ({spec.catch_up.words}) began beside {sorted(alike)[:3]}")

    def _check_written(self, change: Change, run: RunRecord, lane: _Lane) -> Iterator[Violation]:
        """What a planner writes was not due when an older tick of its version began as the newest. What is
        written by name (without an epoch) is not known before, and with a spread one cannot tell."""
        if run.version not in lane.newest or not run.epoch or not _is_unspread(run):
            return
        at, began = lane.newest[run.version]
        if began.fire_time < run.fire_time <= at - self._slack and began.epoch and _is_unspread(began):
            yield NOT_NEWEST.found(f"{began.run_key} at {at}, and {run.run_key} was written later")

    def _check_suspects(self, lane: _Lane, now: datetime) -> Iterator[Violation]:
        """Those whose verdict is over, if they still wait behind too many."""
        later = []
        for at, key in lane.suspects:
            run = lane.parked.get(key)
            if run is None or run.schedule_id is None:
                continue
            spec = self._specs[run.schedule_id, run.version]
            if now <= at + self._slack:
                later.append((at, key))
            elif self._waits_behind_too_many(run, lane, spec):
                yield TOO_MANY_WAIT.found(f"{key} ({spec.overlap}), parked at {at}")
        lane.suspects = later

    def _waits_behind_too_many(self, run: RunRecord, lane: _Lane, spec: ScheduleSpec) -> bool:
        most = policies.waiting_max(spec.overlap)
        if most is None or len(lane.parked) <= most:
            return False
        before = [
            one
            for one in lane.parked.values()
            if (one.version, one.queue) == (run.version, run.queue) and one.fire_time < run.fire_time
        ]
        return len(before) >= most


def _is_unspread(run: RunRecord) -> bool:
    return run.run_at == run.fire_time
