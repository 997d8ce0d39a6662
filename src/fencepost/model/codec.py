"""Specs as JSON that can be read for ever: explicit fields, a version, no type names from data."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from fencepost.errors import InvalidSpec, UsageError
from fencepost.model.identifiers import JobName, Queue
from fencepost.model.job import JobSpec, Parameter, Retry
from fencepost.model.json import JsonObject, canonical
from fencepost.model.schedule import CatchUp, ScheduleSpec, parse_overlap
from fencepost.model.stretch import Stretch, parse_stretch

FORMAT = 1

T = TypeVar("T")


def schedule_to_json(spec: ScheduleSpec) -> JsonObject:
    """The stable form of a schedule's spec; what came later is there only where it says something."""
    form: JsonObject = {
        "v": FORMAT,
        "job": spec.job,
        "trigger": spec.trigger,
        "payload": spec.payload,
        "overlap": str(spec.overlap),
        "catch_up": {
            "mode": str(spec.catch_up.mode),
            "max_lateness_s": spec.catch_up.max_lateness.total_seconds(),
        },
        "queue": spec.queue,
        "priority": spec.priority,
        "labels": dict(spec.labels),
    }
    later: JsonObject = {
        "spread": None if spec.spread is None else str(spec.spread),
        "jitter": None if spec.jitter is None else str(spec.jitter),
        "calendars": dict(spec.calendars),
    }
    return form | {name: value for name, value in later.items() if value}


def schedule_from_json(data: dict[str, Any]) -> ScheduleSpec:
    """The spec that `schedule_to_json` wrote, in this release or an earlier one."""
    _check_format("schedule", data)
    catch_up = data["catch_up"]
    return ScheduleSpec(
        job=JobName(data["job"]),
        trigger=data["trigger"],
        payload=data["payload"],
        overlap=parse_overlap(data["overlap"]),
        catch_up=CatchUp(catch_up["mode"], catch_up["max_lateness_s"]),
        queue=Queue(data["queue"]) if data["queue"] is not None else None,
        priority=data["priority"],
        labels=data["labels"],
        spread=_stretch(data.get("spread")),
        jitter=_stretch(data.get("jitter")),
        calendars=data.get("calendars", {}),
    )


def job_to_json(spec: JobSpec) -> JsonObject:
    """The stable form of a job's spec."""
    return {
        "v": FORMAT,
        "name": spec.name,
        "queue": spec.queue,
        "priority": spec.priority,
        "retry": {
            "max_attempts": spec.retry.max_attempts,
            "base_s": spec.retry.base.total_seconds(),
            "cap_s": spec.retry.cap.total_seconds(),
        },
        "timeout_s": None if spec.timeout is None else spec.timeout.total_seconds(),
        "at_most_once": spec.at_most_once,
        "parameters": [
            {"name": one.name, "required": one.required, "kind": one.kind} for one in spec.parameters
        ],
        "open_payload": spec.open_payload,
    }


def job_from_json(data: dict[str, Any]) -> JobSpec:
    """The spec that `job_to_json` wrote, in this release or an earlier one."""
    _check_format("job", data)
    retry, timeout_s = data["retry"], data["timeout_s"]
    return JobSpec(
        name=JobName(data["name"]),
        queue=Queue(data["queue"]),
        priority=data["priority"],
        retry=Retry(retry["max_attempts"], retry["base_s"], retry["cap_s"]),
        timeout=None if timeout_s is None else timedelta(seconds=timeout_s),
        at_most_once=data["at_most_once"],
        parameters=tuple(Parameter(**one) for one in data["parameters"]),
        open_payload=data["open_payload"],
    )


def schedule_to_text(spec: ScheduleSpec) -> str:
    """Canonical text: two specs are the same exactly when their texts are."""
    return canonical(schedule_to_json(spec))


def schedule_from_text(text: str) -> ScheduleSpec:
    """The spec behind a stored text; InvalidSpec where a newer release wrote what this one cannot read."""
    return _read("schedule", text, schedule_from_json)


def job_to_text(spec: JobSpec) -> str:
    """Canonical text of a job's spec."""
    return canonical(job_to_json(spec))


def job_from_text(text: str) -> JobSpec:
    """The job's spec behind a stored text; InvalidSpec where this release cannot read it."""
    return _read("job", text, job_from_json)


def _stretch(text: str | None) -> Stretch | None:
    return None if text is None else parse_stretch(text)


def _read(kind: str, text: str, from_json: Callable[[dict[str, Any]], T]) -> T:
    try:
        return from_json(json.loads(text))
    except UsageError as error:
        raise InvalidSpec(f"{kind} spec cannot be read: {error}") from error
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise InvalidSpec(f"{kind} spec cannot be read: {type(error).__name__} {error}") from error


def _check_format(kind: str, data: dict[str, Any]) -> None:
    if data.get("v") != FORMAT:
        raise InvalidSpec(f"{kind} format {data.get('v')!r}: this release reads format {FORMAT}; upgrade it")
