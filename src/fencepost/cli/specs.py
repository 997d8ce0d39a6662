"""From options to a schedule's spec, from one spec to the next, and what lies between two."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from fencepost.app import schedule_spec
from fencepost.cli.differences import differences
from fencepost.cli.reading import read_duration, read_gate, read_labels, read_payload
from fencepost.cli.shapes import plain_spec_json
from fencepost.cli.spec_options import Given
from fencepost.cli.triggers import NONE, changed_trigger, limited_trigger, new_trigger
from fencepost.errors import InvalidDuration, UsageError
from fencepost.model.identifiers import JobName, Queue, checked_name
from fencepost.model.policies import LATENESS_DEFAULT, CatchUp, parse_overlap
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.stretch import Stretch, parse_stretch


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


def limited(spec: ScheduleSpec, given: Given, now: datetime) -> ScheduleSpec:
    """The spec with as many runs as were given, counted from its start or from now, whichever is later."""
    if given.max_runs is None:
        return spec
    return replace(spec, trigger=limited_trigger(spec.trigger, given.max_runs, now))


def changes(old: ScheduleSpec, new: ScheduleSpec) -> list[str]:
    """What an edit changed, one line a value."""
    return differences(plain_spec_json(old), plain_spec_json(new))


def _catch_up(given: Given, old: CatchUp) -> CatchUp:
    """A lateness that nobody chose follows the mode."""
    mode = given.catch_up or old.words
    gate = old.gate if given.gate is None else read_gate(given.gate)
    if given.max_lateness is not None:
        return CatchUp(mode, read_duration("--max-lateness", given.max_lateness), gate)
    chosen = old.max_lateness != LATENESS_DEFAULT[old.mode]
    return CatchUp(mode, old.max_lateness if chosen else None, gate)


def _queue(given: Given) -> Queue | None:
    return None if given.queue is None else Queue(checked_name("queue", given.queue))


def _stretch(option: str, text: str | None, old: Stretch | None) -> Stretch | None:
    if text is None or text == NONE:
        return old if text is None else None
    try:
        return parse_stretch(text)
    except InvalidDuration as error:
        raise UsageError(f"{option}: {error}") from None
