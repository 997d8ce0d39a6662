"""From options to a schedule's spec, from one spec to the next, and a spec in few words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fencepost.app import schedule_spec
from fencepost.cli.reading import read_duration, read_labels, read_payload
from fencepost.cli.shapes import spec_json
from fencepost.cli.spec_options import Given
from fencepost.errors import UsageError
from fencepost.model.identifiers import JobName, Queue, checked_name
from fencepost.model.json import JsonObject
from fencepost.model.schedule import LATENESS_DEFAULT, CatchUp, ScheduleSpec, parse_overlap
from fencepost.model.trigger import Trigger
from fencepost.triggers import At, Cron, Every
from fencepost.triggers.dst import checked_fold, checked_gap

KINDS = ("cron", "every", "at")
COMPANIONS = {"tz": ("cron", "at"), "gap": ("cron",), "fold": ("cron",), "anchor": ("every",)}


def new_spec(given: Given) -> ScheduleSpec:
    """The spec of a new schedule."""
    if given.job is None:
        raise UsageError("--job is missing: say what is to run")
    return schedule_spec(
        job=given.job,
        trigger=_trigger(given),
        payload=read_payload(given.payload),
        overlap=given.overlap or "skip",
        catch_up=_catch_up(given, CatchUp()),
        queue=_queue(given),
        priority=given.priority,
        labels=read_labels(given.label),
    )


def changed_spec(spec: ScheduleSpec, given: Given) -> ScheduleSpec:
    """The spec with what was given instead; a label without a value is taken away."""
    payload = read_payload(given.payload)
    labels = {**spec.labels, **read_labels(given.label)}
    return replace(
        spec,
        job=JobName(given.job) if given.job is not None else spec.job,
        trigger=_changed_trigger(spec.trigger, given),
        payload=payload if payload is not None else spec.payload,
        overlap=parse_overlap(given.overlap) if given.overlap is not None else spec.overlap,
        catch_up=_catch_up(given, spec.catch_up),
        queue=_queue(given) or spec.queue,
        priority=given.priority if given.priority is not None else spec.priority,
        labels={key: value for key, value in labels.items() if value},
    )


def describe(trigger: JsonObject) -> str:
    """A trigger as people would say it."""
    match trigger:
        case {"kind": "cron", "expression": expression, "tz": tz}:
            return f"{expression} ({tz})"
        case {"kind": "every", "interval": interval}:
            return f"every {interval}"
        case {"kind": "at", "times": list(times)}:
            return f"at {times[0]}" + (f" and {len(times) - 1} more" if len(times) > 1 else "")
    return str(trigger.get("kind"))


def changes(old: ScheduleSpec, new: ScheduleSpec) -> list[str]:
    """What an edit changed, one line a value."""
    before, after = dict(_flat(spec_json(old))), dict(_flat(spec_json(new)))
    return [
        f"{path}: {before.get(path, 'nothing')} -> {after.get(path, 'nothing')}"
        for path in {**before, **after}
        if before.get(path) != after.get(path)
    ]


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else name)
    else:
        yield path, json.dumps(value)


def _trigger(given: Given) -> Trigger:
    kinds = [kind for kind in KINDS if getattr(given, kind)]
    if len(kinds) != 1:
        raise UsageError("give exactly one of --cron, --every and --at")
    for name, belongs_to in COMPANIONS.items():
        if getattr(given, name) is not None and kinds[0] not in belongs_to:
            raise UsageError(f"--{name} has no meaning with --{kinds[0]}")
    if given.cron:
        gap, fold = checked_gap(given.gap), checked_fold(given.fold)
        return Cron(given.cron, tz=given.tz or "UTC", gap=gap, fold=fold)
    return Every(given.every, given.anchor) if given.every else At(given.at, tz=given.tz or "UTC")


def _changed_trigger(old: JsonObject, given: Given) -> JsonObject:
    if not any(getattr(given, name) for name in (*KINDS, *COMPANIONS)):
        return old
    return _trigger(_filled(given, old)).to_json()


def _filled(given: Given, old: dict[str, Any]) -> Given:
    """What was given, with the rest from a trigger of the same kind."""
    others = [kind for kind in KINDS if getattr(given, kind) and kind != old["kind"]]
    if others:
        return given
    match old["kind"]:
        case "cron":
            return replace(
                given,
                cron=given.cron or old["expression"],
                tz=given.tz or old["tz"],
                gap=given.gap or old["gap"],
                fold=given.fold or old["fold"],
            )
        case "every":
            return replace(given, every=given.every or old["interval"], anchor=given.anchor or old["anchor"])
    return replace(given, at=given.at or tuple(old.get("times", ())))


def _catch_up(given: Given, old: CatchUp) -> CatchUp:
    """A lateness that nobody chose follows the mode."""
    mode = given.catch_up or old.mode
    if given.max_lateness is not None:
        return CatchUp(mode, read_duration("--max-lateness", given.max_lateness))
    return CatchUp(mode, None if old.max_lateness == LATENESS_DEFAULT[old.mode] else old.max_lateness)


def _queue(given: Given) -> Queue | None:
    return None if given.queue is None else Queue(checked_name("queue", given.queue))
