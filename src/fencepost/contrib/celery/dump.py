"""The entries of a `beat_schedule`, in the form in which django-celery-beat keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from celery import beat
from celery.schedules import crontab, schedule, solar

from fencepost.contrib.celery.entries import OPTION, is_plain, lists
from fencepost.contrib.celery.triggers import cron_expression, trigger_of, zone_of
from fencepost.errors import InvalidSpec, UsageError

SECOND = timedelta(seconds=1)
MODEL = "django_celery_beat"
COLUMNS = ("queue", "exchange", "routing_key", "priority", "headers")
FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")


@dataclass
class Dump:
    """Rows, what could not be one, and what is another thing here than it was there."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    unfit: list[tuple[str, str]] = field(default_factory=list)
    doubtful: list[tuple[str, str]] = field(default_factory=list)


def dumped(celery: Any) -> Dump:
    """What `manage.py dumpdata django_celery_beat` would print of these entries."""
    if not hasattr(celery, "send_task"):
        raise UsageError(f"{celery!r}: expected a Celery application")
    found = Dump()
    celery.finalize()
    for name, said in celery.conf.beat_schedule.items():
        try:
            _add(found, beat.ScheduleEntry(**{**said, "name": name, "app": celery}), len(found.rows))
        except (TypeError, UsageError) as error:
            found.unfit.append((name, str(error)))
    return found


def _add(found: Dump, entry: beat.ScheduleEntry, number: int) -> None:
    trigger_of(entry.schedule, entry.app)
    args, kwargs = lists(entry.args), dict(entry.kwargs or {})
    if not is_plain(args) or not is_plain(kwargs):
        raise InvalidSpec("has arguments that are no JSON; write this one by hand")
    options = {name: value for name, value in entry.options.items() if name != OPTION}
    kind, fields = _schedule(entry)
    row = {"name": entry.name, "task": entry.task, kind: number, "enabled": True}
    row |= {"args": json.dumps(args), "kwargs": json.dumps(kwargs)}
    row |= {name: options.pop(name) for name in COLUMNS if options.get(name) is not None}
    expires = options.pop("expires", None)
    if isinstance(expires, int | float) and expires == int(expires):
        row["expire_seconds"] = int(expires)
    elif expires is not None:
        found.doubtful.append((entry.name, "expires: not carried over; see max_lateness"))
    for name in options:
        found.doubtful.append((entry.name, f"{name}: not carried over; options of the job may say it"))
    if OPTION in entry.options:
        found.doubtful.append((entry.name, f'options["{OPTION}"]: not carried over; say it of the schedule'))
    if isinstance(entry.schedule, schedule) and kind == "interval":
        start = "midnight: say anchor and tz" if entry.schedule.relative else "when beat was started"
        found.doubtful.append((entry.name, f"counts from 1970 in UTC, not from {start}"))
    found.rows.append({"model": f"{MODEL}.{kind}schedule", "pk": number, "fields": fields})
    found.rows.append({"model": f"{MODEL}.periodictask", "pk": number, "fields": row})


def _schedule(entry: beat.ScheduleEntry) -> tuple[str, Mapping[str, Any]]:
    given = entry.schedule
    if isinstance(given, crontab):
        texts = cron_expression(given).replace("+", "").split()
        return "crontab", {**dict(zip(FIELDS, texts, strict=True)), "timezone": zone_of(given, entry.app)}
    if isinstance(given, solar):
        return "solar", {"event": given.event, "latitude": given.lat, "longitude": given.lon}
    if given.run_every % SECOND:
        return "interval", {"every": given.run_every // timedelta(microseconds=1), "period": "microseconds"}
    return "interval", {"every": given.run_every // SECOND, "period": "seconds"}
