"""The verbs of expressions: when one fires, and what it means. No store is asked anything but the time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta

from fencepost.errors import InvalidTrigger, UsageError
from fencepost.model.access import Role
from fencepost.model.times import YEAR_FIRST, YEAR_LAST, parse_local_or_instant, to_instant
from fencepost.operations.control import Control
from fencepost.operations.operation import Request, operation
from fencepost.operations.responses.triggers import ExplainResponse, NextResponse, changes_ahead, policy_of
from fencepost.operations.specs import WordVoice
from fencepost.operations.words import Name, moment
from fencepost.triggers import Combinable, Cron, decode, tzdata_version, zone
from fencepost.triggers.series import Binding
from fencepost.triggers.wording import Voice, Words, build, is_calendar_step

COUNT_MAX = 100
NEXT_SHOWN = 3
EXPRESSION_LENGTH_MAX = 10_000
EVERY = "every "
RULE_STARTS = ("FREQ=", "RRULE:", "DTSTART")
FORM_START = "{"
NAMES = {"cron": "a cron expression", "every": "an interval", "rrule": "a recurrence rule"}
UTC = "UTC"

TimeText = Annotated[
    str, Meta(min_length=1, max_length=64, description="An instant, or a wall time in `tz`.")
]


class TriggerRequest(Request, frozen=True, kw_only=True):
    """An expression, and how it is to be read."""

    expression: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=EXPRESSION_LENGTH_MAX,
            description="Cron, `every 5m`, `every 1 month`, an RRULE, or the stable form of a trigger.",
            examples=["30 2 * * *"],
        ),
    ]
    tz: (
        Annotated[
            str, Meta(min_length=1, max_length=64, description="The zone of wall times; UTC unless given.")
        ]
        | None
    ) = None
    after: Annotated[TimeText, Meta(description="Fire times later than this; now unless given.")] | None = (
        None
    )
    gap: Annotated[Literal["shift", "skip"], Meta(description="When the clocks skip the time.")] | None = None
    fold: Annotated[Literal["first", "last", "both"], Meta(description="When they show it twice.")] | None = (
        None
    )
    anchor: (
        Annotated[
            TimeText, Meta(description="Where an interval or a rule begins to count; 1970 unless given.")
        ]
        | None
    ) = None
    schedule_id: Annotated[Name, Meta(description="The id that an `H` is hashed by.")] | None = None


class NextTimesRequest(TriggerRequest, frozen=True, kw_only=True):
    """Which fire times."""

    count: Annotated[int, Meta(ge=1, le=COUNT_MAX, description="How many.")] = 5
    previous: Annotated[bool, Meta(description="The last ones before `after` instead.")] = False


class ExpressionVoice(WordVoice):
    """Of the expression itself it speaks by its kind."""

    def called(self, key: str) -> str:
        """As `Voice`."""
        return NAMES.get(key, key)

    @contextmanager
    def blaming(self, key: str) -> Iterator[None]:
        """As `Voice`."""
        with super().blaming("" if key in NAMES else key):
            yield


VOICE = ExpressionVoice()


@operation("triggers.next", "GET /triggers/next", Role.VIEWER)
async def show_next(control: Control, request: NextTimesRequest) -> NextResponse:
    """Show when an expression fires next, and what the next changes of the clocks do to it."""
    now = await control.store.now()
    return await control.offload(lambda: next_times(request, now, VOICE))


@operation("triggers.explain", "GET /triggers/explain", Role.VIEWER)
async def explain(control: Control, request: TriggerRequest) -> ExplainResponse:
    """Say in plain words when an expression fires, and what a change of the clocks does to it."""
    now = await control.store.now()
    return await control.offload(lambda: explained(request, now, VOICE))


def next_times(request: NextTimesRequest, now: datetime, voice: Voice) -> NextResponse:
    """The fire times after a moment, or before it."""
    trigger, after = _trigger(request, voice), _after(request, now, voice)
    times = trigger.last(after, request.count) if request.previous else trigger.next(after, request.count)
    return NextResponse(
        description=trigger.describe(),
        zones=sorted(trigger.zones()),
        times=[moment(one) for one in times],
        changes=changes_ahead(trigger, after),
    )


def explained(request: TriggerRequest, now: datetime, voice: Voice) -> ExplainResponse:
    """All that can be said of it."""
    trigger, after = _trigger(request, voice), _after(request, now, voice)
    return ExplainResponse(
        description=trigger.describe(),
        tz=request.tz or _own_zone(trigger),
        zones=sorted(trigger.zones()),
        policy=policy_of(trigger),
        next=[moment(one) for one in trigger.next(after, NEXT_SHOWN)],
        previous=moment(_last_before(trigger, after)),
        changes=changes_ahead(trigger, after),
        warnings=list(trigger.cautions()) if isinstance(trigger, Cron) else [],
        tzdata=tzdata_version(),
        trigger=trigger.to_json(),
    )


def _trigger(request: TriggerRequest, voice: Voice) -> Combinable:
    """The trigger that the expression means."""
    if request.tz is not None:
        with voice.blaming("tz"):
            zone(request.tz)
    is_form = request.expression.lstrip().startswith(FORM_START)
    trigger = _form(request, voice) if is_form else build(_words(request, voice), voice)
    if request.schedule_id is not None and not trigger.calendar_names():
        return trigger.bound(Binding(request.schedule_id))
    if trigger.is_hashed():
        by = voice.called("schedule_id")
        raise UsageError(f"{trigger.describe()}: H is hashed by a schedule's id; give it with {by}")
    return trigger


def _form(request: TriggerRequest, voice: Voice) -> Combinable:
    for name in ("tz", "gap", "fold", "anchor"):
        if getattr(request, name) is not None:
            said = "has no meaning with the stable form of a trigger, which says it all"
            raise UsageError(f"{voice.called(name)}: {said}")
    try:
        return decode(json.loads(request.expression))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON: {error}") from None


def _words(request: TriggerRequest, voice: Voice) -> Words:
    text = request.expression.strip()
    kind = _kind(text)
    given: dict[str, Any] = {kind: text[len(EVERY) :].strip() if kind == "every" else text}
    words = Words(tz=request.tz, gap=request.gap, fold=request.fold, anchor=request.anchor, **given)
    if kind != "every" or is_calendar_step(words.every or ""):
        return words
    # Of an exact interval the zone says only how its anchor is read and where its times are shown.
    anchor = None if request.anchor is None else _instant("anchor", request.anchor, request.tz, voice)
    return replace(words, anchor=anchor, tz=None)


def _kind(text: str) -> str:
    if text.upper().startswith(RULE_STARTS):
        return "rrule"
    return "every" if text.lower().startswith(EVERY) else "cron"


def _after(request: TriggerRequest, now: datetime, voice: Voice) -> datetime:
    return now if request.after is None else _instant("after", request.after, request.tz, voice)


def _instant(key: str, text: str, tz: str | None, voice: Voice) -> datetime:
    """An instant; a time without an offset is read in the zone."""
    try:
        instant = to_instant(parse_local_or_instant(text), zone(tz or UTC))
    except (UsageError, OverflowError, ValueError) as error:
        raise UsageError(f"{voice.called(key)}: {error}") from None
    if not YEAR_FIRST <= instant.year <= YEAR_LAST:
        raise UsageError(f"{voice.called(key)} {text}: expected a year from {YEAR_FIRST} to {YEAR_LAST}")
    return instant


def _last_before(trigger: Combinable, after: datetime) -> datetime | None:
    """None also where a search for it is cut."""
    try:
        return trigger.previous(after)
    except InvalidTrigger:
        return None


def _own_zone(trigger: Combinable) -> str | None:
    """The zone that it lives in; None where there are several."""
    zones = trigger.zones() or {UTC}
    return next(iter(zones)) if len(zones) == 1 else None
