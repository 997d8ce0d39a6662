"""Point 8: what the next year's changes of the clocks do to each schedule."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.core.checkup.facts import Edge, Effect, Facts, ScheduleSheet
from fencepost.core.checkup.findings import Finding, Point, Severity

SEVERITY = {
    Effect.SKIPPED: Severity.WARN,
    Effect.DOUBLED: Severity.WARN,
    Effect.MOVED: Severity.OK,
    Effect.UNTOLD: Severity.UNKNOWN,
}
REMEDIES = {
    Effect.SKIPPED: "the policy gap shift, wall times outside the gap, or UTC; or leave it, where ticks may "
    "be left out that day",
    Effect.DOUBLED: "the policy fold first or last, wall times outside the fold, or UTC; or leave it, where "
    "the job may run twice that day",
    Effect.UNTOLD: "look at the fire times of that day: fencepost next",
}


def clock_changes(facts: Facts) -> Iterator[Finding]:
    """Each edge that touches a schedule; those where a tick is skipped or doubled need a decision."""
    found = [finding for one in facts.schedules for finding in _of(one)]
    yield from found
    if not any(one.severity is Severity.WARN for one in found):
        told = "no tick of the next year is skipped or doubled by a change of the clocks"
        yield Finding(Point.DST, Severity.OK, told)


def _of(schedule: ScheduleSheet) -> Iterator[Finding]:
    about = (schedule.schedule_id,)
    if schedule.trouble is not None:
        reason = f"when it fires cannot be told: {schedule.trouble}"
        yield Finding(Point.DST, Severity.UNKNOWN, reason, None, about)
    edges: tuple[Edge, ...] = () if schedule.rhythm is None else schedule.rhythm.edges
    for edge in edges:
        sentence = edge.sentence.rstrip(".")
        yield Finding(Point.DST, SEVERITY[edge.effect], sentence, REMEDIES.get(edge.effect), about)
