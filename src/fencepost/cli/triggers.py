"""From the options of a schedule to its trigger, and from one trigger to the next.

An edit takes the old trigger apart into what `manifest.words` builds it from: a plain trigger, and around it
the layers. What was given takes the place of its counterpart and the rest stays. A trigger of another make, a
combination from code for example, can only be replaced as a whole.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from fencepost.cli.voices import OptionVoice
from fencepost.errors import InvalidTrigger, UsageError
from fencepost.manifest.words import (
    COMPANIONS,
    EVERY_BUSINESS_DAY,
    KINDS,
    Moment,
    Words,
    between,
    build,
    check_beat,
    check_companions,
    check_moment,
    is_calendar_step,
    on_business_days,
    refuse,
)
from fencepost.model.json import JsonObject
from fencepost.model.times import SECOND
from fencepost.triggers import At, Calendar, Combinable, Cron, Every, Fold, Gap, decode
from fencepost.triggers.business.trigger import BusinessDay, Shifted
from fencepost.triggers.calendar_steps import CalendarStep
from fencepost.triggers.localtime.dst import checked_fold, checked_gap
from fencepost.triggers.narrow import Between, Limit, Outside
from fencepost.triggers.rrule import RRule
from fencepost.triggers.rrule.lines import parse_block

if TYPE_CHECKING:
    from fencepost.cli.spec_options import Given

NONE = "none"
LAYERS = ("on_business_days", "start", "end")
WORDS = (*KINDS, *COMPANIONS, "calendar", *LAYERS)
LAYERS_MAX = 16
VOICE = OptionVoice()
COMBINED = "the trigger is a combination, which no option can change; give all of it with --trigger"

_NUMBER = re.compile(r"[+-]?[0-9]{1,4}", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,6}", re.ASCII)


def new_trigger(given: Given) -> Combinable:
    """The trigger of a new schedule."""
    if given.trigger is not None:
        return _from_form(given)
    words = _words(given)
    shift = None if words.on_business_days == NONE else words.on_business_days
    start, end = _chosen(words.start, None), _chosen(words.end, None)
    return build(replace(words, on_business_days=shift, start=start, end=end), VOICE)


def changed_trigger(old: JsonObject, given: Given) -> JsonObject:
    """The stable form of the old trigger, with what was given instead."""
    if given.trigger is not None:
        return _from_form(given).to_json()
    words = _words(given)
    if not any(words.has(name) for name in WORDS):
        return old
    for name in ("anchor", "start", "end"):
        check_moment(name, _chosen(getattr(words, name), None), VOICE)
    return _Parts.of(_readable(old, words)).changed(words).joined(words.tz).to_json()


def limited_trigger(form: JsonObject, text: str, now: datetime) -> JsonObject:
    """The stable form of the trigger, firing so many times from its start on, or from now if that is later:
    an edit grants as many runs as it says."""
    trigger = decode(form)
    trigger = trigger.of if isinstance(trigger, Limit) else trigger
    if text == NONE:
        return trigger.to_json()
    start, end = now.replace(microsecond=0) + SECOND, None
    if isinstance(trigger, Between):
        start, end, trigger = max(trigger.start or start, start), trigger.end, trigger.of
    with VOICE.blaming("max_runs"):
        return trigger.between(start, end).limit(_count(text)).to_json()


def _count(text: str) -> int:
    if not _COUNT.fullmatch(text):
        raise UsageError(f"{text!r}: expected a number of runs, or {NONE}")
    return int(text)


def read_form(text: str) -> Combinable:
    """The trigger behind a stable form."""
    try:
        return decode(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON: {error}") from None


def _from_form(given: Given) -> Combinable:
    for name in WORDS:
        if getattr(given, name) not in (None, ()):
            raise UsageError(f"{VOICE.called(name)} has no meaning with --trigger, which says it all")
    with VOICE.blaming("trigger"):
        return read_form(given.trigger or "")


def _words(given: Given) -> Words:
    words = Words(**{name: getattr(given, name) for name in WORDS if name != "business_day"})
    return replace(words, business_day=_business_day(given.business_day))


def _business_day(text: str | None) -> int | str | None:
    if text is None or text == EVERY_BUSINESS_DAY:
        return text
    if not _NUMBER.fullmatch(text):
        refuse(VOICE, "business_day", f"{text!r}: expected a number such as 1 or -1, or {EVERY_BUSINESS_DAY}")
    return int(text)


def _readable(old: JsonObject, words: Words) -> Combinable:
    """A trigger that newer code wrote can be replaced, but not changed."""
    try:
        return decode(old)
    except InvalidTrigger:
        if not any(words.has(kind) for kind in KINDS):
            raise
        return build(words.bare(), VOICE)


@dataclass(frozen=True)
class _Parts:
    """A trigger, taken apart."""

    base: Combinable
    shift: tuple[Calendar, str] | None
    windows: tuple[Outside, ...]
    start: Moment | None
    end: Moment | None
    count: int | None

    @classmethod
    def of(cls, trigger: Combinable) -> _Parts:
        start = end = shift = count = None
        windows: list[Outside] = []
        if isinstance(trigger, Limit):
            count, trigger = trigger.count, trigger.of
        if isinstance(trigger, Between):
            start, end, trigger = trigger.start, trigger.end, trigger.of
        while isinstance(trigger, Outside) and len(windows) < LAYERS_MAX:
            windows.append(trigger)
            trigger = trigger.of
        if isinstance(trigger, Shifted):
            shift, trigger = (trigger.calendar, trigger.otherwise), trigger.of
        return cls(trigger, shift, tuple(reversed(windows)), start, end, count)

    def changed(self, words: Words) -> _Parts:
        changed = replace(
            self,
            base=_changed_base(self.base, words),
            shift=self._changed_shift(words),
            start=_chosen(words.start, self.start),
            end=_chosen(words.end, self.end),
        )
        if words.calendar is not None and changed.shift is None and not isinstance(changed.base, BusinessDay):
            refuse(VOICE, "calendar", "has no meaning with a trigger that keeps to no business days")
        return changed

    def joined(self, tz: str | None) -> Combinable:
        trigger = self.base
        if self.shift is not None:
            trigger = on_business_days(trigger, *self.shift, VOICE)
        for window in self.windows:
            trigger = Outside(trigger, window.opens, window.lasts)
        trigger = between(trigger, self.start, self.end, tz or getattr(self.base, "tz", None), VOICE)
        if self.count is None:
            return trigger
        with VOICE.blaming("max_runs"):
            return trigger.limit(self.count)

    def _changed_shift(self, words: Words) -> tuple[Calendar, str] | None:
        old_calendar, old_otherwise = self.shift or (None, None)
        otherwise = _chosen(words.on_business_days, old_otherwise)
        if otherwise is None:
            return None
        calendar = old_calendar if words.calendar is None else _calendar(words.calendar)
        if calendar is None:
            refuse(VOICE, "on_business_days", f"needs the name of a calendar; add {VOICE.called('calendar')}")
        return calendar, str(otherwise)


def _chosen(given: Moment | None, old: Moment | None) -> Moment | None:
    """What was given or else the old; `none` takes it away."""
    return None if given == NONE else old if given is None else given


def _changed_base(old: Combinable, words: Words) -> Combinable:
    plain = words.bare()
    kinds = [kind for kind in KINDS if plain.has(kind)]
    if kinds and not _is_alike(old, kinds, plain):
        without_shift = plain if plain.has("business_day") else replace(plain, calendar=None)
        return build(without_shift, VOICE)
    if not any(plain.has(name) for name in (*KINDS, *COMPANIONS, "calendar")):
        return old
    return _edited(old, plain)


def _is_alike(old: Combinable, kinds: list[str], words: Words) -> bool:
    """Whether the old trigger is of the one kind that was given. Exact intervals and steps of the calendar
    have different companions, so they count as two kinds."""
    if isinstance(old, Every) and kinds == ["every"] and words.every is not None:
        with VOICE.blaming("every"):
            return is_calendar_step(words.every) == isinstance(old.interval, CalendarStep)
    return kinds == [_kind(old)] and not isinstance(old, At)


def _kind(trigger: Combinable) -> str | None:
    match trigger:
        case Cron():
            return "cron"
        case Every():
            return "every"
        case At():
            return "at"
        case RRule():
            return "rrule"
        case BusinessDay():
            return "business_day"
    return None


def _edited(old: Combinable, words: Words) -> Combinable:
    """The old trigger with other values; those that no option has stay as they are."""
    kind = _kind(old)
    if kind is None:
        if any(words.has(name) for name in COMPANIONS):
            raise UsageError(COMBINED)
        return old
    check_companions(words, kind, VOICE)
    with VOICE.blaming(kind):
        match old:
            case Cron():
                expression, tz = words.cron or old.expression, words.tz or old.tz
                return replace(
                    old, expression=expression, tz=tz, gap=_gap(old, words), fold=_fold(old, words)
                )
            case RRule():
                return _edited_rule(old, words)
            case BusinessDay():
                return _edited_business_day(old, words)
    return _edited_interval(old, words) if isinstance(old, Every) else _same_times(old, words)


def _edited_interval(old: Every, words: Words) -> Every:
    if not isinstance(old.interval, CalendarStep):
        check_beat(words, VOICE)
    interval = old.interval if words.every is None else words.every
    anchor = old.anchor if words.anchor is None else words.anchor
    return Every(interval, anchor, words.tz or old.tz, _gap(old, words), _fold(old, words), jitter=old.jitter)


def _edited_rule(old: RRule, words: Words) -> RRule:
    """What the lines of a new rule say themselves takes the place of the old."""
    block = parse_block(words.rrule or old.rule)
    start = words.anchor if words.anchor is not None else None if block.start else old.start
    return RRule(
        words.rrule or old.rule,
        start,
        words.tz or ("UTC" if block.tz else old.tz),
        () if block.exclude else old.exclude,
        () if block.include else old.include,
        _gap(old, words),
        _fold(old, words),
    )


def _edited_business_day(old: BusinessDay, words: Words) -> BusinessDay:
    given = words.business_day
    number = old.nth if given is None else given if isinstance(given, int) else None
    return BusinessDay(
        old.calendar if words.calendar is None else _calendar(words.calendar),
        words.at_time or old.at,
        number,
        words.tz or old.tz,
        old.months,
        _gap(old, words),
        _fold(old, words),
    )


def _same_times(old: Combinable, words: Words) -> Combinable:
    if words.tz is not None:
        refuse(VOICE, "tz", f"has no meaning without {VOICE.called('at')}: the times are instants by now")
    return old


def _gap(old: Cron | Every | RRule | BusinessDay, words: Words) -> Gap | None:
    return checked_gap(words.gap) or old.gap


def _fold(old: Cron | Every | RRule | BusinessDay, words: Words) -> Fold | None:
    return checked_fold(words.fold) or old.fold


def _calendar(name: str) -> Calendar:
    with VOICE.blaming("calendar"):
        return Calendar(name)
