"""A schedule as the fields of a form, and what of them somebody changed.

When it fires is one line, as people write it: a cron expression, `every 15m`, `at` and a time, a recurrence
rule, or the trigger's stable form where no line says all of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct, structs

from fencepost.core.masking import masked
from fencepost.errors import UsageError
from fencepost.model.durations import format_duration
from fencepost.model.json import JsonObject
from fencepost.model.schedule import Schedule
from fencepost.web.dashboard import links
from fencepost.web.dashboard.turning import in_json
from fencepost.web.dashboard.visiting import QUERY_LENGTH_MAX

Text: TypeAlias = Annotated[str, Meta(max_length=4_000)]
Fields: TypeAlias = dict[str, list[str]]
EVERY, AT, FORM = "every ", "at ", "{"
RULES = ("FREQ=", "RRULE:", "DTSTART")
CLEARED = ("queue", "priority", "spread", "jitter")
POLICIES = {"overlap": "overlap", "mode": "catch_up.mode", "max_lateness": "catch_up.max_lateness"}
EPOCH_ANCHORS = ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00")


class ScheduleForm(Struct, frozen=True):
    """What the form says; `version` is the one that it was opened with. In an address, `filled` says that
    somebody has filled it in, and `again` what they have to enter once more."""

    schedule_id: Text = ""
    job: Text = ""
    when: Text = ""
    tz: Text = ""
    overlap: Text = ""
    overlap_most: Text = ""
    mode: Text = ""
    mode_most: Text = ""
    max_lateness: Text = ""
    spread: Text = ""
    jitter: Text = ""
    queue: Text = ""
    priority: Text = ""
    labels: Text = ""
    payload: Annotated[str, Meta(max_length=100_000)] = ""
    version: Annotated[str, Meta(max_length=10)] = ""
    filled: Text = ""
    again: Text = ""


def form_of(schedule: Schedule) -> ScheduleForm:
    """The form of a schedule as it stands; secrets in its payload are masked."""
    spec = schedule.spec
    when, tz = when_of(spec.trigger)
    overlap, overlap_most = _with_number(str(spec.overlap))
    mode, mode_most = _with_number(spec.catch_up.words)
    return ScheduleForm(
        schedule_id=schedule.schedule_id,
        job=spec.job,
        when=when,
        tz=tz,
        overlap=overlap,
        overlap_most=overlap_most,
        mode=mode,
        mode_most=mode_most,
        max_lateness=format_duration(spec.catch_up.max_lateness),
        spread="" if spec.spread is None else str(spec.spread),
        jitter="" if spec.jitter is None else str(spec.jitter),
        queue=spec.queue or "",
        priority="" if spec.priority is None else str(spec.priority),
        labels=", ".join(f"{key}={value}" for key, value in spec.labels.items()),
        payload=_payload(spec.payload),
        version=str(schedule.version),
    )


def _with_number(words: str) -> tuple[str, str]:
    """`allow(3)` as its name and its number."""
    name, _, number = words.partition("(")
    return name, number.rstrip(")")


def policies_of(form: ScheduleForm) -> dict[str, str]:
    """What the form says of overlap and of catch-up; a name that is not said stays as it is."""
    pairs = {"overlap": (form.overlap, form.overlap_most), "mode": (form.mode, form.mode_most)}
    return {
        field: f"{name.strip()}({most.strip()})" if name.strip() and most.strip() else name.strip()
        for field, (name, most) in pairs.items()
    }


def _payload(payload: JsonObject) -> str:
    return in_json(json.dumps(masked(payload), indent=2, ensure_ascii=False)) if payload else ""


def when_of(trigger: Mapping[str, Any]) -> tuple[str, str]:
    """A trigger as one line, and its zone."""
    policed = trigger.get("gap") is not None or trigger.get("fold") is not None
    tz = str(trigger.get("tz") or "")
    match trigger.get("kind"):
        case "cron" if not policed:
            return str(trigger["expression"]), tz
        case "every" if not policed and trigger.get("anchor") in EPOCH_ANCHORS:
            return f"{EVERY}{trigger['interval']}", tz
        case "at":
            return AT + ", ".join(trigger["times"]), ""
    return json.dumps(trigger), ""


def when_fields(when: str, tz: str) -> Fields:
    """The words of an operation for a line."""
    line = when.strip()
    zone = {"tz": [tz.strip()]} if tz.strip() else {}
    if line.startswith(FORM):
        return {"trigger": [line]}
    if line.lower().startswith(EVERY):
        return {"every": [line[len(EVERY) :].strip()], **zone}
    if line.lower().startswith(AT):
        return {"at": [one.strip() for one in line[len(AT) :].split(",") if one.strip()], **zone}
    if line.upper().startswith(RULES):
        return {"rrule": [line], **zone}
    return {"cron": [line], **zone} if line else {}


def new_fields(form: ScheduleForm) -> Fields:
    """All that a new schedule says."""
    return {
        "schedule_id": [form.schedule_id.strip()],
        **_said(form, ScheduleForm()),
        **when_fields(form.when, form.tz),
    }


def changed_fields(form: ScheduleForm, now: ScheduleForm) -> tuple[Fields, list[str]]:
    """What is different from how the schedule stands, and what is to be cleared."""
    fields = _said(form, now)
    if (form.when.strip(), form.tz.strip()) != (now.when, now.tz):
        fields.update(when_fields(form.when, form.tz))
    cleared = [name for name in CLEARED if getattr(now, name) and not getattr(form, name).strip()]
    if now.payload and not form.payload.strip():
        cleared.append("payload")
    return fields, cleared


def merged(query: ScheduleForm, now: ScheduleForm, posted: bool) -> ScheduleForm:
    """What somebody typed, or where they have not begun, how the schedule stands; an address has no
    payload, and where it names no version, the form is opened with the one that stands."""
    if posted:
        return structs.replace(query, schedule_id=now.schedule_id)
    if not query.filled:
        return now
    version = query.version or now.version
    return structs.replace(query, schedule_id=now.schedule_id, payload=now.payload, version=version)


def address_of(path: str, form: ScheduleForm) -> str:
    """Where the form is found as it is filled in, without its payload, which may hold secrets."""
    told = {**structs.asdict(form), "payload": "", "filled": "yes"}
    found = links.with_query(path, told)
    if len(found) - len(path) > QUERY_LENGTH_MAX:
        raise UsageError("the form: holds too much beside its payload; make some of it shorter")
    return found


def address_again(path: str, form: ScheduleForm, now: ScheduleForm) -> str:
    """The same for somebody whose change was refused, which says what they have to enter once more."""
    typed = form.payload.strip() != now.payload.strip()
    return address_of(path, structs.replace(form, again="payload" if typed else "reason"))


def _said(form: ScheduleForm, now: ScheduleForm) -> Fields:
    fields: Fields = {}
    for name in ("job", "spread", "jitter", "queue", "priority", "payload"):
        text = getattr(form, name).strip()
        if text and text != getattr(now, name).strip():
            fields[name] = [text]
    said = {**policies_of(form), "max_lateness": form.max_lateness.strip()}
    stands = {**policies_of(now), "max_lateness": now.max_lateness}
    for name, field in POLICIES.items():
        if said[name] and said[name] != stands[name]:
            fields[field] = [said[name]]
    labels, old = read_labels(form.labels), read_labels(now.labels)
    if labels != old:
        gone: dict[str, str | None] = dict.fromkeys(old.keys() - labels.keys())
        fields["labels"] = [json.dumps({**labels, **gone})]
    return fields


def read_labels(text: str) -> dict[str, str]:
    """`team=billing, tier=1`."""
    found = {}
    for one in text.replace("\n", ",").split(","):
        if one.strip():
            key, equals, value = one.strip().partition("=")
            if not key or not equals or not value:
                raise UsageError(f"labels: {one.strip()[:100]}: expected key=value, separated by commas")
            found[key.strip()] = value.strip()
    return found
