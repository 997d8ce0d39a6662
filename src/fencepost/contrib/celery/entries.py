"""The entries of a beat as jobs and schedules: one of each for an entry, both under the entry's name.

An entry's arguments are in the payload of its schedule, where operators see them, as far as they are plain
JSON. What is not, and the options, stand in the code, and the beat that sends takes them from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from math import isfinite
from typing import Any

from celery.beat import BeatLazyFunc, ScheduleEntry

from fencepost.app import Fencepost
from fencepost.app.words import job_spec
from fencepost.contrib.celery.triggers import trigger_of
from fencepost.errors import InvalidPayload, InvalidSpec, UsageError
from fencepost.executors.celery import Call, CeleryExecutor, Sender
from fencepost.model.job import ATTEMPTS_MAX, Retry
from fencepost.model.json import JsonObject
from fencepost.model.policies import CatchUp
from fencepost.model.quoting import quoted
from fencepost.triggers import Combinable

HEAD = "beat/"
QUEUE = "beat"
LABELS = {"source": "celery-beat"}
OPTION = "fencepost"
POLICIES = ("overlap", "catch_up", "max_lateness")
SLUG_LENGTH_MAX = 100
PLAIN_DEPTH_MAX = 20
RETRY_LEAST = timedelta(minutes=2)
"""Longer than it takes to find a beat that was killed, so that another still sends what it had in hand."""

A_MONDAY = datetime(2024, 1, 1, tzinfo=UTC)
"""Every beat computes the same period from it, whenever it starts."""

_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")


def add_entry(app: Fencepost, sender: Sender, entry: ScheduleEntry) -> None:
    """Make the entry a job and a schedule of the application."""
    try:
        _add(app, sender, entry)
    except UsageError as error:
        raise InvalidSpec(f"beat entry {quoted(entry.name)}: {error}") from None


def name_of(entry_name: str) -> str:
    """The id of an entry's schedule; what an id cannot hold is replaced."""
    return HEAD + (_UNFIT.sub("-", entry_name)[:SLUG_LENGTH_MAX].strip("-.") or "entry")


def _add(app: Fencepost, sender: Sender, entry: ScheduleEntry) -> None:
    if not isinstance(entry.task, str) or not entry.task:
        raise InvalidSpec(f"task {quoted(entry.task)}: expected the name of a task")
    options = dict(entry.options)
    policies = _policies(options.pop(OPTION, None))
    trigger, name = trigger_of(entry.schedule, entry.app), name_of(entry.name)
    if name in app.jobs:
        raise InvalidSpec(f"its schedule would be {name}, as that of another entry; rename one of them")
    catch_up = CatchUp(policies["catch_up"], policies["max_lateness"] or _deadline(entry))
    retry = Retry(ATTEMPTS_MAX, "1s", "30s", deadline=_retried_for(trigger, catch_up), budget=None)
    headers = {**(options.get("headers") or {}), "celery_beat_task": True}
    executor = CeleryExecutor(
        sender,
        entry.task,
        options={**options, "headers": headers},
        call=partial(_call, entry),
    )
    app.add_job(job_spec(name, {"queue": QUEUE, "retry": retry}), executor)
    app.add_schedule(
        name,
        job=name,
        trigger=trigger,
        payload=_payload(entry),
        overlap=policies["overlap"],
        catch_up=catch_up,
        queue=QUEUE,
        labels=LABELS,
    )


def _policies(said: object) -> dict[str, Any]:
    """What the entry says, over what users of a beat expect: a late tick is sent if it is the latest."""
    if said is not None and not isinstance(said, Mapping):
        raise InvalidSpec(f'options["{OPTION}"] {quoted(said)}: expected a dictionary')
    for word in said or {}:
        if word not in POLICIES:
            raise InvalidSpec(f'options["{OPTION}"]: {quoted(word)} is unknown; known: {", ".join(POLICIES)}')
    return {"overlap": "allow", "catch_up": "latest", "max_lateness": None, **(said or {})}


def _deadline(entry: ScheduleEntry) -> float | None:
    """`beat_cron_starting_deadline` says it of every crontab."""
    is_cron = hasattr(entry.schedule, "day_of_week")
    found: float | None = entry.app.conf.beat_cron_starting_deadline if is_cron else None
    return found


def _retried_for(trigger: Combinable, catch_up: CatchUp) -> timedelta:
    """For how long a send that failed is tried again: until the next tick, within bounds."""
    first, second = trigger.next(A_MONDAY, 2)
    return max(RETRY_LEAST, min(second - first, catch_up.max_lateness))


def _payload(entry: ScheduleEntry) -> JsonObject:
    said: dict[str, Any] = {"args": lists(entry.args), "kwargs": dict(entry.kwargs or {})}
    return {name: value for name, value in said.items() if value and is_plain(value)}


def _call(entry: ScheduleEntry, payload: JsonObject) -> Call:
    args, kwargs = payload.get("args"), payload.get("kwargs")
    if not payload.keys() <= {"args", "kwargs"}:
        raise InvalidPayload("payload: expected no more than args and kwargs, as an entry of a beat has them")
    if not isinstance(args, list | None) or not isinstance(kwargs, dict | None):
        raise InvalidPayload("payload: expected args as a list, and kwargs as an object")
    return Call(
        args=[_now(one) for one in lists(entry.args)] if args is None else args,
        kwargs={name: _now(one) for name, one in (entry.kwargs or {}).items()} if kwargs is None else kwargs,
    )


def _now(value: Any) -> Any:
    """Celery has values that are computed when the task is sent."""
    lazy: Callable[[], Any] | None = value if isinstance(value, BeatLazyFunc) else None
    return value if lazy is None else lazy()


def lists(args: Any) -> list[Any]:
    """Positional arguments as JSON has them."""
    return [one if not isinstance(one, tuple) else list(one) for one in args or ()]


def is_plain(value: object, depth: int = PLAIN_DEPTH_MAX) -> bool:
    """Whether JSON brings the value back as it is, but for tuples."""
    match value:
        case float():
            return isfinite(value)
        case None | bool() | int() | str():
            return type(value) in (type(None), bool, int, str)
        case list() | tuple():
            return depth > 0 and all(is_plain(one, depth - 1) for one in value)
        case dict():
            named = all(isinstance(name, str) for name in value)
            return depth > 0 and named and all(is_plain(one, depth - 1) for one in value.values())
    return False
