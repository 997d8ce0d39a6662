"""The periodic tasks of django-celery-beat, from the JSON of `manage.py dumpdata django_celery_beat`, or
those of a `beat_schedule`, which `contrib.celery.dump` brings into the same form.

Beat sends a message and looks no further: runs may overlap, and a task that fell due while beat was away is
sent once when it comes back. That is kept. Its crontab fields must all match, so where a day and a weekday
are both named ours says `+`: both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.errors import InvalidSpec, UsageError
from fencepost.importing.clocks import changing
from fencepost.importing.documents import checked_payload, is_plain, read_document, text, whole
from fencepost.importing.names import Names, slug
from fencepost.importing.python import (
    FunctionJob,
    ScheduleText,
    TriggerText,
    brief,
    function_name,
    literal,
    write_module,
)
from fencepost.importing.report import Imported, Report
from fencepost.model.identifiers import checked_name
from fencepost.model.quoting import quoted
from fencepost.model.times import parse_time, to_utc_text
from fencepost.triggers.cron import fields as cron_fields

TITLE = "Jobs and schedules that were django-celery-beat's. Read it before you use it."
TITLE_OF_CODE = "Jobs and schedules that were a beat_schedule of Celery's. Read it before you use it."
EXPECTED = "expected the JSON of: python manage.py dumpdata django_celery_beat"
MODEL = "django_celery_beat."
TASK = "periodictask"
KINDS = {
    "interval": "intervalschedule",
    "crontab": "crontabschedule",
    "solar": "solarschedule",
    "clocked": "clockedschedule",
}
UPKEEP = "celery.backend_cleanup"
PERIODS = ("days", "hours", "minutes", "seconds")
SECONDS_MAX = 36_525 * 86_400
EVENTS = {
    "sunrise": "sunrise",
    "sunset": "sunset",
    "dawn_civil": "dawn",
    "dusk_civil": "dusk",
    "solar_noon": "noon",
}
CRON_FIELDS = {
    "minute": cron_fields.MINUTE,
    "hour": cron_fields.HOUR,
    "day_of_month": cron_fields.DAY,
    "month_of_year": cron_fields.MONTH,
    "day_of_week": cron_fields.WEEKDAY,
}
CLOCKS = (
    "the clocks change there. A time that they skip fires as the gap ends, in Celery as much later as they "
    "moved. What comes every hour fires in both showings of a repeated hour, in Celery in the first alone: "
    'fold="first" does the same'
)
ROUTING = ("exchange", "routing_key", "priority")

_LONG_NAME = re.compile(r"([A-Za-z]{3})[A-Za-z]*")
_UNFIT = re.compile(r"[^A-Za-z0-9_.:/-]+")

Fields = Mapping[str, Any]


def import_celery_beat(
    document: str,
    source: str,
    celery: str | None = None,
    unfit: Iterable[tuple[str, str]] = (),
    doubtful: Iterable[tuple[str, str]] = (),
) -> Imported:
    """The module for a dump, and what to know about it. With `celery`, where its application is, the module
    sends the tasks; what the dump could not hold, or holds in another form, is told in the report."""
    rows = _rows(document, source)
    reading = _BeatReading({key: fields for key, fields in rows if key[0] != TASK}, celery)
    for name, why in unfit:
        reading.report.left_out(f"task {quoted(name)}", why)
    for name, why in doubtful:
        reading.report.look(f"task {quoted(name)}", why)
    for number, fields in enumerate((fields for key, fields in rows if key[0] == TASK), 1):
        where = f"task {quoted(fields['name'])}" if "name" in fields else f"task {number}"
        with reading.report.leaving_out(where):
            reading.add(where, fields)
    reading.conclude()
    title = TITLE if celery is None else TITLE_OF_CODE
    module = write_module(title, list(reading.jobs.values()), reading.schedules)
    carried = tuple(one.schedule_id for one in reading.schedules if not one.off)
    return Imported(module, carried, reading.report)


def _rows(document: str, source: str) -> list[tuple[tuple[str, str], Fields]]:
    """The rows of beat's tables, by table and key; those of other tables are passed over."""
    found = read_document(document, source)
    if not isinstance(found, list):
        raise UsageError(f"{source}: {EXPECTED}")
    rows: list[tuple[tuple[str, str], Fields]] = []
    for row in found:
        match row:
            case {"model": str(model), "pk": pk, "fields": dict(fields)} if model.startswith(MODEL):
                rows.append(((model.removeprefix(MODEL), str(pk)), fields))
            case {"model": str()}:
                continue
            case _:
                raise UsageError(f"{source}: holds {quoted(row)}; {EXPECTED}")
    return rows


