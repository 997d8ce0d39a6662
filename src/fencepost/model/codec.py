"""Specs as JSON that can be read for ever: explicit fields, a version, no type names from data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import Any, TypeVar

from fencepost.errors import InvalidSpec, UsageError
from fencepost.model.identifiers import JobName, Queue
from fencepost.model.job import BUDGET_DEFAULT, AfterOn, Backoff, JobSpec, Parameter, Retry, RetryWindow
from fencepost.model.json import JsonObject, canonical
from fencepost.model.limits import JobLimit
from fencepost.model.message import Reply, Route
from fencepost.model.notification import DELIVERY, Event, Target, TargetKind
from fencepost.model.policies import CatchUp, GateTerms, parse_overlap
from fencepost.model.schedule import Absent, ScheduleSpec
from fencepost.model.stretch import Stretch, parse_stretch

FORMAT = 1

T = TypeVar("T")


def schedule_to_json(spec: ScheduleSpec) -> JsonObject:
    """The stable form of a schedule's spec; later fields appear only where they are set."""
    form: JsonObject = {
        "v": FORMAT,
        "job": spec.job,
        "trigger": spec.trigger,
        "payload": spec.payload,
        "overlap": str(spec.overlap),
        "catch_up": _catch_up_to_json(spec.catch_up),
        "queue": spec.queue,
        "priority": spec.priority,
        "labels": dict(spec.labels),
    }
    later: JsonObject = {
        "spread": None if spec.spread is None else str(spec.spread),
        "jitter": None if spec.jitter is None else str(spec.jitter),
        "calendars": dict(spec.calendars),
        "absent": None if spec.absent is Absent.KEEP else str(spec.absent),
    }
    return form | {name: value for name, value in later.items() if value}


def schedule_from_json(data: dict[str, Any]) -> ScheduleSpec:
    """The spec that `schedule_to_json` wrote, in this release or an earlier one."""
    _check_format("schedule", data)
    return ScheduleSpec(
        job=JobName(data["job"]),
        trigger=data["trigger"],
        payload=data["payload"],
        overlap=parse_overlap(data["overlap"]),
        catch_up=_catch_up_from_json(data["catch_up"]),
        queue=Queue(data["queue"]) if data["queue"] is not None else None,
        priority=data["priority"],
        labels=data["labels"],
        spread=_stretch(data.get("spread")),
        jitter=_stretch(data.get("jitter")),
        calendars=data.get("calendars", {}),
        absent=Absent(data.get("absent", Absent.KEEP)),
    )


def job_to_json(spec: JobSpec) -> JsonObject:
    """The stable form of a job's spec; later fields appear only where they are set."""
    form: JsonObject = {
        "v": FORMAT,
        "name": spec.name,
        "queue": spec.queue,
        "priority": spec.priority,
        "retry": _retry_to_json(spec.retry),
        "timeout_s": None if spec.timeout is None else spec.timeout.total_seconds(),
        "at_most_once": spec.at_most_once,
        "parameters": [
            {"name": one.name, "required": one.required, "kind": one.kind} for one in spec.parameters
        ],
        "open_payload": spec.open_payload,
    }
    deadline = spec.progress_deadline
    later: JsonObject = {
        "external": spec.external,
        "progress_deadline_s": None if deadline is None else deadline.total_seconds(),
        "limit": None if spec.limit is None else _limit_to_json(spec.limit),
        "secrets": list(spec.secrets),
        "message": None if spec.message is None else asdict(spec.message),
        "after": list(spec.after),
        "after_on": spec.after_on.value if spec.after_on is not AfterOn.SUCCESS else None,
        "renamed_from": list(spec.renamed_from),
        "retry_window": None if spec.retry_window is RetryWindow.WARN else str(spec.retry_window),
    }
    return form | {name: value for name, value in later.items() if value}


def job_from_json(data: dict[str, Any]) -> JobSpec:
    """The spec that `job_to_json` wrote, in this release or an earlier one."""
    _check_format("job", data)
    timeout_s = data["timeout_s"]
    return JobSpec(
        name=JobName(data["name"]),
        queue=Queue(data["queue"]),
        priority=data["priority"],
        retry=_retry_from_json(data["retry"]),
        timeout=None if timeout_s is None else timedelta(seconds=timeout_s),
        at_most_once=data["at_most_once"],
        parameters=tuple(Parameter(**one) for one in data["parameters"]),
        open_payload=data["open_payload"],
        external=data.get("external", False),
        progress_deadline=_length(data.get("progress_deadline_s")),
        limit=JobLimit(**data["limit"]) if "limit" in data else None,
        secrets=tuple(data.get("secrets", ())),
        message=_route_from_json(data["message"]) if "message" in data else None,
        after=tuple(JobName(name) for name in data.get("after", ())),
        after_on=AfterOn(data.get("after_on", AfterOn.SUCCESS)),
        renamed_from=tuple(JobName(one) for one in data.get("renamed_from", ())),
        retry_window=RetryWindow(data.get("retry_window", RetryWindow.WARN)),
    )


