"""The jobs of APScheduler 3.11 and newer, from the JSON that `scheduler.export_jobs()` writes.

The export holds pickles for all that JSON has no word for. They are read as data and never loaded (see
`fencepost.importing.pickled`); a job with an argument of any other kind is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.errors import InvalidSpec, UsageError
from fencepost.importing.apscheduler_triggers import PICKLE, read_moment, read_trigger
from fencepost.importing.clocks import changing
from fencepost.importing.documents import checked_payload, is_plain, read_document, text, whole
from fencepost.importing.names import Names, slug
from fencepost.importing.python import (
    FunctionJob,
    ScheduleText,
    brief,
    checked_path,
    function_name,
    literal,
    write_module,
)
from fencepost.importing.report import Imported, Report, listed
from fencepost.model.durations import DURATION_MAX, format_duration
from fencepost.model.quoting import quoted

TITLE = "Jobs and schedules that were APScheduler's. Read it before you use it."
EXPECTED = "expected the JSON that APScheduler 3.11 writes with scheduler.export_jobs('jobs.json')"
VERSION = 1
GRACE_MAX_S = 36_525 * 86_400
TIGHT_S = 30
INSTANCES_MAX = 1_000
DEFAULT_EXECUTOR = "default"

_RANDOM_ID = re.compile(r"[0-9a-f]{32}")


def import_apscheduler(document: str, source: str) -> Imported:
    """The module for an export, and what to know about it."""
    reading = _JobStoreReading()
    for number, job in enumerate(_jobs(document, source), 1):
        where = f"job {quoted(job['id'])}" if isinstance(job, dict) and "id" in job else f"job {number}"
        with reading.report.leaving_out(where):
            reading.add(where, job)
    reading.conclude()
    module = write_module(TITLE, list(reading.jobs.values()), reading.schedules)
    carried = tuple(one.schedule_id for one in reading.schedules if not one.off)
    return Imported(module, carried, reading.report)


def _jobs(document: str, source: str) -> list[Any]:
    match read_document(document, source):
        case {"version": int(version), "jobs": list(jobs)}:
            if version == VERSION:
                return jobs
            raise UsageError(f"{source}: an export of version {version}; {EXPECTED}")
    raise UsageError(f"{source}: {EXPECTED}")


CLOCKS = (
    "the clocks change there. A fixed time that they skip fires as the gap ends, in APScheduler as much "
    'later as they moved. One that they show twice fires once, in APScheduler twice: fold="both" does too'
)


@dataclass
class _JobStoreReading:
    """What was read so far."""

    report: Report = field(default_factory=Report)
    jobs: dict[str, FunctionJob] = field(default_factory=dict)
    schedules: list[ScheduleText] = field(default_factory=list)
    job_names: Names = field(default_factory=Names)
    functions: Names = field(default_factory=lambda: Names("_"))
    schedule_ids: Names = field(default_factory=Names)
    tight: list[str] = field(default_factory=list)

    def add(self, where: str, job: object) -> None:
        """Carry one job over; a refusal leaves nothing of it behind."""
        if not isinstance(job, dict):
            raise InvalidSpec(f"{quoted(job)}: expected an object")
        next_run = read_moment(job.get("next_run_time"))
        trigger = read_trigger(job.get("trigger"), next_run)
        reference, called = _reference(job.get("func")), _called(job)
        options = self._options(where, job)
        reasons = _reasons_off(job)
        for reason in reasons:
            self.report.left_out(where, f"{reason}; it stands in the module as a comment")
        name = self._job(reference).name
        schedule_id = self.schedule_ids.unique(slug(called))
        self.schedules.append(
            ScheduleText(schedule_id, name, trigger, options, (where, *reasons), off=bool(reasons))
        )

    def conclude(self) -> None:
        """What is to be said of all jobs."""
        for reference, job in self.jobs.items():
            self.report.look(
                f"job {job.name}", f"calls {reference}: make sure that every worker can import it"
            )
        if self.tight:
            said = f"may start less than {TIGHT_S} s late, which is tight on a fleet: raise max_lateness"
            self.report.look(listed(self.tight), said)
        if zones := changing(one.trigger for one in self.schedules):
            self.report.look(zones, CLOCKS)

    def _job(self, reference: tuple[str, str]) -> FunctionJob:
        module, attribute = reference
        about = f"{module}:{attribute}"
        if about not in self.jobs:
            name = self.job_names.unique(slug(attribute.rpartition(".")[2]))
            function = self.functions.unique(function_name(name))
            self.jobs[about] = FunctionJob(name, function, module, attribute)
        return self.jobs[about]

    def _options(self, where: str, job: Mapping[str, Any]) -> dict[str, str]:
        payload = checked_payload(job.get("kwargs") or {}, "kwargs")
        if PICKLE in str(payload):
            raise InvalidSpec("kwargs: hold a pickled object, which is not read")
        instances = whole(job.get("max_instances", 1), "max_instances", 1, INSTANCES_MAX)
        options = {"payload": literal(payload)} if payload else {}
        options["overlap"] = literal("skip" if instances == 1 else f"allow({instances})")
        options["catch_up"] = self._catch_up(where, job, instances)
        jitter = _jitter(job.get("trigger"))
        if jitter:
            options["jitter"] = literal(f"{jitter}s")
        executor = job.get("executor", DEFAULT_EXECUTOR)
        if executor != DEFAULT_EXECUTOR:
            self.report.look(
                where, f"executor {quoted(executor)}: not carried over; a queue may stand for it"
            )
        return options

    def _catch_up(self, where: str, job: Mapping[str, Any], instances: int) -> str:
        grace = job.get("misfire_grace_time")
        if grace is None:
            lateness = format_duration(DURATION_MAX)
            self.report.note(
                where, f"may be late without limit; max_lateness is {lateness}, the longest there is"
            )
        else:
            seconds = whole(grace, "misfire_grace_time", 1, GRACE_MAX_S)
            lateness = f"{seconds}s"
            if seconds < TIGHT_S:
                self.tight.append(where)
        every = "sequential" if instances == 1 else f"parallel({instances})"
        mode = "latest" if job.get("coalesce", True) else every
        return f"CatchUp({literal(mode)}, max_lateness={literal(lateness)})"


def _reasons_off(job: Mapping[str, Any]) -> tuple[str, ...]:
    """Why a job must not simply run as it stands."""
    reasons = []
    if job.get("next_run_time") is None:
        reasons.append("is paused")
    if job.get("args"):
        reasons.append(f"has arguments without names ({_shown(job['args'])}); name them in the payload")
    return tuple(reasons)


def _shown(arguments: Any) -> str:
    return brief(arguments) if is_plain(arguments) and PICKLE not in str(arguments) else "pickled"


def _reference(value: object) -> tuple[str, str]:
    module, colon, attribute = text(value, "func").partition(":")
    if not colon:
        raise InvalidSpec(f"func {quoted(value)}: expected module:function")
    return checked_path(module, "func"), checked_path(attribute, "func")


def _called(job: Mapping[str, Any]) -> str:
    """The id, or where APScheduler drew one at random, the name."""
    chosen = text(job.get("id"), "id")
    named = job.get("name")
    return named if _RANDOM_ID.fullmatch(chosen) and isinstance(named, str) else chosen


def _jitter(trigger: object) -> int:
    match trigger:
        case {"__apscheduler_state__": {"jitter": jitter}} if jitter is not None:
            return whole(jitter, "jitter", 0, GRACE_MAX_S)
    return 0
