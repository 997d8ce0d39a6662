"""Which function looks at which point."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeAlias

from fencepost.core.checkup.alerts import alerts
from fencepost.core.checkup.clock_changes import clock_changes
from fencepost.core.checkup.facts import Facts
from fencepost.core.checkup.findings import POINTS, Finding, Point, Severity, merged
from fencepost.core.checkup.herds import herds
from fencepost.core.checkup.pace import catch_up, overlap, retry
from fencepost.core.checkup.promises import retention, run_key
from fencepost.core.checkup.rehearsals import fencing, replay

Check: TypeAlias = Callable[[Facts], Iterable[Finding]]

CHECKS: dict[Point, Check] = {
    Point.RUN_KEY: run_key,
    Point.RETENTION: retention,
    Point.OVERLAP: overlap,
    Point.CATCH_UP: catch_up,
    Point.RETRY: retry,
    Point.REPLAY: replay,
    Point.FENCING: fencing,
    Point.DST: clock_changes,
    Point.HERDS: herds,
    Point.ALERTS: alerts,
}


def check_up(facts: Facts, points: Collection[Point] = POINTS) -> tuple[Finding, ...]:
    """The findings of these points, in the order of the points."""
    return merged(one for point in POINTS if point in points for one in _at(point, facts))


def _at(point: Point, facts: Facts) -> Iterator[Finding]:
    yield from CHECKS[point](facts)
    if point in facts.cuts:
        yield Finding(point, Severity.UNKNOWN, facts.cuts[point])
