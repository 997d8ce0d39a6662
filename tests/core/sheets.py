"""Facts for the check-up: one schedule of one job, sound in every respect until a case says otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fencepost.core.checkup import Finding, Point, Severity, check_up
from fencepost.core.checkup.facts import Edge, Facts, JobSheet, Limits, Rhythm, ScheduleSheet
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, ScheduleId
from fencepost.model.job import JobSpec, Retry
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.trigger import Trigger
from fencepost.triggers import Every

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
REPORT = JobName("report")
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LIMITS = Limits(retention=30 * DAY, poll=timedelta(seconds=5), rescue=timedelta(seconds=35), concurrency=20)


def job(name: str = REPORT, takes_run: bool | None = True, **spec: Any) -> JobSheet:
    """A job that takes its run and a minute at most."""
    chosen = {"timeout": MINUTE, "retry": Retry(1), **spec}
    return JobSheet(JobSpec(JobName(name), **chosen), takes_run)


def rhythm(
    every: timedelta | None = HOUR, trigger: Trigger | None = None, edges: Iterable[Edge] = ()
) -> Rhythm:
    """So often; None is once more and never again."""
    return Rhythm(trigger or Every(every or HOUR), every, every, edges=tuple(edges))


def schedule(
    name: str = "beat",
    every: timedelta | None = HOUR,
    doing: JobSheet | None = None,
    typical: timedelta | None = None,
    beat: Rhythm | None = None,
    **spec: Any,
) -> ScheduleSheet:
    """A schedule of the job that does it, or of the sound one."""
    work, beat = doing or job(), beat or rhythm(every)
    wanted = ScheduleSpec(work.spec.name, beat.trigger.to_json(), **spec)
    return ScheduleSheet(ScheduleId(name), wanted, work, beat, typical)


def facts(*schedules: ScheduleSheet, **others: Any) -> Facts:
    """All there is to know of these schedules and their jobs."""
    jobs = {one.job.spec.name: one.job for one in schedules if one.job is not None}
    whole = Facts(DEFAULT_NAMESPACE, NOW, LIMITS, jobs, schedules)
    return replace(whole, **others)


def found(point: Point, known: Facts) -> list[Finding]:
    """What is said at one point."""
    findings = list(check_up(known, [point]))
    assert all(one.point is point for one in findings)
    return findings


def only(point: Point, known: Facts) -> Finding:
    """The one thing that is said there."""
    (finding,) = found(point, known)
    return finding


def is_clean(point: Point, known: Facts) -> bool:
    return [one.severity for one in found(point, known)] == [Severity.OK]
