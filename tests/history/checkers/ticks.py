"""I1, I2 and I3: each expected fire time has exactly one row, ever, or is counted in exactly one range.

What is expected comes from the versions and the oracle alone. A row counts by what it last was, also when it
has been pruned since. One that was withdrawn accounts for nothing: its fire time is nobody's, or that of the
version that came instead. Of rows that no version in force expects, these are explained:

- what was asked for by hand, filled in, replayed, or planned by name to be held: the ledger keeps no epoch
  with it;
- what an operator held by name and an edit therefore spared: the edit calls it manual;
- what was called off by name before its time: an edit that comes later finds it ended.

A key is written twice only where somebody forces it: a backfill of what retention has removed. Retention
never removes a run by hand: its row is what keeps its key from being used again.

The versions are the store's word, so they are held against what was asked of it: each begins where the one
before it ended, and only a pause or a removal leaves a gap after it. An edit during a pause makes a version
that is never in force, and the pause goes on. Where pauses and removals are not seen, versions still follow
one another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from fencepost.model.identifiers import ScheduleId
from fencepost.model.missed import MissedRange
from fencepost.model.run import Hold, Origin, RunRecord, RunState
from fencepost.model.schedule import ScheduleVersion
from tests.history import oracle
from tests.history.findings import ROUNDING_S, Kind, Looked, Row, bounded, by_row
from tests.history.model import Change, Halt, History, Violation
from tests.history.moves import REPLAYED

NEEDS = frozenset({"changes", "versions", "ranges"})
WRITTEN_TWICE = Kind("I1", "written twice")
HAND_REMOVED = Kind("I1", "a run by hand was removed")
MISSING = Kind("I2", "without a row")
MISCOUNTED = Kind("I2", "a range miscounts")
COUNTED_TWICE = Kind("I2", "ranges overlap")
TWO_ALIVE = Kind("I3", "two rows for one fire time")
SURPLUS = Kind("I3", "of no version")
OUT_OF_FORCE = Kind("I3", "of a version that was not in force")
NUMBERING = Kind("I3", "versions are not numbered one by one")
TWO_IN_FORCE = Kind("I3", "two versions in force")
NONE_IN_FORCE = Kind("I2", "no version in force although nobody paused or removed it")
KINDS = (
    WRITTEN_TWICE,
    HAND_REMOVED,
    MISSING,
    MISCOUNTED,
    COUNTED_TWICE,
    TWO_ALIVE,
    SURPLUS,
    OUT_OF_FORCE,
    NUMBERING,
    TWO_IN_FORCE,
    NONE_IN_FORCE,
)

Rows = Mapping[Row, Sequence[Change]]
CALLED_OFF = (RunState.CANCELLED, RunState.SKIPPED)


@bounded
def check(history: History, looked: Looked) -> Iterator[Violation]:
    """See the module."""
    rows = by_row(history)
    yield from _check_written(rows, looked)
    yield from _check_versions(history, looked)
    alive: dict[ScheduleId, list[RunRecord]] = defaultdict(list)
    for changes in rows.values():
        run = changes[-1].run
        if run.schedule_id is not None and run.state is not RunState.WITHDRAWN:
            alive[run.schedule_id].append(run)
    ranges: dict[ScheduleId, list[MissedRange]] = defaultdict(list)
    for one in history.ranges:
        ranges[one.schedule_id].append(one)
    for schedule_id in {**history.versions, **alive, **ranges}:
        here = _Schedule(history, schedule_id, rows, ranges[schedule_id])
        yield from here.check(alive[schedule_id], looked)


def _check_written(rows: Rows, looked: Looked) -> Iterator[Violation]:
    looked["rows"] += len(rows)
    for (_, key), changes in rows.items():
        writings = [number for number, one in enumerate(changes) if one.before is None]
        for number in writings[1:]:
            forced = changes[number].run.origin is Origin.BACKFILL and changes[number - 1].after is None
            if not forced:
                yield WRITTEN_TWICE.found(key)
        if changes[0].run.schedule_id is None and any(one.after is None for one in changes):
            yield HAND_REMOVED.found(key)


def _check_versions(history: History, looked: Looked) -> Iterator[Violation]:
    slack = timedelta(seconds=history.statement_s + ROUNDING_S)
    halts: dict[ScheduleId, list[Halt]] = defaultdict(list)
    for one in history.halts:
        halts[one.schedule_id].append(one)
    for schedule_id, versions in history.versions.items():
        looked["versions"] += len(versions)
        if [one.version for one in versions] != list(range(1, len(versions) + 1)):
            yield NUMBERING.found(f"{schedule_id}: {[one.version for one in versions]}")
        yield from _check_order(schedule_id, versions)
        if "halts" not in history.unseen:
            yield from _check_gaps(schedule_id, versions, halts[schedule_id], slack)


def _check_order(schedule_id: ScheduleId, versions: Sequence[ScheduleVersion]) -> Iterator[Violation]:
    ends = [one.in_force_until for one in versions]
    begins = [one.in_force_from for one in versions]
    for one, end in zip(versions, ends, strict=True):
        if end is not None and end < one.in_force_from:
            yield TWO_IN_FORCE.found(f"{schedule_id}, version {one.version} ended before it began")
    for one, end, begin in zip(versions, ends, begins[1:], strict=False):
        if end is None or end > begin:
            yield TWO_IN_FORCE.found(
                f"{schedule_id}, version {one.version} until {end}, the next from {begin}"
            )


def _check_gaps(
    schedule_id: ScheduleId, versions: Sequence[ScheduleVersion], halts: Sequence[Halt], slack: timedelta
) -> Iterator[Violation]:
    halted = False
    for number, one in enumerate(versions):
        end = one.in_force_until
        if end is None:
            halted = False
            continue
        goes_on = halted and one.in_force_from == end
        halted = goes_on or any(halt.since - slack <= end <= halt.until + slack for halt in halts)
        begins = versions[number + 1].in_force_from if number + 1 < len(versions) else None
        if not halted and (begins is None or begins > end):
            yield NONE_IN_FORCE.found(f"{schedule_id}, version {one.version} until {end}, the next {begins}")


class _Schedule:
    """The fire times of one schedule."""

    def __init__(
        self, history: History, schedule_id: ScheduleId, rows: Rows, ranges: Sequence[MissedRange]
    ) -> None:
        self._through = history.through
        self._id = schedule_id
        self._rows = rows
        self._ranges = ranges
        self._expected = expected(history, schedule_id, max([history.through, *(one.last for one in ranges)]))

    def check(self, alive: Sequence[RunRecord], looked: Looked) -> Iterator[Violation]:
        by_time: dict[datetime, RunRecord] = {}
        for run in alive:
            if run.fire_time in by_time:
                yield TWO_ALIVE.found(f"{run.run_key} beside {by_time[run.fire_time].run_key}")
            by_time[run.fire_time] = run
        yield from self._check_ranges(by_time, looked)
        yield from self._check_missing(by_time, looked)
        yield from self._check_surplus(by_time)

    def _check_missing(self, alive: Mapping[datetime, RunRecord], looked: Looked) -> Iterator[Violation]:
        ranged = {one for counted in self._ranges for one in self._inside(counted, alive)}
        due = [moment for moment in self._expected if moment <= self._through]
        looked["expected ticks"] += len(due)
        missing = [moment for moment in due if moment not in alive and moment not in ranged]
        if missing:
            first = min(missing).isoformat()
            yield MISSING.found(f"{len(missing)} ticks of {self._id}, the first of {first}")

    def _check_ranges(self, alive: Mapping[datetime, RunRecord], looked: Looked) -> Iterator[Violation]:
        covered: set[datetime] = set()
        for one in self._ranges:
            looked["ranges"] += 1
            inside = self._inside(one, alive)
            if len(inside) != one.count:
                yield MISCOUNTED.found(f"{one} says {one.count}, there are {len(inside)}")
            if inside & covered:
                yield COUNTED_TWICE.found(f"{one} has {min(inside & covered).isoformat()} of another")
            covered |= inside

    def _inside(self, one: MissedRange, alive: Mapping[datetime, RunRecord]) -> set[datetime]:
        """The fire times of the range's version that have no run of their own."""
        return {
            moment
            for moment, version in self._expected.items()
            if one.first <= moment <= one.last and version == one.version and moment not in alive
        }

    def _check_surplus(self, alive: Mapping[datetime, RunRecord]) -> Iterator[Violation]:
        for moment, run in alive.items():
            if moment > self._through or self._expected.get(moment) == run.version:
                continue
            if not _is_explained(self._rows[run.namespace, run.run_key]):
                yield (OUT_OF_FORCE if moment in self._expected else SURPLUS).found(run.run_key)


