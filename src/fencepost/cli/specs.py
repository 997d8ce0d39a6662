"""From options to the words of a schedule; a refusal of what they mean speaks of the options."""

from __future__ import annotations

import json
import re
from typing import Any

from fencepost.cli.option_words import OptionWords
from fencepost.cli.reading import read_gate, read_labels, read_payload
from fencepost.cli.spec_options import ScheduleOptions
from fencepost.clock import SystemClock
from fencepost.errors import UsageError
from fencepost.operations.responses.schedules import ScheduleResponse, spec_behind
from fencepost.operations.schedule_words import NONE, CatchUpWords, DstWords
from fencepost.operations.schedules import AddScheduleRequest, EditScheduleRequest
from fencepost.operations.specs import changed_spec, new_spec
from fencepost.triggers.wording import EVERY_BUSINESS_DAY, refuse

VOICE = OptionWords()
AS_TYPED = (
    *("job", "cron", "every", "rrule", "calendar", "on_business_days", "tz", "anchor", "start", "end"),
    *("spread", "jitter", "overlap", "queue", "priority"),
)

_NUMBER = re.compile(r"[+-]?[0-9]{1,4}", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,6}", re.ASCII)


def new_schedule(schedule_id: str, given: ScheduleOptions) -> AddScheduleRequest:
    """What is asked for a new schedule. The clock of this machine only decides whether it is refused here."""
    request = AddScheduleRequest(schedule_id=schedule_id, **_words(given))
    new_spec(request, SystemClock().wall(), VOICE)
    return request


def edited_schedule(old: ScheduleResponse, given: ScheduleOptions) -> EditScheduleRequest:
    """What is asked for an edit of the version that is there."""
    words = _words(given)
    request = EditScheduleRequest(schedule_id=old.schedule_id, expected_version=old.version, **words)
    changed_spec(spec_behind(old), request, SystemClock().wall(), VOICE)
    return request


def _words(given: ScheduleOptions) -> dict[str, Any]:
    """The words that were given, as a `ScheduleWords` takes them."""
    words = {
        **{name: getattr(given, name) for name in AS_TYPED},
        "at": list(given.at) or None,
        "time": list(given.at_time) or None,
        "business_day": _business_day(given.business_day),
        "trigger": _form(given.trigger),
        "dst": _policy(given),
        "max_runs": _count(given.max_runs),
        "catch_up": _catch_up(given),
        "payload": read_payload(given.payload),
        "labels": read_labels(given.label) or None,
    }
    return {name: value for name, value in words.items() if value is not None}


def _business_day(text: str | None) -> int | str | None:
    if text is None or text == EVERY_BUSINESS_DAY:
        return text
    if not _NUMBER.fullmatch(text):
        refuse(VOICE, "business_day", f"{text!r}: expected a number such as 1 or -1, or {EVERY_BUSINESS_DAY}")
    return int(text)


def _count(text: str | None) -> int | str | None:
    if text is None or text == NONE:
        return text
    if not _COUNT.fullmatch(text):
        refuse(VOICE, "max_runs", f"{text!r}: expected a number of runs, or {NONE}")
    return int(text)


def _form(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--trigger: not JSON: {error}") from None


def _policy(given: ScheduleOptions) -> DstWords | None:
    chosen: dict[str, Any] = {name: getattr(given, name) for name in ("gap", "fold") if getattr(given, name)}
    return DstWords(**chosen) if chosen else None


def _catch_up(given: ScheduleOptions) -> CatchUpWords | None:
    words: dict[str, Any] = {
        "mode": given.catch_up,
        "max_lateness": given.max_lateness,
        "gate": None if given.gate is None else read_gate(given.gate),
    }
    chosen = {name: value for name, value in words.items() if value is not None}
    return CatchUpWords(**chosen) if chosen else None
