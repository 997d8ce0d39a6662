"""`[schedules.ID]`: when the jobs run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fencepost.app import Fencepost
from fencepost.manifest.table import Table, suggestion
from fencepost.model.quoting import quoted
from fencepost.model.schedule import CatchUp, parse_overlap
from fencepost.model.trigger import Trigger
from fencepost.triggers import At, Cron, Every, zone
from fencepost.triggers.dst import checked_fold, checked_gap

TRIGGERS = ("cron", "every", "at")
COMPANIONS = {"tz": ("cron", "at"), "dst": ("cron",), "anchor": ("every",)}
KEYS = ("job", *TRIGGERS, *COMPANIONS, "overlap", "catch_up", "payload", "queue", "priority", "labels")


def add_schedule(app: Fencepost, schedule_id: str, table: Table) -> None:
    """Give the application one schedule."""
    table.only(*KEYS)
    options: dict[str, Any] = {
        "job": _job(table, app.jobs),
        "trigger": _trigger(table),
        "payload": table.json_object("payload"),
        "overlap": table.checked("overlap", parse_overlap) or "skip",
        "catch_up": _catch_up(table),
        "queue": table.queue(),
        "priority": table.priority(),
        "labels": table.text_table("labels"),
    }
    with table.blaming():
        app.add_schedule(schedule_id, **options)


def _job(table: Table, jobs: Mapping[Any, Any]) -> str:
    job = table.text("job")
    if job is None:
        table.refuse("job", f"is missing; {suggestion('', jobs)}")
    if job not in jobs:
        table.refuse("job", f"= {quoted(job)}: no such job in this file; {suggestion(job, jobs)}")
    return job


def _trigger(table: Table) -> Trigger:
    given = [kind for kind in TRIGGERS if kind in table]
    if len(given) != 1:
        table.refuse(" ".join(given) or "cron", "must be exactly one of cron, every and at")
    kind = given[0]
    for key, kinds in COMPANIONS.items():
        if key in table and kind not in kinds:
            table.refuse(key, f"has no meaning with {kind}; it belongs to {' or '.join(kinds)}")
    match kind:
        case "cron":
            return _cron(table)
        case "every":
            return _every(table)
        case _:
            return _at(table)


def _cron(table: Table) -> Cron:
    policy = table.table("dst")
    policy.only("gap", "fold")
    gap = checked_gap(policy.checked("gap", checked_gap))
    fold = checked_fold(policy.checked("fold", checked_fold))
    expression, tz = table.text("cron"), _zone(table)
    with table.blaming("cron"):
        return Cron(expression or "", tz=tz, gap=gap, fold=fold)


def _every(table: Table) -> Every:
    anchor = table.raw("anchor")
    if not isinstance(anchor, datetime):
        anchor = table.text("anchor")
    interval = table.length("every")
    assert interval is not None
    with table.blaming("anchor" if anchor is not None else "every"):
        return Every(interval, anchor=anchor)


def _at(table: Table) -> At:
    value = table.raw("at")
    times = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str | datetime) for one in times):
        table.refuse("at", f"= {quoted(value)}: expected one time or a list, such as 2026-12-24T18:00:00")
    tz = _zone(table)
    with table.blaming("at"):
        return At(times, tz=tz)


def _zone(table: Table) -> str:
    return table.checked("tz", zone) or "UTC"


def _catch_up(table: Table) -> CatchUp:
    value = table.raw("catch_up")
    if value is None or isinstance(value, str):
        with table.blaming("catch_up"):
            return CatchUp(value or "none")
    inner = table.table("catch_up")
    inner.only("mode", "max_lateness")
    with table.blaming("catch_up"):
        return CatchUp(inner.text("mode") or "none", inner.length("max_lateness"))