@dataclass
class _BeatReading:
    """What was read so far, and the tables that tasks refer to."""

    tables: Mapping[tuple[str, str], Fields]
    celery: str | None = None
    report: Report = field(default_factory=Report)
    jobs: dict[tuple[str, str | None], FunctionJob] = field(default_factory=dict)
    schedules: list[ScheduleText] = field(default_factory=list)
    job_names: Names = field(default_factory=Names)
    functions: Names = field(default_factory=lambda: Names("_"))
    schedule_ids: Names = field(default_factory=Names)

    def add(self, where: str, fields: Fields) -> None:
        """Carry one task over; a refusal leaves nothing of it behind."""
        task, name = text(fields.get("task"), "task"), text(fields.get("name"), "name")
        if task == UPKEEP:
            raise InvalidSpec("is Celery's own upkeep, which Fencepost has no use for")
        trigger = self._trigger(fields)
        arguments = _arguments(fields)
        options = self._options(where, fields)
        reasons = _reasons_off(fields, arguments)
        for reason in reasons:
            self.report.left_out(where, f"{reason}; it stands in the module as a comment")
        job = self._job(task, fields.get("queue") or None)
        schedule_id = self.schedule_ids.unique(slug(name))
        self.schedules.append(
            ScheduleText(schedule_id, job.name, trigger, options, (where, *reasons), off=bool(reasons))
        )

    def conclude(self) -> None:
        """What is to be said of all tasks."""
        for (task, _), job in self.jobs.items():
            if self.celery is not None:
                continue
            self.report.look(f"job {job.name}", f"bring the work of {quoted(task)} into {job.function}()")
        if self.schedules:
            said = "a task that fell due while no planner ran is started once, if it is at most an hour late"
            self.report.note("file", f"{said}; raise max_lateness for more")
        if zones := changing(one.trigger for one in self.schedules):
            self.report.look(zones, CLOCKS)

    def _trigger(self, fields: Fields) -> TriggerText:
        given = [kind for kind in KINDS if fields.get(kind) is not None]
        if len(given) != 1:
            raise InvalidSpec(f"expected exactly one of {', '.join(KINDS)}, not {', '.join(given) or 'none'}")
        (kind,) = given
        row = self.tables.get((KINDS[kind], str(fields[kind])))
        if row is None:
            raise InvalidSpec(f"{kind} {quoted(fields[kind])}: not in the dump; {EXPECTED}")
        name, arguments, options = _READERS[kind](row)
        start, end = _moment(fields, "start_time"), _moment(fields, "expires")
        trigger = TriggerText(name, arguments, options, start, end)
        trigger.build()
        return trigger

    def _options(self, where: str, fields: Fields) -> dict[str, str]:
        payload = checked_payload(_json(fields, "kwargs", "{}"), "kwargs")
        options = {"payload": literal(payload)} if payload else {}
        options["overlap"] = literal("allow")
        options["catch_up"] = _catch_up(fields)
        queue = fields.get("queue")
        if queue and self.celery is None:
            options["queue"] = literal(checked_name("queue", text(queue, "queue")))
            self.report.look(
                where, f"queue {quoted(queue)}: some worker must take it, see the setting queues"
            )
        for key in ROUTING:
            if fields.get(key) is not None:
                self.report.look(where, f"{key} {quoted(fields[key])}: not carried over")
        if fields.get("headers") not in (None, "", "{}", {}):
            self.report.look(where, "headers: not carried over")
        return options

    def _job(self, task: str, queue: str | None) -> FunctionJob:
        """One for each task, and where the task is sent also for each of its queues in Celery."""
        key = task, queue if self.celery is not None else None
        if key not in self.jobs:
            name = self.job_names.unique(_UNFIT.sub("-", task).lstrip(".:/-")[:100] or "job")
            function = self.functions.unique(function_name(name))
            self.jobs[key] = FunctionJob(name, function, celery=self.celery, task=task, queue=key[1])
        return self.jobs[key]


