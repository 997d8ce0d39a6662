"""The cells of the heat grid: what became of every tick that a schedule's versions ask for.

As in `core.accounting`, versions say what is expected, the ledger what became of it, and a fire time is
settled when a planner has had its chance. One that is settled and that nothing accounts for is `unaccounted`,
unless retention may have removed what did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice

from fencepost.core.accounting import SETTLING, Frame, due_of
from fencepost.core.expectation import Expected, TriggerOf, expected
from fencepost.core.stuck import begun, why_late
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import RunKey
from fencepost.model.run import Origin, RunRecord, RunState
from fencepost.model.schedule import ScheduleVersion

CELLS_MAX = 1_500
WORDS: Mapping[str, str] = {
    "fine": "on time",
    "late": "late",
    "replayed": "replayed",
    "skipped": "skipped",
    "missed": "missed",
    "dead": "dead",
    "cancelled": "cancelled",
    "running": "running",
    "ready": "ready",
    "planned": "planned",
    "held": "held",
    "unaccounted": "unaccounted",
    "forgotten": "no longer kept",
}
"""Every mark that a cell can have, in the order of the legend."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One expected tick: its mark, the run that stands for it if there is one, and what there is to say."""

    fire_time: datetime
    version: int
    mark: str
    words: str
    run_key: RunKey | None = None


@dataclass(frozen=True)
class Grid:
    """The cells of a stretch of time, and whether there were more of them than are kept."""

    cells: tuple[Cell, ...]
    cut: bool

    def counts(self) -> dict[str, int]:
        """How many of each mark, in the order of the legend."""
        found = Counter(one.mark for one in self.cells)
        return {mark: found[mark] for mark in WORDS if mark in found}


@dataclass(frozen=True)
class ExpectedTicks:
    """The ticks of a stretch of time that get a cell, oldest first, and whether there are more."""

    ticks: Sequence[Expected]
    cut: bool

    @property
    def last(self) -> datetime | None:
        """The fire time of the last of them where there are more: nobody reads on behind it."""
        return self.ticks[-1].fire_time if self.cut else None


def expected_of(frame: Frame, trigger_of: TriggerOf) -> ExpectedTicks:
    """The ticks in (since, until]."""
    found = list(islice(expected(frame.versions, trigger_of, frame.since, frame.until), CELLS_MAX + 1))
    return ExpectedTicks(found[:CELLS_MAX], len(found) > CELLS_MAX)


def make_grid(
    frame: Frame, trigger_of: TriggerOf, expected: ExpectedTicks, runs: Iterable[RunRecord]
) -> Grid:
    """A cell for each tick."""
    standing = _standing(runs)
    book = _Book(frame, trigger_of, {one.version: one for one in frame.versions})
    cells = tuple(book.cell(one, standing.get(one.fire_time)) for one in expected.ticks)
    return Grid(cells, expected.cut)


@dataclass(frozen=True)
class _Book:
    frame: Frame
    trigger_of: TriggerOf
    versions: Mapping[int, ScheduleVersion]

    def cell(self, expected: Expected, run: RunRecord | None) -> Cell:
        mark, words = self._nothing(expected) if run is None else self._something(run)
        key = None if run is None else run.run_key
        return Cell(expected.fire_time, expected.version, mark, words, key)

    def _something(self, run: RunRecord) -> tuple[str, str]:
        if run.state is RunState.SUCCEEDED:
            return self._succeeded(run)
        if run.state in (RunState.PLANNED, RunState.READY) and run.held:
            return "held", ", ".join(str(one.name).lower() for one in run.held)
        return str(run.state), run.reason or (run.error or "").partition("\n")[0]

    def _succeeded(self, run: RunRecord) -> tuple[str, str]:
        if run.origin in (Origin.REPLAY, Origin.BACKFILL):
            return "replayed", "backfilled" if run.origin is Origin.BACKFILL else "sent on its way again"
        if run.origin is Origin.CATCH_UP:
            return "late", "caught up"
        version = self.versions.get(run.version)
        late = why_late(run, None if version is None else version.spec, due_of(run, version, self.trigger_of))
        return ("fine", "") if late is None else ("late", late)

    def _nothing(self, expected: Expected) -> tuple[str, str]:
        frame, moment = self.frame, expected.fire_time
        for one in frame.missed:
            if one.first <= moment <= one.last:
                return "missed", one.reason
        if frame.forgotten_before is not None and moment < frame.forgotten_before:
            return "forgotten", "older than what retention keeps"
        planned = expected.version == frame.planned_version and moment <= frame.planned_through
        if planned or moment <= frame.now - SETTLING:
            return "unaccounted", "nothing accounts for it"
        return "planned", "not planned yet"


def _standing(runs: Iterable[RunRecord]) -> Mapping[datetime, RunRecord]:
    """For each fire time the run that came furthest; withdrawn ones stand for nothing."""
    found: dict[datetime, RunRecord] = {}
    for run in runs:
        if run.state is RunState.WITHDRAWN:
            continue
        known = found.get(run.fire_time)
        if known is None or _rank(run) > _rank(known):
            found[run.fire_time] = run
    return found


def _rank(run: RunRecord) -> tuple[bool, int, int]:
    return begun(run), run.attempt, run.version


def extra_runs(grid: Grid, runs: Sequence[RunRecord]) -> int:
    """Runs of the stretch that no version asks for: triggered by hand, or held by name."""
    expected = {one.fire_time for one in grid.cells}
    return sum(run.fire_time not in expected and run.state is not RunState.WITHDRAWN for run in runs)
