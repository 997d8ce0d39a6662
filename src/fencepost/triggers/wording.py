"""A trigger from the words of people who write no Python: in `fencepost.toml`, over HTTP, or as options of a
command.

There is one *kind* (cron, every, at, rrule, business_day), with companions that belong to some kinds only.
The layers around it always come in this order: business days, windows, start and end. An error names the
words as their author wrote them, through a `Voice`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn, Protocol, TypeAlias

from fencepost.errors import InvalidSpec
from fencepost.model.durations import Duration
from fencepost.model.times import parse_local_or_instant
from fencepost.triggers import At, Calendar, Combinable, Cron, Every, zone
from fencepost.triggers.business.trigger import Shifted, checked_otherwise, checked_wall_trigger
from fencepost.triggers.calendar_steps import CalendarStep
from fencepost.triggers.localtime.dst import checked_fold, checked_gap
from fencepost.triggers.rrule import RRule

KINDS = ("cron", "every", "at", "rrule", "business_day")
POLICED = ("cron", "every", "rrule", "business_day")
COMPANIONS = {
    "tz": KINDS,
    "gap": POLICED,
    "fold": POLICED,
    "anchor": ("every", "rrule"),
    "at_time": ("business_day",),
}
EVERY_BUSINESS_DAY = "every"
BEAT = "an exact interval, which keeps its beat; a step of the calendar such as '1 day' has wall times"

Moment: TypeAlias = str | datetime


class Voice(Protocol):
    """How a place speaks of its words."""

    def called(self, key: str) -> str:
        """A word's name there."""
        ...

    def blaming(self, key: str) -> AbstractContextManager[None]:
        """Name the word in whatever is refused within; the empty key names the place alone."""
        ...


@dataclass(frozen=True)
class Window:
    """A stretch of elapsed time from each fire time of `opens` on."""

    opens: Combinable
    lasts: Duration


@dataclass(frozen=True)
class Words:
    """What was written; None or nothing where a word was left out.

    `business_day` is a number, from the end of the month where negative, or `every`. `anchor` is where an
    interval or a recurrence rule begins to count.
    """

    cron: str | None = None
    every: Duration | None = None
    at: tuple[Moment, ...] = ()
    rrule: str | None = None
    business_day: int | str | None = None
    at_time: tuple[str, ...] = ()
    calendar: str | None = None
    on_business_days: str | None = None
    tz: str | None = None
    gap: str | None = None
    fold: str | None = None
    anchor: Moment | None = None
    start: Moment | None = None
    end: Moment | None = None
    outside: tuple[Window, ...] | None = ()
    """None where the windows that were there are taken away."""

    def has(self, key: str) -> bool:
        """Whether a word was given."""
        return getattr(self, key) not in (None, ())

    def layers(self) -> Words:
        """The layers alone."""
        shift = self.on_business_days
        calendar = None if shift is None else self.calendar
        return Words(
            calendar=calendar, on_business_days=shift, start=self.start, end=self.end, outside=self.outside
        )


def build(words: Words, voice: Voice) -> Combinable:
    """The trigger that the words mean, or a refusal that names one of them."""
    kind = _kind(words, voice)
    for key, moment in (("anchor", words.anchor), ("start", words.start), ("end", words.end)):
        check_moment(key, moment, voice)
    check_companions(words, kind, voice)
    _check_calendar(words, voice)
    trigger = _MAKERS[kind](words, voice)
    if words.on_business_days is not None:
        trigger = on_business_days(trigger, Calendar(words.calendar or ""), words.on_business_days, voice)
    for window in words.outside or ():
        with voice.blaming("outside"):
            trigger = trigger.outside(window.opens, window.lasts)
    return between(trigger, words.start, words.end, words.tz, voice)


def on_business_days(trigger: Combinable, calendar: Calendar, otherwise: str, voice: Voice) -> Combinable:
    """The trigger, kept to the business days of a calendar."""
    with voice.blaming("on_business_days"):
        return Shifted(checked_wall_trigger(trigger), calendar, checked_otherwise(otherwise))


def between(
    trigger: Combinable, start: Moment | None, end: Moment | None, tz: str | None, voice: Voice
) -> Combinable:
    """The trigger from a start on and before an end, where there is one of them."""
    if start is None and end is None:
        return trigger
    with voice.blaming("end" if end is not None else "start"):
        return trigger.between(start, end, tz or "UTC")


