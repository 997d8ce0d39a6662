"""`[schedules.ID]`: when the jobs run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost.app import Fencepost
from fencepost.manifest.table import Table, suggestion
from fencepost.manifest.triggers import KEYS as TRIGGER_KEYS
from fencepost.manifest.triggers import read_trigger
from fencepost.model.policies import CatchUp, GateTerms, parse_overlap
from fencepost.model.quoting import quoted
from fencepost.model.schedule import parse_absent
from fencepost.model.stretch import Stretch, parse_stretch
from fencepost.triggers import Calendar, Combinable
from fencepost.triggers.series import Binding

KEYS = (
    *("job", *TRIGGER_KEYS, "max_runs", "spread", "jitter"),
    *("overlap", "catch_up", "payload", "queue", "priority", "labels", "absent"),
)


def add_schedule(app: Fencepost, schedule_id: str, table: Table, calendars: Mapping[str, Calendar]) -> None:
    """Give the application one schedule; `calendars` are those of the same file."""
    options = read_options(table)
    _check_job(table, app.jobs)
    with table.blaming():
        _check_fires(options["trigger"], schedule_id, calendars)
        app.add_schedule(schedule_id, **options)


def read_options(table: Table) -> dict[str, Any]:
    """What a table says of a schedule, as `Fencepost.add_schedule` takes it."""
    table.only(*KEYS)
    return {
        "job": table.text("job"),
        "trigger": _limited(table, read_trigger(table)),
        "payload": table.json_object("payload"),
        "overlap": table.checked("overlap", parse_overlap) or "skip",
        "catch_up": _catch_up(table),
        "spread": _stretch(table, "spread"),
        "jitter": _stretch(table, "jitter"),
        "queue": table.queue(),
        "priority": table.priority(),
        "labels": table.text_table("labels"),
        "absent": table.checked("absent", parse_absent) or "keep",
    }


def _check_job(table: Table, jobs: Mapping[Any, Any]) -> None:
    job = table.text("job")
    if job is None:
        table.refuse("job", f"is missing; {suggestion('', jobs)}")
    if job not in jobs:
        table.refuse("job", f"= {quoted(job)}: no such job in this file; {suggestion(job, jobs)}")


def _limited(table: Table, trigger: Combinable) -> Combinable:
    """A file is read at every start; what it counts must be counted from the same time each time."""
    count = table.whole("max_runs")
    if count is None:
        return trigger
    if trigger.starts is None:
        table.refuse("max_runs", f'= {count}: needs a start to count from, such as start = "2026-01-01"')
    with table.blaming("max_runs"):
        return trigger.limit(count)


def _check_fires(trigger: Combinable, schedule_id: str, calendars: Mapping[str, Calendar]) -> None:
    """A trigger that can never fire on the days of its calendars is refused as it is bound to them. Those of
    the store alone are looked at when the application starts."""
    if trigger.calendar_names() <= calendars.keys():
        trigger.bound(Binding(schedule_id, calendars))


def _stretch(table: Table, key: str) -> Stretch | None:
    value = table.raw(key)
    if value is None:
        return None
    with table.blaming(key):
        return parse_stretch(value)


def _catch_up(table: Table) -> CatchUp:
    value = table.raw("catch_up")
    if value is None or isinstance(value, str):
        with table.blaming("catch_up"):
            return CatchUp(value or "none")
    inner = table.table("catch_up")
    inner.only("mode", "max_lateness", "gate")
    gate = _gate(inner)
    with table.blaming("catch_up"):
        return CatchUp(inner.text("mode") or "none", inner.length("max_lateness"), gate)


def _gate(table: Table) -> GateTerms:
    inner = table.table("gate")
    inner.only("waiting_max", "failed_share", "of_last")
    usual = GateTerms()
    waiting_max, of_last = inner.whole("waiting_max"), inner.whole("of_last")
    share = inner.raw("failed_share")
    if share is not None and type(share) not in (int, float):
        inner.refuse("failed_share", f"= {quoted(share)}: expected a number from 0 to 1")
    with table.blaming("gate"):
        return GateTerms(
            usual.waiting_max if waiting_max is None else waiting_max,
            usual.failed_share if share is None else float(share),
            usual.of_last if of_last is None else of_last,
        )
