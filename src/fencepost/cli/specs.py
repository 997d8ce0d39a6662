"""From options to a schedule's spec, from one spec to the next, and what lies between two."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fencepost.app import schedule_spec
from fencepost.cli.reading import read_duration, read_labels, read_payload
from fencepost.cli.shapes import spec_json
from fencepost.cli.spec_options import Given
from fencepost.cli.triggers import NONE, changed_trigger, new_trigger
from fencepost.errors import InvalidDuration, UsageError
from fencepost.model.identifiers import JobName, Queue, checked_name
from fencepost.model.schedule import LATENESS_DEFAULT, CatchUp, ScheduleSpec, parse_overlap
from fencepost.model.stretch import Stretch, parse_stretch

CALENDARS = "calendars."
REVISION = ".revision"


def new_spec(given: Given) -> ScheduleSpec:
    """The spec of a new schedule."""
    if given.job is None:
        raise UsageError("--job is missing: say what is to run")
    return schedule_spec(
        job=given.job,
        trigger=new_trigger(given),
        payload=read_payload(given.payload),
        overlap=given.overlap or "skip",
        catch_up=_catch_up(given, CatchUp()),
        spread=_stretch("--spread", given.spread, None),
        jitter=_stretch("--jitter", given.jitter, None),
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
        trigger=changed_trigger(spec.trigger, given),
        payload=payload if payload is not None else spec.payload,
        overlap=parse_overlap(given.overlap) if given.overlap is not None else spec.overlap,
        catch_up=_catch_up(given, spec.catch_up),
        spread=_stretch("--spread", given.spread, spec.spread),
        jitter=_stretch("--jitter", given.jitter, spec.jitter),
        queue=_queue(given) or spec.queue,
        priority=given.priority if given.priority is not None else spec.priority,
        labels={key: value for key, value in labels.items() if value},
    )


def changes(old: ScheduleSpec, new: ScheduleSpec) -> list[str]:
    """What an edit changed, one line a value."""
    before, after = dict(_flat(spec_json(old))), dict(_flat(spec_json(new)))
    return [
        f"{path}: {before.get(path, 'nothing')} -> {after.get(path, 'nothing')}"
        for path in {**before, **after}
        if before.get(path) != after.get(path) and not _is_day_list(path)
    ]


def _is_day_list(path: str) -> bool:
    """A calendar's days fill pages; that they changed is told by its revision."""
    return path.startswith(CALENDARS) and not path.endswith(REVISION)


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else name)
    else:
        yield path, json.dumps(value)


def _catch_up(given: Given, old: CatchUp) -> CatchUp:
    """A lateness that nobody chose follows the mode."""
    mode = given.catch_up or old.mode
    if given.max_lateness is not None:
        return CatchUp(mode, read_duration("--max-lateness", given.max_lateness))
    return CatchUp(mode, None if old.max_lateness == LATENESS_DEFAULT[old.mode] else old.max_lateness)


def _queue(given: Given) -> Queue | None:
    return None if given.queue is None else Queue(checked_name("queue", given.queue))


def _stretch(option: str, text: str | None, old: Stretch | None) -> Stretch | None:
    if text is None or text == NONE:
        return old if text is None else None
    try:
        return parse_stretch(text)
    except InvalidDuration as error:
        raise UsageError(f"{option}: {error}") from None
