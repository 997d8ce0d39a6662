"""The options of a schedule, made from its words; a refusal of what they mean speaks of the options."""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec import Struct

from fencepost.cli.option_words import OptionWords
from fencepost.cli.reading import read_gate, read_labels, read_payload
from fencepost.cli.requests import Declare, Reader, takes
from fencepost.clock import SystemClock
from fencepost.errors import UsageError
from fencepost.operations.responses.schedules import ScheduleResponse, spec_behind
from fencepost.operations.schedule_words import NONE
from fencepost.operations.schedules import AddScheduleRequest, EditScheduleRequest
from fencepost.operations.specs import changed_spec, new_spec
from fencepost.triggers.wording import EVERY_BUSINESS_DAY, refuse

VOICE = OptionWords()
NAMES = {"time": "--at-time", "catch_up.mode": "--catch-up", "labels": "--label"}

_NUMBER = re.compile(r"[+-]?[0-9]{1,4}", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,6}", re.ASCII)


def describes_schedule(request: type[Struct]) -> Declare:
    """Give a command the options that say what a schedule is, handed over as one `request`."""
    return takes(request, arguments=("schedule_id",), names=NAMES, reads=READS, without=("outside",))


def check_new(request: AddScheduleRequest) -> None:
    """Refuse what makes no schedule. The clock of this machine only decides whether it is refused here."""
    new_spec(request, SystemClock().wall(), VOICE)


def check_edit(old: ScheduleResponse, request: EditScheduleRequest) -> None:
    """Refuse what makes no next version of the one that is there."""
    changed_spec(spec_behind(old), request, SystemClock().wall(), VOICE)


def _business_day(_: str, text: str, __: str | None) -> int | str:
    if text == EVERY_BUSINESS_DAY:
        return text
    if not _NUMBER.fullmatch(text):
        refuse(VOICE, "business_day", f"{text!r}: expected a number such as 1 or -1, or {EVERY_BUSINESS_DAY}")
    return int(text)


def _count(_: str, text: str, __: str | None) -> int | str:
    if text == NONE:
        return text
    if not _COUNT.fullmatch(text):
        refuse(VOICE, "max_runs", f"{text!r}: expected a number of runs, or {NONE}")
    return int(text)


def _form(_: str, text: str, __: str | None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--trigger: not JSON: {error}") from None


REPEATED: Reader = {"multiple": True}, lambda _, texts, __: list(texts)
READS: dict[str, Reader] = {
    "at": REPEATED,
    "time": REPEATED,
    "business_day": ({}, _business_day),
    "max_runs": ({}, _count),
    "trigger": ({"metavar": "JSON"}, _form),
    "priority": ({"type": int, "metavar": "N"}, lambda _, typed, __: typed),
    "catch_up.gate": ({}, lambda _, text, __: read_gate(text)),
    "payload": ({"metavar": "JSON"}, lambda _, text, __: read_payload(text)),
    "labels": ({"metavar": "KEY=VALUE", "multiple": True}, lambda _, pairs, __: read_labels(pairs)),
}
"""Texts that are read in a way of their own."""
