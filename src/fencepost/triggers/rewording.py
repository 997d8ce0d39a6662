"""From one trigger to the next, by the words that `wording` builds triggers of.

An edit says the old trigger in words, puts the given words over them, and builds the trigger that they mean.
Another kind takes only the layers over. A trigger that its words do not say whole, such as a combination from
code, can only be replaced: by another kind, or by its stable form.
"""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

from fencepost.errors import InvalidTrigger, UsageError
from fencepost.model.json import JsonObject, JsonValue
from fencepost.model.times import SECOND
from fencepost.triggers.at import At
from fencepost.triggers.business.trigger import BusinessDay, Shifted
from fencepost.triggers.codec import decode
from fencepost.triggers.combine import Combinable
from fencepost.triggers.cron import Cron
from fencepost.triggers.every import Every
from fencepost.triggers.narrow import Between, Limit, Outside
from fencepost.triggers.rrule import RRule
from fencepost.triggers.wording import (
    COMPANIONS,
    EVERY_BUSINESS_DAY,
    KINDS,
    Voice,
    Window,
    Words,
    build,
    is_calendar_step,
)

NONE = "none"
WORDS = (*KINDS, *COMPANIONS, "calendar", "on_business_days", "start", "end", "outside")


def new_trigger(words: Words, voice: Voice) -> Combinable:
    """The trigger of a new schedule; a layer that is `none` is not there."""
    return build(_over(Words(), words), voice)


def changed_trigger(old: JsonObject, words: Words, voice: Voice, *, counted: bool = True) -> JsonObject:
    """The stable form of the old trigger, with what was given instead; a layer that is `none` goes, and so
    does a number of runs where it is not to be `counted` on."""
    if not any(words.has(name) for name in WORDS) and words.outside is not None:
        return old
    kinds = _kinds(words)
    try:
        trigger = decode(old)
    except InvalidTrigger:
        if not kinds:
            raise
        return new_trigger(words, voice).to_json()
    count, trigger = (trigger.count, trigger.of) if isinstance(trigger, Limit) else (None, trigger)
    was = _words_of(trigger)
    if kinds and not _is_alike(was, words, voice):
        was = was.layers()
    elif not _says(was, trigger, voice):
        told = (
            "the trigger is a combination, or has a part for which there is no word, and can only be replaced"
        )
        raise UsageError(f"{told}; give all of it with {voice.called('trigger')}")
    changed = build(_over(was, words), voice)
    if count is not None and counted:
        with voice.blaming("max_runs"):
            changed = changed.limit(count)
    return changed.to_json()


def limited_trigger(form: JsonObject, count: int | None, now: datetime, voice: Voice) -> JsonObject:
    """The stable form of the trigger, firing `count` times from its start on, or from now if that is later:
    an edit grants as many runs as it says. None: as often as the trigger itself does."""
    trigger = decode(form)
    trigger = trigger.of if isinstance(trigger, Limit) else trigger
    if count is None:
        return trigger.to_json()
    start, end = now.replace(microsecond=0) + SECOND, None
    if isinstance(trigger, Between):
        start, end, trigger = max(trigger.start or start, start), trigger.end, trigger.of
    with voice.blaming("max_runs"):
        return trigger.between(start, end).limit(count).to_json()


def trigger_of_form(form: JsonValue, words: Words, voice: Voice) -> Combinable:
    """The trigger behind a stable form, beside which no other word has a meaning."""
    for name in WORDS:
        if words.has(name):
            whole = voice.called("trigger")
            raise UsageError(f"{voice.called(name)} has no meaning with {whole}, which says it all")
    with voice.blaming("trigger"):
        return decode(form)


def _words_of(trigger: Combinable) -> Words:
    """The words that say the trigger, or as much of it as there are words for."""
    match trigger:
        case Between():
            return replace(_words_of(trigger.of), start=trigger.start, end=trigger.end)
        case Outside():
            inner = _words_of(trigger.of)
            windows = (*(inner.outside or ()), Window(trigger.opens, trigger.lasts))
            return replace(inner, outside=windows)
        case Shifted():
            calendar = trigger.calendar.name
            return replace(_words_of(trigger.of), on_business_days=trigger.otherwise, calendar=calendar)
        case At():
            return Words(at=trigger.times)
        case Every(interval=timedelta() as interval):
            return Words(every=interval, anchor=trigger.anchor)
        case Every():
            words = Words(every=str(trigger.interval), anchor=trigger.anchor)
        case Cron():
            words = Words(cron=trigger.expression)
        case RRule():
            words = Words(rrule=trigger.rule, anchor=trigger.start)
        case BusinessDay():
            number = EVERY_BUSINESS_DAY if trigger.nth is None else trigger.nth
            words = Words(business_day=number, at_time=trigger.at, calendar=trigger.calendar.name)
        case _:
            return Words()
    return replace(words, tz=trigger.tz, gap=trigger.gap, fold=trigger.fold)


def _says(words: Words, trigger: Combinable, voice: Voice) -> bool:
    """Whether the words are the whole trigger."""
    return bool(_kinds(words)) and build(words, voice).to_json() == trigger.to_json()


def _kinds(words: Words) -> list[str]:
    return [kind for kind in KINDS if words.has(kind)]


def _is_alike(was: Words, words: Words, voice: Voice) -> bool:
    """Whether the given kind is the old one. Exact intervals and steps of the calendar have different
    companions, so they count as two kinds; a rule with a start of its own says its companions itself."""
    if _kinds(was) != _kinds(words):
        return False
    if was.every is not None and words.every is not None:
        with voice.blaming("every"):
            return is_calendar_step(was.every) == is_calendar_step(words.every)
    return "DTSTART" not in (words.rrule or "").upper()


def _over(was: Words, words: Words) -> Words:
    """The given words over the old ones; a layer that is `none` is taken away."""
    given: dict[str, Any] = {
        one.name: getattr(words, one.name) for one in fields(words) if words.has(one.name)
    }
    given |= {key: None for key in ("start", "end") if given.get(key) == NONE}
    if words.outside is None:
        given["outside"] = ()
    changed = replace(was, **given)
    if changed.on_business_days != NONE:
        return changed
    calendar = changed.calendar if changed.has("business_day") else words.calendar
    return replace(changed, on_business_days=None, calendar=calendar)
