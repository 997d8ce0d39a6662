"""Points 1 and 2: what the promise itself depends on, the key of a run and the memory of the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from fencepost.core.checkup.facts import Facts, JobSheet, ScheduleSheet
from fencepost.core.checkup.findings import Finding, Point, Severity
from fencepost.core.serving import unserved_words
from fencepost.model.durations import format_duration
from fencepost.model.identifiers import JobName, ScheduleId

MARGIN = timedelta(days=1)
"""How much longer than the longest lateness the ledger should remember, so that people can still ask."""


def run_key(facts: Facts) -> Iterator[Finding]:
    """A job whose function does not take its run can pass on neither key nor fence to what it writes to."""
    users = _users(facts)
    found = [
        finding
        for name, job in facts.jobs.items()
        if (finding := _key_of(facts, job, tuple(users.get(name, ())))) is not None
    ]
    yield from found
    carried = len(facts.jobs) - len(found)
    if carried:
        commands = sum(job.is_command for job in facts.jobs.values())
        told = f"; {commands} of them are commands, which find it in FENCEPOST_RUN_KEY" if commands else ""
        yield Finding(Point.RUN_KEY, Severity.OK, f"{_jobs(carried)} handed the run key{told}")
    elif not facts.jobs:
        yield Finding(Point.RUN_KEY, Severity.OK, "there are no jobs")


def _key_of(facts: Facts, job: JobSheet, users: tuple[ScheduleId, ...]) -> Finding | None:
    name = job.spec.name
    if job.is_command or job.takes_run:
        return None
    if name in facts.unserved and users:
        return Finding(
            Point.RUN_KEY,
            Severity.WARN,
            f"{unserved_words(name)}, nor has this target: its schedules fire into nothing",
            f'say renamed_from="{name}" where the job was renamed; else fencepost schedules remove ID',
            users,
        )
    if job.takes_run is None:
        return Finding(
            Point.RUN_KEY,
            Severity.UNKNOWN,
            f"job {name}: its code is not in this target",
            "look at the target that has it",
            users,
        )
    return Finding(
        Point.RUN_KEY,
        Severity.WARN,
        f"job {name}: its function takes no run, so what it writes to cannot tell a repeated attempt from a "
        "new run, nor a stale one from the one that counts",
        f"take it as the first argument, def {_python_name(name)}(run: Run, ...), and pass run.key and "
        "run.fence on",
        users,
    )


def retention(facts: Facts) -> Iterator[Finding]:
    """The ledger cannot account for what it has forgotten."""
    found = [finding for one in facts.schedules if (finding := _memory_of(facts, one)) is not None]
    if facts.ledger is not None:
        found += [
            Finding(Point.RETENTION, Severity.WARN, one.what, one.remedy) for one in facts.ledger.caveats
        ]
    yield from found
    if not found:
        longest = max((one.spec.catch_up.max_lateness for one in facts.schedules), default=timedelta())
        kept, late = format_duration(facts.limits.retention), format_duration(longest)
        yield Finding(
            Point.RETENTION, Severity.OK, f"runs are kept for {kept}; the longest max_lateness is {late}"
        )


def _memory_of(facts: Facts, schedule: ScheduleSheet) -> Finding | None:
    kept, lateness = facts.limits.retention, schedule.spec.catch_up.max_lateness
    if kept < lateness + MARGIN:
        broken = kept < lateness
        what = "a late tick may still run when" if broken else "within a day of a late tick"
        return Finding(
            Point.RETENTION,
            Severity.FAIL if broken else Severity.WARN,
            f"runs are kept for {format_duration(kept)} and max_lateness is {format_duration(lateness)}: "
            f"{what} the ledger has forgotten those around it",
            f'retention_s = "{format_duration(lateness + MARGIN)}" or more in every process, '
            "or a shorter max_lateness",
            (schedule.schedule_id,),
        )
    period = None if schedule.rhythm is None else schedule.rhythm.period_max
    if period is None or period < kept:
        return None
    return Finding(
        Point.RETENTION,
        Severity.WARN,
        f"runs are kept for {format_duration(kept)} and the period is {format_duration(period)}: "
        "when a tick comes, the one before it is forgotten and run.previous is empty",
        f'retention_s = "{format_duration(2 * period)}" or more in every process',
        (schedule.schedule_id,),
    )


def _users(facts: Facts) -> dict[JobName, list[ScheduleId]]:
    users: dict[JobName, list[ScheduleId]] = {}
    for one in facts.schedules:
        users.setdefault(one.spec.job, []).append(one.schedule_id)
    return users


def _jobs(count: int) -> str:
    return "1 job is" if count == 1 else f"{count} jobs are"


def _python_name(name: str) -> str:
    """A parameter's name made from the job's: a job's name may have letters that a function's cannot."""
    return name if name.isidentifier() else "work"