def expected(history: History, schedule_id: ScheduleId, through: datetime) -> dict[datetime, int]:
    """The fire times of every version while it was in force, with the version."""
    found: dict[datetime, int] = {}
    for version in history.versions.get(schedule_id, ()):
        since, until = version.in_force_from, min(version.in_force_until or through, through)
        if since < until:
            moments = oracle.fire_times(version.spec.trigger, schedule_id, since, until)
            found.update(dict.fromkeys(moments, version.version))
    return found


def _is_explained(changes: Sequence[Change]) -> bool:
    """See the module."""
    if changes[-1].run.epoch == 0 and (_is_held_at_birth(changes) or _is_extra(changes)):
        return True
    return any(
        one.after is not None and (one.after.origin is Origin.MANUAL or _is_called_off(one.after, one.at))
        for one in changes
    )


def _is_extra(changes: Sequence[Change]) -> bool:
    return any(one.after is not None and one.after.origin in REPLAYED for one in changes)


def _is_held_at_birth(changes: Sequence[Change]) -> bool:
    """Planned by name to be held; some stores write the row first, and hold it in the same instant."""
    first = [one.after for one in changes if one.at == changes[0].at]
    return any(run is not None and run.held & Hold.OPERATOR for run in first)


def _is_called_off(run: RunRecord, at: datetime) -> bool:
    return run.state in CALLED_OFF and run.fence == 0 and at <= run.fire_time