Reading = tuple[str, tuple[Any, ...], dict[str, str]]


def _interval(row: Fields) -> Reading:
    every = whole(row.get("every"), "every", 1, SECONDS_MAX * 1_000_000)
    period = text(row.get("period"), "period")
    if period == "microseconds":
        if every % 1_000:
            raise InvalidSpec(f"interval of {every} microseconds: expected whole milliseconds")
        return "Every", (f"{every // 1_000}ms",), {}
    if period not in PERIODS:
        raise InvalidSpec(f"period {quoted(period)}: expected one of {', '.join(PERIODS)}")
    return "Every", (f"{every}{period[0]}",), {}


def _crontab(row: Fields) -> Reading:
    minute, hour, day, month, weekday = (_cron_field(row, name) for name in CRON_FIELDS)
    both = "" if "*" in (day, weekday) else "+"
    tz = text(row.get("timezone", "UTC"), "timezone")
    return "Cron", (f"{minute} {hour} {day} {month} {both}{weekday}",), {"tz": tz}


def _cron_field(row: Fields, name: str) -> str:
    """One field without spaces, with names of three letters, and with ranges that run forwards."""
    value = "".join(text(row.get(name, "*"), name).split())
    return cron_fields.forwards(CRON_FIELDS[name], _LONG_NAME.sub(lambda found: found[1].upper(), value))


def _solar(row: Fields) -> Reading:
    event = text(row.get("event"), "solar event")
    if event not in EVENTS:
        raise InvalidSpec(
            f"solar event {quoted(event)}: not carried over; those that are: {', '.join(EVENTS)}"
        )
    return "Solar", (EVENTS[event], _degrees(row, "latitude"), _degrees(row, "longitude")), {}


def _clocked(row: Fields) -> Reading:
    moment = _moment(row, "clocked_time")
    if moment is None:
        raise InvalidSpec("clocked_time: is missing")
    return "At", (moment,), {}


def _reasons_off(fields: Fields, arguments: list[Any]) -> tuple[str, ...]:
    """Why a task must not simply run as it stands."""
    reasons = []
    if not fields.get("enabled", True):
        reasons.append("is not enabled")
    if fields.get("one_off") and fields.get("clocked") is None:
        reasons.append("is to run only once; give it a time: At(...)")
    if arguments:
        reasons.append(f"has arguments without names ({brief(arguments)}); name them in the payload")
    return tuple(reasons)


def _arguments(fields: Fields) -> list[Any]:
    arguments = _json(fields, "args", "[]")
    if not isinstance(arguments, list) or not is_plain(arguments):
        raise InvalidSpec(f"args: {quoted(arguments)}: expected a list of plain values")
    return arguments


def _catch_up(fields: Fields) -> str:
    expires_s = fields.get("expire_seconds")
    if expires_s is None:
        return literal("latest")
    lateness = f"{whole(expires_s, 'expire_seconds', 0, SECONDS_MAX)}s"
    return f"CatchUp({literal('latest')}, max_lateness={literal(lateness)})"


def _json(fields: Fields, name: str, default: str) -> Any:
    """A column that holds JSON as text."""
    value = fields.get(name)
    return read_document(value if isinstance(value, str) and value.strip() else default, name)


def _moment(fields: Fields, name: str) -> str | None:
    value = fields.get(name)
    return None if value is None else to_utc_text(parse_time(text(value, name)))


def _degrees(row: Fields, name: str) -> float:
    """Django writes decimals as texts."""
    try:
        return float(row.get(name, ""))
    except (TypeError, ValueError):
        raise InvalidSpec(f"solar {name} {quoted(row.get(name))}: expected degrees") from None


_READERS: dict[str, Callable[[Fields], Reading]] = {
    "interval": _interval,
    "crontab": _crontab,
    "solar": _solar,
    "clocked": _clocked,
}
