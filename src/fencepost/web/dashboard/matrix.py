"""A lane of the matrix: what became of the ticks of one schedule, a cell for each stretch of time.

A cell has the mark of the worst that happened in it, and leads to its run, or to the list of its runs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import ScheduleId
from fencepost.model.run import RunState
from fencepost.model.views import Outcomes, ScheduleOutcomes
from fencepost.web.dashboard import links
from fencepost.web.dashboard.charts.heat import HeatCell
from fencepost.web.dashboard.states import SHOWN
from fencepost.web.dashboard.tell import Tell, count

WORST_FIRST = (
    *("dead", "missed", "skipped", "cancelled", "late"),
    *("running", "ready", "fine", "planned", "withdrawn"),
)
WORDS = {**{one.mark: one.word for one in SHOWN.values()}, "fine": "on time", "late": "late"}


@dataclass(frozen=True)
class MatrixRow:
    """One schedule: its cells, how many of its columns are not known, and what all of it says."""

    schedule_id: ScheduleId
    cells: tuple[HeatCell, ...]
    unknown: int
    why: str

    @property
    def counts(self) -> dict[str, int]:
        """How many cells there are of each mark, the worst first."""
        found = Counter(one.mark for one in self.cells)
        return {mark: found[mark] for mark in WORST_FIRST if mark in found}

    @property
    def label(self) -> str:
        said = ", ".join(f"{number} {WORDS[mark]}" for mark, number in self.counts.items())
        return f"Ticks of {self.schedule_id}: {said or 'none'}"


def lane_of(
    schedule_id: ScheduleId, found: ScheduleOutcomes, edges: Sequence[datetime], tell: Tell
) -> MatrixRow:
    """The lane of a schedule."""
    cells = (_cell(schedule_id, found, number, edges, tell) for number in range(len(edges) - 1))
    unknown = 0 if found.known_from is None else bisect_right(edges, found.known_from) - 1
    why = (
        f"More ticks than are shown; those until {tell.words(found.known_from)} are left out"
        if found.known_from
        else ""
    )
    return MatrixRow(schedule_id, tuple(one for one in cells if one is not None), unknown, why)


def _cell(
    schedule_id: ScheduleId, found: ScheduleOutcomes, number: int, edges: Sequence[datetime], tell: Tell
) -> HeatCell | None:
    since, until = edges[number], edges[number + 1]
    outcomes = found.stretches.get(number, ())
    reasons = [one.reason for one in found.missed if one.first < until and one.last >= since]
    marks = Counter[str]()
    for one in outcomes:
        marks[_mark(one)] += one.runs
    worst = next((mark for mark in WORST_FIRST if marks[mark] or (mark == "missed" and reasons)), None)
    if worst is None:
        return None
    said = [f"{count(marks[mark])} {WORDS[mark]}" for mark in WORST_FIRST if marks[mark]]
    said += [f"missed without a run: {reason}" for reason in reasons]
    title = f"{schedule_id}, {tell.words(since)} to {tell.words(until)}: {', '.join(said)}"
    return HeatCell(number, worst, title, _href(schedule_id, outcomes, since, until))


def _mark(one: Outcomes) -> str:
    return "late" if one.late and one.state is RunState.SUCCEEDED else SHOWN[one.state].mark


def _href(schedule_id: ScheduleId, outcomes: Sequence[Outcomes], since: datetime, until: datetime) -> str:
    """To the run where there is one, to the list where there are several, else to the schedule."""
    match sum(one.runs for one in outcomes):
        case 0:
            return links.with_query(links.schedule(schedule_id), {"until": until})
        case 1:
            return links.run(outcomes[0].run_key)
    return links.with_query("/runs", {"schedule": schedule_id, "since": since, "until": until})


def cells_of(lanes: Sequence[MatrixRow]) -> Iterator[HeatCell]:
    """The cells of all lanes."""
    for one in lanes:
        yield from one.cells
