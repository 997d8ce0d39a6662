"""Points 3 to 5: what a schedule does when its runs are long, late or fail, held against its period.

The default overlap, `skip`, and the default catch-up, `none`, are good choices for short and frequent work.
The check-up cannot tell a chosen default from one that was never considered. So it questions a default only
where it costs ticks.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from fencepost.core.checkup.facts import Facts, JobSheet, Limits, ScheduleSheet
from fencepost.core.checkup.findings import Finding, Point, Severity
from fencepost.core.overlap import DISPLACING_KINDS
from fencepost.core.retry_window import outgrows
from fencepost.model.durations import format_duration
from fencepost.model.policies import CatchUpMode, OverlapKind
from fencepost.model.schedule import ScheduleSpec

RARE = timedelta(days=1)
"""From this period on, a lost tick hurts."""
OUTAGE = timedelta(hours=1)
"""What a rare tick should outlive."""
LATENESS_PROPOSED_MAX = timedelta(days=2)


def overlap(facts: Facts) -> Iterator[Finding]:
    """A run that outlasts the period meets the next tick: the schedule should say what happens then."""
    found = [finding for one in facts.schedules for finding in _overlap_of(facts.limits, one)]
    yield from found
    if not any(one.severity is Severity.WARN for one in found):
        told = "no schedule is known to outlast its period against its overlap policy"
        yield Finding(Point.OVERLAP, Severity.OK, told)


def _overlap_of(limits: Limits, schedule: ScheduleSheet) -> Iterator[Finding]:
    yield from _parallel(schedule)
    period, job = schedule.period_min, schedule.job
    if period is None or job is None:
        return
    yield from _outlasted(schedule, job, period)
    yield from _hung(schedule, job)
    yield from _slow_rescue(limits, schedule, period)


def _outlasted(schedule: ScheduleSheet, job: JobSheet, period: timedelta) -> Iterator[Finding]:
    policy = schedule.spec.overlap
    if policy.at_once_max != 1 or policy.kind is OverlapKind.BUFFER_ONE:
        return
    seen = schedule.typical_run is not None
    length = schedule.typical_run if seen else job.spec.timeout
    if length is None:
        reason = (
            "its job has no timeout, and no run that succeeded: whether it outlasts the period is not known"
        )
        yield _finding(Severity.UNKNOWN, reason, "a timeout, or look again when it has run", schedule)
    elif length > period:
        how = "takes" if seen else "may take"
        reason = f"a run {how} {format_duration(_rounded(length))}, longer than the period of "
        effect, remedy = _price(schedule.spec)
        yield _finding(Severity.WARN, f"{reason}{format_duration(period)}: {effect}", remedy, schedule)


def _price(spec: ScheduleSpec) -> tuple[str, str]:
    """What the policy costs when runs are longer than the period, and what would cost less."""
    if spec.overlap.kind is OverlapKind.BUFFER_ALL:
        return "the buffer only fills", "a longer period, or overlap allow(n) where runs may be side by side"
    if spec.overlap.kind in DISPLACING_KINDS:
        return "each tick stops the run before it", "a longer period, or overlap buffer_one"
    remedy = "overlap buffer_one, allow(n) where runs may be side by side, or a longer period"
    return f"overlap {spec.overlap} skips the ticks between", remedy


def _hung(schedule: ScheduleSheet, job: JobSheet) -> Iterator[Finding]:
    """Heartbeats come from a thread of their own, so a run that hangs looks alive. Where there are retries
    the retry window says so already."""
    tries_once = job.spec.at_most_once or job.spec.retry.max_attempts == 1
    if schedule.spec.overlap.at_once_max == 1 and tries_once and job.spec.timeout is None:
        reason = "its job has no timeout: one run that hangs holds up every later tick"
        yield _finding(Severity.WARN, reason, "a timeout", schedule)


def _slow_rescue(limits: Limits, schedule: ScheduleSheet, period: timedelta) -> Iterator[Finding]:
    if schedule.spec.overlap.kind is not OverlapKind.SKIP or period >= limits.rescue:
        return
    reason = (
        f"when a worker dies its run is rescued after up to {format_duration(limits.rescue)}, "
        f"longer than the period of {format_duration(period)}: the ticks meanwhile are skipped"
    )
    remedy = "a shorter heartbeat_timeout_s, overlap buffer_one, or allow where runs may be side by side"
    yield _finding(Severity.WARN, reason, remedy, schedule)


def _parallel(schedule: ScheduleSheet) -> Iterator[Finding]:
    policy, catching = schedule.spec.overlap, schedule.spec.catch_up
    most = policy.at_once_max
    if most is None or catching.at_once <= most:
        return
    reason = f"catch_up {catching.words} never has more than {most} at once: overlap is {policy}"
    remedy = f"overlap allow({catching.at_once}), or catch_up sequential"
    yield _finding(Severity.WARN, reason, remedy, schedule)


def catch_up(facts: Facts) -> Iterator[Finding]:
    """After an outage: is what was lost still worth running, and how much of it comes at once?"""
    found = [finding for one in facts.schedules for finding in _catch_up_of(facts.limits, one)]
    yield from found
    if not found:
        told = "no rare tick is lost by a short outage, and none comes back as a flood"
        yield Finding(Point.CATCH_UP, Severity.OK, told)


def _catch_up_of(limits: Limits, schedule: ScheduleSheet) -> Iterator[Finding]:
    rhythm, catching = schedule.rhythm, schedule.spec.catch_up
    if rhythm is None or not rhythm.fires:
        return
    if (rhythm.period_min is None or rhythm.period_min >= RARE) and catching.max_lateness < OUTAGE:
        yield _rare_and_lost(schedule, rhythm.period_min)
    elif catching.max_lateness <= limits.poll:
        reason = (
            f"max_lateness {format_duration(catching.max_lateness)} is not longer than poll_s, "
            f"{format_duration(limits.poll)}: a tick whose hint is lost is missed although workers are there"
        )
        yield _at_catch_up(reason, f"a max_lateness of {format_duration(3 * limits.poll)} or more", schedule)
    if rhythm.period_min is not None:
        yield from _flood(schedule, rhythm.period_min)


def _rare_and_lost(schedule: ScheduleSheet, period: timedelta | None) -> Finding:
    catching = schedule.spec.catch_up
    lost = "its last tick" if period is None else f"a tick, and the next is {format_duration(period)} away"
    proposed = LATENESS_PROPOSED_MAX if period is None else min(period / 2, LATENESS_PROPOSED_MAX)
    return _at_catch_up(
        f"catch_up {catching.words} with max_lateness {format_duration(catching.max_lateness)}: "
        f"an outage longer than that loses {lost}",
        f'catch_up = {{mode = "latest", max_lateness = "{format_duration(proposed)}"}}',
        schedule,
    )


def _flood(schedule: ScheduleSheet, period: timedelta) -> Iterator[Finding]:
    catching = schedule.spec.catch_up
    waiting = catching.max_lateness // period
    match catching.mode:
        case CatchUpMode.SEQUENTIAL | CatchUpMode.PARALLEL if waiting > catching.gate.waiting_max:
            reason = (
                f"an outage of its max_lateness, {format_duration(catching.max_lateness)}, leaves {waiting} "
                f"ticks: the gate closes at {catching.gate.waiting_max} and waits for a person"
            )
            lateness = format_duration(period * catching.gate.waiting_max)
            yield _at_catch_up(reason, f"a max_lateness of at most {lateness}, or catch_up latest", schedule)
        case CatchUpMode.NONE if waiting > 1 and schedule.spec.overlap.at_once_max is None:
            reason = (
                f"after an absence the {waiting} ticks of max_lateness, "
                f"{format_duration(catching.max_lateness)}, start at once: overlap is allow"
            )
            remedy = f"catch_up latest, overlap allow(n), or a max_lateness of {format_duration(period)}"
            yield _at_catch_up(reason, remedy, schedule)


def retry(facts: Facts) -> Iterator[Finding]:
    """Retries of one tick that go on while the next ones come, and may not start."""
    found = [finding for one in facts.schedules if (finding := _retry_of(one)) is not None]
    yield from found
    if not found:
        yield Finding(Point.RETRY, Severity.OK, "no retry window outgrows the period of a schedule")


def _retry_of(schedule: ScheduleSheet) -> Finding | None:
    period, job = schedule.period_min, schedule.job
    if period is None or job is None:
        return None
    warning = outgrows(period, job.spec, schedule.spec.overlap)
    if warning is None:
        return None
    reason, _, remedy = warning.partition("; fix: ")
    return Finding(Point.RETRY, Severity.WARN, reason, remedy or None, (schedule.schedule_id,))


def _at_catch_up(reason: str, remedy: str, schedule: ScheduleSheet) -> Finding:
    return Finding(Point.CATCH_UP, Severity.WARN, reason, remedy, (schedule.schedule_id,))


def _finding(severity: Severity, reason: str, remedy: str, schedule: ScheduleSheet) -> Finding:
    return Finding(Point.OVERLAP, severity, reason, remedy, (schedule.schedule_id,))


def _rounded(length: timedelta) -> timedelta:
    """An average has more digits than it deserves."""
    return timedelta(seconds=round(length.total_seconds())) if length.total_seconds() >= 10 else length
