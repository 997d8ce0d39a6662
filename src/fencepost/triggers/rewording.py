"""From one trigger to the next, by the words that `wording` builds triggers of.

The old trigger is taken apart into what it was built from: a plain trigger, and around it the layers. What
was given takes the place of its counterpart and the rest stays. A trigger of another make, a combination from
code for example, can only be replaced as a whole, by its stable form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from fencepost.errors import InvalidTrigger, UsageError
from fencepost.model.json import JsonObject, JsonValue
from fencepost.model.times import SECOND
from fencepost.triggers.at import At
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.business.trigger import BusinessDay, Shifted
from fencepost.triggers.calendar_steps import CalendarStep
from fencepost.triggers.codec import decode
from fencepost.triggers.combine import Combinable
from fencepost.triggers.cron import Cron
from fencepost.triggers.every import Every
from fencepost.triggers.localtime.dst import Fold, Gap, checked_fold, checked_gap
from fencepost.triggers.narrow import Between, Limit, Outside
from fencepost.triggers.rrule import RRule
from fencepost.triggers.rrule.lines import parse_block
from fencepost.triggers.wording import (
    COMPANIONS,
    KINDS,
    Moment,
    Voice,
    Window,
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

NONE = "none"
WORDS = (*KINDS, *COMPANIONS, "calendar", "on_business_days", "start", "end", "outside")
LAYERS_MAX = 16


def new_trigger(words: Words, voice: Voice) -> Combinable:
    """The trigger of a new schedule; a layer that is `none` is not there."""
    shift = None if words.on_business_days == NONE else words.on_business_days
    start, end = _chosen(words.start, None), _chosen(words.end, None)
    return build(replace(words, on_business_days=shift, start=start, end=end), voice)


def changed_trigger(old: JsonObject, words: Words, voice: Voice, *, counted: bool = True) -> JsonObject:
    """The stable form of the old trigger, with what was given instead; a layer that is `none` goes, and so
    does a number of runs where it is not to be `counted` on."""
    if not any(words.has(name) for name in WORDS) and words.outside is not None:
        return old
    for name in ("anchor", "start", "end"):
        check_moment(name, _chosen(getattr(words, name), None), voice)
    parts = _Parts.of(_readable(old, words, voice))
    parts = parts if counted else replace(parts, count=None)
    return parts.changed(words, voice).joined(words.tz, voice).to_json()


def limited_trigger(form: JsonObject, count: int | None, now: datetime, voice: Voice) -> JsonObject:
    """The stable form of the trigger, firing so many times from its start on, or from now if that is later:
    an edit grants as many runs as it says. None: as often as it would by itself."""
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


def _readable(old: JsonObject, words: Words, voice: Voice) -> Combinable:
    """A trigger that newer code wrote can be replaced, but not changed."""
    try:
        return decode(old)
    except InvalidTrigger:
        if not any(words.has(kind) for kind in KINDS):
            raise
        return build(words.bare(), voice)


@dataclass(frozen=True)
class _Parts:
    """A trigger, taken apart."""

    base: Combinable
    shift: tuple[Calendar, str] | None
    windows: tuple[Window, ...]
    start: Moment | None
    end: Moment | None
    count: int | None

    @classmethod
    def of(cls, trigger: Combinable) -> _Parts:
        start = end = shift = count = None
        windows: list[Window] = []
        if isinstance(trigger, Limit):
            count, trigger = trigger.count, trigger.of
        if isinstance(trigger, Between):
            start, end, trigger = trigger.start, trigger.end, trigger.of
        while isinstance(trigger, Outside) and len(windows) < LAYERS_MAX:
            windows.append(Window(trigger.opens, trigger.lasts))
            trigger = trigger.of
        if isinstance(trigger, Shifted):
            shift, trigger = (trigger.calendar, trigger.otherwise), trigger.of
        return cls(trigger, shift, tuple(reversed(windows)), start, end, count)

    def changed(self, words: Words, voice: Voice) -> _Parts:
        changed = replace(
            self,
            base=_changed_base(self.base, words, voice),
            shift=self._changed_shift(words, voice),
            windows=self.windows if words.outside == () else words.outside or (),
            start=_chosen(words.start, self.start),
            end=_chosen(words.end, self.end),
        )
        if words.calendar is not None and changed.shift is None and not isinstance(changed.base, BusinessDay):
            refuse(voice, "calendar", "has no meaning with a trigger that keeps to no business days")
        return changed

    def joined(self, tz: str | None, voice: Voice) -> Combinable:
        trigger = self.base
        if self.shift is not None:
            trigger = on_business_days(trigger, *self.shift, voice)
        for window in self.windows:
            with voice.blaming("outside"):
                trigger = trigger.outside(window.opens, window.lasts)
        trigger = between(trigger, self.start, self.end, tz or getattr(self.base, "tz", None), voice)
        if self.count is None:
            return trigger
        with voice.blaming("max_runs"):
            return trigger.limit(self.count)

    def _changed_shift(self, words: Words, voice: Voice) -> tuple[Calendar, str] | None:
        old_calendar, old_otherwise = self.shift or (None, None)
        otherwise = _chosen(words.on_business_days, old_otherwise)
        if otherwise is None:
            return None
        calendar = old_calendar if words.calendar is None else _calendar(words.calendar, voice)
        if calendar is None:
            refuse(voice, "on_business_days", f"needs the name of a calendar; add {voice.called('calendar')}")
        return calendar, str(otherwise)


def _chosen(given: Moment | None, old: Moment | None) -> Moment | None:
    """What was given or else the old; `none` takes it away."""
    return None if given == NONE else old if given is None else given


def _changed_base(old: Combinable, words: Words, voice: Voice) -> Combinable:
    plain = words.bare()
    kinds = [kind for kind in KINDS if plain.has(kind)]
    if kinds and not _is_alike(old, kinds, plain, voice):
        without_shift = plain if plain.has("business_day") else replace(plain, calendar=None)
        return build(without_shift, voice)
    if not any(plain.has(name) for name in (*KINDS, *COMPANIONS, "calendar")):
        return old
    return _edited(old, plain, voice)


def _is_alike(old: Combinable, kinds: list[str], words: Words, voice: Voice) -> bool:
    """Whether the old trigger is of the one kind that was given. Exact intervals and steps of the calendar
    have different companions, so they count as two kinds."""
    if isinstance(old, Every) and kinds == ["every"] and words.every is not None:
        with voice.blaming("every"):
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


def _edited(old: Combinable, words: Words, voice: Voice) -> Combinable:
    """The old trigger with other values; those that no option has stay as they are."""
    kind = _kind(old)
    if kind is None:
        if any(words.has(name) for name in COMPANIONS):
            whole = f"give all of it with {voice.called('trigger')}"
            raise UsageError(f"the trigger is a combination, which can only be replaced; {whole}")
        return old
    check_companions(words, kind, voice)
    with voice.blaming(kind):
        match old:
            case Cron():
                expression, tz = words.cron or old.expression, words.tz or old.tz
                return replace(
                    old, expression=expression, tz=tz, gap=_gap(old, words), fold=_fold(old, words)
                )
            case RRule():
                return _edited_rule(old, words)
            case BusinessDay():
                return _edited_business_day(old, words, voice)
    return _edited_interval(old, words, voice) if isinstance(old, Every) else _same_times(old, words, voice)


def _edited_interval(old: Every, words: Words, voice: Voice) -> Every:
    if not isinstance(old.interval, CalendarStep):
        check_beat(words, voice)
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


def _edited_business_day(old: BusinessDay, words: Words, voice: Voice) -> BusinessDay:
    given = words.business_day
    number = old.nth if given is None else given if isinstance(given, int) else None
    return BusinessDay(
        old.calendar if words.calendar is None else _calendar(words.calendar, voice),
        words.at_time or old.at,
        number,
        words.tz or old.tz,
        old.months,
        _gap(old, words),
        _fold(old, words),
    )


def _same_times(old: Combinable, words: Words, voice: Voice) -> Combinable:
    if words.tz is not None:
        refuse(voice, "tz", f"has no meaning without {voice.called('at')}: the times are instants by now")
    return old


def _gap(old: Cron | Every | RRule | BusinessDay, words: Words) -> Gap | None:
    return checked_gap(words.gap) or old.gap


def _fold(old: Cron | Every | RRule | BusinessDay, words: Words) -> Fold | None:
    return checked_fold(words.fold) or old.fold


def _calendar(name: str, voice: Voice) -> Calendar:
    with voice.blaming("calendar"):
        return Calendar(name)
