"""Schedules that a file describes, for the store: `[schedules.ID]` of TOML as in a manifest, or a JSON list
as `fencepost schedules list --json` prints it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import Any, NamedTuple

import msgspec

from fencepost.app.specs import schedule_spec
from fencepost.errors import InvalidSpec, UsageError
from fencepost.manifest.file import PLACE, TABLES
from fencepost.manifest.reading import parse_toml
from fencepost.manifest.schedules import read_options
from fencepost.manifest.table import Table
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations.applying import ScheduleEntry
from fencepost.operations.responses.schedules import OutlookResponse, SpecResponse
from fencepost.operations.schedule_words import CatchUpWords, GateWords

SAID = frozenset(SpecResponse.__struct_fields__) - {"calendars", "absent"} | {"schedule_id"}
SHOWN_ONLY = frozenset(OutlookResponse.__struct_fields__) - SAID
"""Fields that a list shows of a schedule and that a manifest cannot set."""


class Entries(NamedTuple):
    """The schedules of a file, and the namespace that it names."""

    schedules: list[ScheduleEntry]
    namespace: str | None = None


def read_entries(file: str, data: bytes) -> Entries:
    """What a file says, by its name and what it holds; one line about the first that is wrong."""
    found = _entries(file, data)
    entries = found.schedules
    for schedule_id, count in Counter(one.schedule_id for one in entries).items():
        if count > 1:
            raise UsageError(f"{file}: schedule {schedule_id}: is given twice; give each id once")
    return found


def _entries(file: str, data: bytes) -> Entries:
    if file.endswith(".toml"):
        return _of_toml(file, data)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        if file.endswith(".json"):
            raise UsageError(f"{file}: not JSON: {error}") from None
        return _of_toml(file, data)
    if not isinstance(document, list) or not all(isinstance(one, dict) for one in document):
        raise UsageError(f"{file}: expected a list of schedules, as: fencepost schedules list --json")
    return Entries([_of_document(file, place, one) for place, one in enumerate(document, 1)])


def _of_toml(file: str, data: bytes) -> Entries:
    top = Table(file, "", parse_toml(file, data))
    top.only(*PLACE, *TABLES)
    schedules = [_of_table(name, table) for name, table in top.tables("schedules")]
    return Entries(schedules, top.text("namespace") if "namespace" in top else None)


def _of_table(schedule_id: str, table: Table) -> ScheduleEntry:
    options = read_options(table)
    if options["job"] is None:
        table.refuse("job", "is missing; say what is to run")
    with table.blaming():
        return _words(schedule_id, schedule_spec(**options))


def _words(schedule_id: str, spec: ScheduleSpec) -> ScheduleEntry:
    catch_up = CatchUpWords(
        mode=spec.catch_up.words,
        max_lateness=spec.catch_up.max_lateness.total_seconds(),
        gate=GateWords(**asdict(spec.catch_up.gate)),
    )
    return ScheduleEntry(
        schedule_id=schedule_id,
        job=spec.job,
        trigger=spec.trigger,
        payload=spec.payload,
        overlap=str(spec.overlap),
        catch_up=catch_up,
        queue=spec.queue,
        priority=spec.priority,
        labels=dict(spec.labels),
        spread=None if spec.spread is None else str(spec.spread),
        jitter=None if spec.jitter is None else str(spec.jitter),
    )


def _of_document(file: str, place: int, document: dict[str, Any]) -> ScheduleEntry:
    name = document.get("schedule_id", f"number {place}")
    said = {key: value for key, value in document.items() if key not in SHOWN_ONLY}
    late = said.get("catch_up")
    if isinstance(late, dict) and "max_lateness_s" in late:
        renamed = {("max_lateness" if key == "max_lateness_s" else key): one for key, one in late.items()}
        said["catch_up"] = renamed
    try:
        return msgspec.convert(said, ScheduleEntry)
    except msgspec.ValidationError as error:
        raise InvalidSpec(f"{file}: schedule {name}: {error}") from None
