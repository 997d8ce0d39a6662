"""What the check-up says: a finding, with its reason and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import ScheduleId

NAMES_TOLD_MAX = 3


class Point(StrEnum):
    """The points of the check-up, in the order in which they are told."""

    RUN_KEY = "run-key"
    RETENTION = "retention"
    OVERLAP = "overlap"
    CATCH_UP = "catch-up"
    RETRY = "retry"
    REPLAY = "replay"
    FENCING = "fencing"
    DST = "dst"
    HERDS = "herds"
    ALERTS = "alerts"


POINTS = tuple(Point)


class Severity(StrEnum):
    """From nothing to worry about to what breaks the promise."""

    OK = "ok"
    UNKNOWN = "unknown"
    """It cannot be seen from here: neither good nor bad."""
    WARN = "warn"
    FAIL = "fail"


SEVERITIES = tuple(Severity)


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `schedules` are those that it concerns, if any; `example` is a text of several lines that
    carries out the remedy."""

    point: Point
    severity: Severity
    reason: str
    remedy: str | None = None
    schedules: tuple[ScheduleId, ...] = ()
    example: str | None = None


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings that say the same of several schedules become one; the gravest of a point come first."""
    alike: dict[Finding, list[ScheduleId]] = {}
    for one in findings:
        alike.setdefault(replace(one, schedules=()), []).extend(one.schedules)
    told = (replace(one, schedules=tuple(schedules)) for one, schedules in alike.items())
    return tuple(sorted(told, key=lambda one: (POINTS.index(one.point), -_weight(one.severity))))


def worst(findings: Iterable[Finding]) -> Severity:
    """The gravest of them; of none, all is well."""
    return max((one.severity for one in findings), key=_weight, default=Severity.OK)


def some_of(names: Iterable[str], count: int) -> str:
    """The first few of these names, and the number of the others: `a, b, c and 97 more`."""
    told = [name for name, _ in zip(names, range(NAMES_TOLD_MAX), strict=False)]
    more = f" and {count - len(told)} more" if count > len(told) else ""
    return ", ".join(told) + more


def _weight(severity: Severity) -> int:
    return SEVERITIES.index(severity)