def check_companions(words: Words, kind: str, voice: Voice) -> None:
    """Refuse words that do not go with the kind, and zones that are none."""
    for key, kinds in COMPANIONS.items():
        if words.has(key) and kind not in kinds:
            belongs = " or ".join(map(voice.called, kinds))
            refuse(voice, key, f"has no meaning with {voice.called(kind)}; it belongs to {belongs}")
    if words.tz is not None:
        with voice.blaming("tz"):
            zone(words.tz)


def check_beat(words: Words, voice: Voice) -> None:
    """Refuse what an exact interval has no use for. A zone still says how local times around it are read."""
    for key in ("gap", "fold", "tz"):
        if words.has(key) and not (
            key == "tz" and any(map(_is_local, (words.anchor, words.start, words.end)))
        ):
            refuse(voice, key, f"has no meaning with {BEAT}")


def check_moment(key: str, moment: Moment | None, voice: Voice) -> None:
    """Refuse a text that is no time."""
    if isinstance(moment, str):
        with voice.blaming(key):
            parse_local_or_instant(moment)


def is_calendar_step(interval: Duration) -> bool:
    """Whether an interval is counted on the wall, as `1 month` is and `90s` is not."""
    return isinstance(Every(interval).interval, CalendarStep)


def refuse(voice: Voice, key: str, complaint: str) -> NoReturn:
    """The one line of a refusal."""
    with voice.blaming(key):
        raise InvalidSpec(complaint)
    raise AssertionError("what is refused is not let through")


def listed(names: Iterable[str]) -> str:
    """One, two and three."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _kind(words: Words, voice: Voice) -> str:
    given = [kind for kind in KINDS if words.has(kind)]
    if len(given) != 1:
        found = f", not {listed(map(voice.called, given))}" if given else ""
        refuse(voice, "", f"give exactly one of {listed(map(voice.called, KINDS))}{found}")
    return given[0]


def _check_calendar(words: Words, voice: Voice) -> None:
    users = [key for key in ("business_day", "on_business_days") if words.has(key)]
    if words.calendar is None and users:
        refuse(voice, users[0], f"needs the name of a calendar; add {voice.called('calendar')}")
    if words.calendar is not None:
        if not users:
            belongs = f"{voice.called('business_day')} or {voice.called('on_business_days')}"
            refuse(voice, "calendar", f"has no meaning alone; it belongs to {belongs}")
        with voice.blaming("calendar"):
            Calendar(words.calendar)


def _cron(words: Words, voice: Voice) -> Combinable:
    with voice.blaming("cron"):
        return Cron(words.cron or "", **_wall(words))


def _every(words: Words, voice: Voice) -> Combinable:
    assert words.every is not None
    with voice.blaming("every"):
        by_calendar = is_calendar_step(words.every)
    if not by_calendar:
        check_beat(words, voice)
    with voice.blaming("every" if words.anchor is None else "anchor"):
        return Every(words.every, anchor=words.anchor, **_wall(words))


def _is_local(moment: Moment | None) -> bool:
    read = parse_local_or_instant(moment) if isinstance(moment, str) else moment
    return read is not None and read.tzinfo is None


def _at(words: Words, voice: Voice) -> Combinable:
    with voice.blaming("at"):
        return At(words.at, tz=words.tz or "UTC")


def _rrule(words: Words, voice: Voice) -> Combinable:
    with voice.blaming("rrule"):
        return RRule(words.rrule or "", start=words.anchor, **_wall(words))


def _business_day(words: Words, voice: Voice) -> Combinable:
    if not words.at_time:
        refuse(voice, "business_day", f"needs a time of the day; add {voice.called('at_time')}")
    calendar, number = Calendar(words.calendar or ""), words.business_day
    with voice.blaming("at_time"):
        every_day = calendar.business_days(words.at_time, **_wall(words))
    if number == EVERY_BUSINESS_DAY:
        return every_day
    with voice.blaming("business_day"):
        return calendar.business_day(number, words.at_time, **_wall(words))  # type: ignore[arg-type]


def _wall(words: Words) -> dict[str, Any]:
    """Zone and policy; without a zone the trigger decides on one."""
    policy: dict[str, Any] = {"gap": checked_gap(words.gap), "fold": checked_fold(words.fold)}
    return policy if words.tz is None else {**policy, "tz": words.tz}


_MAKERS: dict[str, Callable[[Words, Voice], Combinable]] = {
    "cron": _cron,
    "every": _every,
    "at": _at,
    "rrule": _rrule,
    "business_day": _business_day,
}