def _route_from_json(data: dict[str, Any]) -> Route:
    return Route(**{**data, "reply": Reply(data["reply"])})


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


def target_to_json(target: Target) -> JsonObject:
    """The stable form of a target; only the fields that are set."""
    said: JsonObject = {
        "events": [str(one) for one in target.events],
        "jobs": list(target.jobs),
        "schedules": list(target.schedules),
        "url": target.url,
        "secret": target.secret,
        "allow_private": target.allow_private,
        "to": list(target.to),
        "job": None if target.job == DELIVERY else target.job,
        "parameter": target.parameter,
        "from_code": target.from_code,
    }
    form: JsonObject = {"v": FORMAT, "kind": str(target.kind)}
    return form | {name: value for name, value in said.items() if value}


def target_to_text(target: Target) -> str:
    """Canonical text of a target."""
    return canonical(target_to_json(target))


def target_from_text(name: str, text: str) -> Target:
    """The target behind a stored text; InvalidSpec where this release cannot read it."""
    return _read("notify", text, lambda data: _target_from_json(name, data))


def _target_from_json(name: str, data: dict[str, Any]) -> Target:
    _check_format("notify", data)
    return Target(
        name=name,
        kind=TargetKind(data["kind"]),
        events=tuple(map(Event, data.get("events", ()))),
        jobs=tuple(data.get("jobs", ())),
        schedules=tuple(data.get("schedules", ())),
        url=data.get("url", ""),
        secret=data.get("secret"),
        allow_private=data.get("allow_private", False),
        to=tuple(data.get("to", ())),
        job=JobName(data.get("job", DELIVERY)),
        parameter=data.get("parameter", ""),
        from_code=data.get("from_code", False),
    )


def limit_to_text(limit: JobLimit) -> str:
    """Canonical text of a job's limits."""
    return canonical(_limit_to_json(limit))


def limit_from_text(text: str) -> JobLimit:
    """The limits behind a stored text; InvalidSpec where this release cannot read them."""
    return _read("limit", text, lambda data: JobLimit(**data))


def _limit_to_json(limit: JobLimit) -> JsonObject:
    return {name: value for name, value in asdict(limit).items() if value is not None}


def _catch_up_to_json(catch_up: CatchUp) -> JsonObject:
    form: JsonObject = {"mode": catch_up.words, "max_lateness_s": catch_up.max_lateness.total_seconds()}
    return form if catch_up.gate == GateTerms() else form | {"gate": asdict(catch_up.gate)}


def _catch_up_from_json(data: dict[str, Any]) -> CatchUp:
    gate = GateTerms(**data["gate"]) if "gate" in data else None
    return CatchUp(data["mode"], data["max_lateness_s"], gate)


def _retry_to_json(retry: Retry) -> JsonObject:
    form: JsonObject = {
        "max_attempts": retry.max_attempts,
        "base_s": retry.base.total_seconds(),
        "cap_s": retry.cap.total_seconds(),
    }
    later: JsonObject = {
        "deadline_s": None if retry.deadline is None else retry.deadline.total_seconds(),
        "only": list(retry.only),
        "never": list(retry.never),
        "backoff": None if retry.backoff is Backoff.EXPONENTIAL else _backoff_word(retry),
    }
    form |= {name: value for name, value in later.items() if value}
    if retry.max_doublings is not None:
        form |= {"max_doublings": retry.max_doublings}
    return form if retry.budget == BUDGET_DEFAULT else form | {"budget": retry.budget}


def _retry_from_json(data: dict[str, Any]) -> Retry:
    """The names of errors stay names: nothing in a spec is ever resolved to a type."""
    return Retry(
        data["max_attempts"],
        data["base_s"],
        data["cap_s"],
        deadline=data.get("deadline_s"),
        only=data.get("only", ()),
        never=data.get("never", ()),
        budget=data.get("budget", BUDGET_DEFAULT),
        backoff=Backoff(data.get("backoff", Backoff.EXPONENTIAL)),
        max_doublings=data.get("max_doublings"),
    )


def _backoff_word(retry: Retry) -> str:
    """A backoff function is not written: it stays in the code that defines it."""
    return str(retry.backoff if isinstance(retry.backoff, Backoff) else Backoff.FUNCTION)


def _length(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)


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
