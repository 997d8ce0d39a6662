"""A cron expression in plain words.

The words are made from the values that match, not from the text, so that two texts for the same times are
described alike. They say nothing that is not true. A list too long for a sentence is cut down to its number
("at 17 minutes of every hour"). Where no common phrase fits, there is a clause for each field. An `H` without
an identity is "of its own".

The words do not tell what a change of the clocks does. But "every 5 minutes" without a first and a last time
is said only of an expression that keeps its interval through one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise, product
from typing import assert_never

from fencepost.triggers.cron import days as rules
from fencepost.triggers.cron import fields
from fencepost.triggers.cron.expression import AND_SIGN, MACROS, CronInterval, parse_expression
from fencepost.triggers.words import (
    MONTHS,
    UTC_NAMES,
    WEEKDAYS,
    counted,
    even_step,
    every_words,
    few,
    listed,
    ordinal,
    place,
    run_words,
    runs,
    time_words,
)

LENGTH_MAX = 300
# How many runs of values a list may show; the smaller limits are for words that would be too long.
RUNS_MAX = (8, 4, 2, 1)
TIMES_LISTED_MAX, TIMES_LISTED_BEST_MAX = 6, 4
STEPPED_MIN, SPANS_MAX = 4, 3
DAY_S, HOUR_S, MINUTE_S = 86_400, 3_600, 60

# Weekdays count from Monday, 1, to Sunday, 7, so that a weekend is one run.
MONDAY_TO_FRIDAY, SUNDAY = (1, 2, 3, 4, 5), 7
NAMED_WEEKDAYS = {MONDAY_TO_FRIDAY: "weekdays", (6, 7): "weekends"}
NTH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last"}
OWN = "of its own"
A_TIME = "at a minute of its own in an hour of its own"
MIDNIGHT_AND_NOON = {0: "midnight", DAY_S // 2: "noon"}

SPECS = (fields.SECOND, fields.MINUTE, fields.HOUR, fields.DAY, fields.MONTH, fields.WEEKDAY)
_HASHED = re.compile(r"H(?:\((?P<range>[^()]*)\))?(?:/(?P<step>[0-9]+))?", re.IGNORECASE)


def describe_cron(expression: str, tz: str, seed: str | None) -> str:
    """At 02:30 on weekdays, Berlin time."""
    text = " ".join(expression.split())
    parsed = parse_expression(text, seed)
    if isinstance(parsed, CronInterval):
        return every_words(timedelta(seconds=parsed.interval_s))
    texts = MACROS.get(text.lower(), text).split()
    texts = texts if len(texts) == len(SPECS) else ["0", *texts]
    *_, day, _, weekday = texts
    either_day = not (weekday.startswith(AND_SIGN) or any(map(fields.is_unrestricted, (day, weekday))))
    texts[-1] = weekday.removeprefix(AND_SIGN)
    values = [_values(spec, text, seed) for spec, text in zip(SPECS, texts, strict=True)]
    return _sentence(Fields(*values, fixed_time=parsed.fixed_time, either_day=either_day), tz)


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a field, its special days, and in words what a hash is still to choose."""

    unit: str
    plain: tuple[int, ...]
    is_all: bool
    specials: tuple[rules.SpecialDay, ...] = ()
    own: tuple[str, ...] = ()

    @property
    def step(self) -> int:
        """The distance between neighbours where enough of them have the same one and it is not 1, else 0."""
        step = even_step(self.plain)
        return step if step != 1 and len(self.plain) >= STEPPED_MIN else 0

    @property
    def is_span(self) -> bool:
        """Whether it is one unbroken run of values, and nothing else."""
        others = self.specials or self.own
        return len(self.plain) > 2 and even_step(self.plain) == 1 and not others

    @property
    def vague(self) -> Values:
        """The same without the details, where they are more than values."""
        some = (f"some {self.unit}s" if self.unit != "weekday" else "some days of the week",)
        return Values(self.unit, (), False, (), some) if self.specials or self.own else self


@dataclass(frozen=True, slots=True)
class Fields:
    """All fields; `either_day` where a match of one of the two day fields is enough."""

    second: Values
    minute: Values
    hour: Values
    day: Values
    month: Values
    weekday: Values
    fixed_time: bool = field(kw_only=True)
    either_day: bool = field(kw_only=True)

    @property
    def is_every_day(self) -> bool:
        """Whether every day of a month matches."""
        whole = (self.day.is_all, self.weekday.is_all)
        return any(whole) if self.either_day else all(whole)

    def within_hour(self) -> list[int]:
        """The seconds of an hour that match."""
        pairs = product(self.minute.plain, self.second.plain)
        return [minute * MINUTE_S + second for minute, second in pairs]

    def times(self) -> list[int]:
        """The seconds of the day that match."""
        return [hour * HOUR_S + second for hour, second in product(self.hour.plain, self.within_hour())]

    def vague(self) -> Fields:
        """The same without details."""
        clock, days = (self.second, self.minute, self.hour), (self.day, self.month, self.weekday)
        values = [one.vague for one in (*clock, *days)]
        return Fields(*values, fixed_time=self.fixed_time, either_day=self.either_day)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words for the time of day; a beat that does not say when it begins is the same in every zone."""

    words: str
    names_times: bool = False
    is_beat: bool = False
    says_phase: bool = True


def _sentence(found: Fields, tz: str) -> str:
    """The first words that are short enough; those without any details always are."""
    for runs_max in RUNS_MAX:
        words = _attempt(found, tz, runs_max)
        if len(words) <= LENGTH_MAX:
            return words
    return _attempt(found.vague(), tz, RUNS_MAX[-1])


def _attempt(found: Fields, tz: str, runs_max: int) -> str:
    phrase = _clock_words(found, runs_max)
    daily = " every day" if found.is_every_day and phrase.names_times else ""
    endless = phrase.is_beat and found.is_every_day and found.month.is_all
    where = "" if endless and (tz in UTC_NAMES or not phrase.says_phase) else f", {place(tz)}"
    return f"{phrase.words}{daily}{_date_words(found, runs_max)}{where}"


def _clock_words(found: Fields, runs_max: int) -> Phrase:
    if found.second.own or found.minute.own or found.hour.own:
        words = _clauses(found, runs_max)
        return Phrase("at a time of its own", names_times=True) if words == A_TIME else Phrase(words)
    times = found.times()
    if len(times) <= TIMES_LISTED_BEST_MAX:
        return _named_times(times)
    if step := even_step(times):
        return _beat_words(times, step, endless=len(times) * step == DAY_S and not found.fixed_time)
    if len(times) <= TIMES_LISTED_MAX:
        return _named_times(times)
    return _spans(found) or Phrase(_clauses(found, runs_max))


def _named_times(times: Sequence[int]) -> Phrase:
    single = MIDNIGHT_AND_NOON.get(times[0]) if len(times) == 1 else None
    return Phrase(f"at {single or listed(time_words(*times))}", names_times=True)


def _beat_words(times: Sequence[int], step: int, *, endless: bool) -> Phrase:
    every = every_words(timedelta(seconds=step))
    if endless and step <= HOUR_S:
        phase = _phase(times[0], step)
        return Phrase(f"{every}{phase}", is_beat=True, says_phase=bool(phase))
    first, last = time_words(times[0], times[-1])
    return Phrase(f"{every} from {first} to {last}")


def _phase(first: int, step: int) -> str:
    minute, second = divmod(first, MINUTE_S)
    within_hour = f"minute {minute}, second {second}" if second else f"minute {minute}"
    if step == HOUR_S:
        return f" at {within_hour}" if first else " on the hour"
    if not first:
        return ""
    if step == MINUTE_S:
        return f" at second {second}"
    return f" from second {second} of the minute" if step < MINUTE_S else f" from {within_hour} of the hour"


def _spans(found: Fields) -> Phrase | None:
    """Every 5 minutes from 09:00 to 11:55 and from 14:00 to 16:55, where the hours are covered evenly."""
    seconds, hours = found.within_hour(), runs(found.hour.plain)
    step = even_step(seconds) if len(seconds) > 1 else HOUR_S
    if len(seconds) * step != HOUR_S or len(hours) > SPANS_MAX:
        return None
    ends = [time_words(low * HOUR_S + seconds[0], high * HOUR_S + seconds[-1]) for low, high in hours]
    spans = [f"from {first} to {last}" for first, last in ends if first != last]
    single = [f"at {first}" for first, last in ends if first == last]
    return Phrase(f"{every_words(timedelta(seconds=step))} {listed(spans + single)}")


def _clauses(found: Fields, runs_max: int) -> str:
    """At every 7th minute from 0 to 56 of hours 9 to 17: always right, never pretty."""
    hour = "every hour" if found.hour.is_all and not found.fixed_time else _noun(found.hour, runs_max)
    nouns = [_noun(found.minute, runs_max), hour]
    if found.second.own or found.second.plain != (0,):
        nouns.insert(0, _noun(found.second, runs_max))
    words = nouns[0]
    for inner, outer in pairwise(nouns):
        words += f" in {outer}" if OWN in inner else f" of {outer}"
    return f"at {words}"


def _noun(values: Values, runs_max: int) -> str:
    """Every minute, minute 5, minutes 1 and 10 to 15, 17 minutes."""
    words = [_plain_noun(values, runs_max)] if values.plain else []
    return listed(words + few(values.own, runs_max, f"{values.unit}s {OWN}"))


def _plain_noun(values: Values, runs_max: int) -> str:
    if values.is_all and values.unit != "hour":
        return f"every {values.unit}"
    if values.step:
        return f"every {ordinal(values.step)} {values.unit} from {values.plain[0]} to {values.plain[-1]}"
    words = run_words(values.plain, str)
    if len(words) > runs_max:
        return counted(len(values.plain), values.unit)
    return f"{values.unit}{'s' * (len(values.plain) > 1)} {listed(words)}"


def _date_words(found: Fields, runs_max: int) -> str:
    """The words for days and months, after those for the time."""
    day, month, weekday = found.day, found.month, found.weekday
    in_months = "" if month.is_all else f" {_in_months(month, runs_max)}"
    if found.is_every_day:
        return in_months
    if weekday.is_all:
        return f" {_by_day(day, _of_months(month, day, runs_max), runs_max)}"
    if day.is_all:
        if not weekday.specials:
            return f" {_by_weekday(weekday, '', runs_max)}{in_months}"
        if weekday.plain or weekday.own:
            return f"{in_months} {_by_weekday(weekday, ' of the month', runs_max)}"
        return f" {_by_weekday(weekday, _of_months(month, weekday, runs_max), runs_max)}"
    by_day = _by_day(day, " of the month", runs_max)
    if found.either_day:
        return f"{in_months} {by_day} or {_by_weekday(weekday, ' of the month', runs_max)}"
    return f"{in_months} {by_day} where that is {_weekday_noun(weekday, runs_max)}"


def _by_day(values: Values, of_months: str, runs_max: int) -> str:
    """On the 1st and the last day of every month, from the 20th to the end of every month."""
    if values.is_span:
        last = "end" if values.plain[-1] == rules.LONGEST else ordinal(values.plain[-1])
        return f"from the {ordinal(values.plain[0])} to the {last}{of_months}"
    words: list[str] = []
    if values.step:
        first, last = ordinal(values.plain[0]), ordinal(values.plain[-1])
        words = [f"every {ordinal(values.step)} day from the {first} to the {last}"]
    elif values.plain:
        words = run_words(values.plain, ordinal)
        words = [f"the {words[0]}", *words[1:]] if len(words) <= runs_max else [f"{len(values.plain)} days"]
    words += few([_special_noun(one) for one in values.specials], runs_max, "days by rule")
    words += few(values.own, runs_max, f"days {OWN}")
    return f"on {listed(words)}{of_months}"


def _by_weekday(values: Values, of_months: str, runs_max: int) -> str:
    """On weekdays, on Mondays and on the last Friday of the month."""
    phrases = [_plain_weekdays(values.plain)] if values.plain else []
    if values.specials:
        specials = few([_special_noun(one) for one in values.specials], runs_max, "weekdays by rule")
        phrases.append(f"on {listed(specials)}{of_months}")
    phrases += [f"on {one}" for one in few(values.own, runs_max, f"weekdays {OWN}")]
    return listed(phrases)


def _plain_weekdays(weekdays: tuple[int, ...]) -> str:
    names = run_words(weekdays, lambda weekday: f"{WEEKDAYS[weekday]}s")
    return f"on {NAMED_WEEKDAYS.get(weekdays) or listed(names)}"


def _weekday_noun(values: Values, runs_max: int) -> str:
    """A Monday or Friday, a weekday, the last Friday of the month."""
    words = [WEEKDAYS[weekday] for weekday in values.plain]
    if len(words) > runs_max:
        words = [f"one of {len(words)} days of the week"]
    elif words:
        words = ["a weekday"] if values.plain == MONDAY_TO_FRIDAY else [f"a {words[0]}", *words[1:]]
    specials = few([_special_noun(one) for one in values.specials], runs_max, "weekdays by rule")
    words += [f"{special} of the month" for special in specials]
    return listed(words + few(values.own, runs_max, f"weekdays {OWN}"), "or")


def _special_noun(special: rules.SpecialDay) -> str:
    match special:
        case rules.LastDay(before=0):
            return "the last day"
        case rules.LastDay(before=before):
            return f"the {ordinal(before + 1)}-last day"
        case rules.LastWorkingDay():
            return "the last weekday"
        case rules.NearestWorkingDay(day=day):
            return f"the weekday nearest the {ordinal(day)}"
        case rules.NthWeekday(weekday=weekday, nth=nth):
            return f"the {NTH[nth]} {WEEKDAYS[weekday]}"
    assert_never(special)


def _in_months(month: Values, runs_max: int) -> str:
    if month.is_span:
        return f"from {MONTHS[month.plain[0]]} to {MONTHS[month.plain[-1]]}"
    return f"in {_month_names(month, runs_max)}"


def _of_months(month: Values, days: Values, runs_max: int) -> str:
    """Of every month, of January and July; of every month only where each of them has the day."""
    joint = " in" if days.own else " of"
    every = _comes_every_month(days)
    if month.is_all:
        single = len(days.plain) + len(days.specials) + len(days.own) == 1
        return f"{joint} {'every month' if every else 'every month that has one' if single else 'the month'}"
    if month.is_span:
        return f"{joint} {'every' if every else 'the'} month {_in_months(month, runs_max)}"
    return f"{joint} {_month_names(month, runs_max)}"


def _month_names(month: Values, runs_max: int) -> str:
    words = run_words(month.plain, MONTHS.__getitem__)
    words = words if len(words) <= runs_max else [f"{len(month.plain)} months"]
    return listed(words + few(month.own, runs_max, f"months {OWN}"))


def _comes_every_month(days: Values) -> bool:
    """Whether each of the days is in every month; a span to the end is where it begins."""
    numbers = days.plain if days.unit == "day" else ()
    last = numbers[0] if days.is_span and days.plain[-1] == rules.LONGEST else max(numbers, default=1)
    specials = all(next(special.days(shape), 0) for special in days.specials for shape in rules.SHAPES)
    return last <= rules.SHORTEST and specials and not any("(" in own for own in days.own)


def _values(spec: fields.Field, text: str, seed: str | None) -> Values:
    items = text.split(",")
    own = {item: words for item in items if seed is None and (words := _own(spec, item))}
    known = ",".join(item for item in items if item not in own)
    days = rules.DayField(0, ())
    if known and spec.is_day:
        days = fields.parse_day_field(spec, known, seed)
    elif known:
        days = rules.DayField(fields.parse_field(spec, known, seed), ())
    values = _bits(days.mask)
    if spec is fields.WEEKDAY:
        values = tuple(sorted(value or SUNDAY for value in values))
    if len(values) == (spec.wraps_at or spec.high) - spec.low + 1:
        return Values(spec.name, values, is_all=True)
    specials = tuple(dict.fromkeys(days.specials))
    return Values(spec.name, values, False, specials, tuple(dict.fromkeys(own.values())))


def _own(spec: fields.Field, item: str) -> str | None:
    """What the hash will choose, or None where it has no choice."""
    found = _HASHED.fullmatch(item)
    if found is None or int(found["step"] or 2) == 1:
        return None
    span = ""
    if found["range"] is not None:
        choices = _bits(fields.parse_field(spec, found["range"], None))
        if len(choices) == 1:
            return None
        span = f" ({_value_name(spec, choices[0])} to {_value_name(spec, choices[-1])})"
    name = "day of the week" if spec is fields.WEEKDAY else spec.name
    if found["step"] is not None:
        return f"every {ordinal(int(found['step']))} {name} from one {OWN}{span}"
    return f"{'an' if spec is fields.HOUR else 'a'} {name} {OWN}{span}"


def _value_name(spec: fields.Field, value: int) -> str:
    if spec is fields.DAY:
        return f"the {ordinal(value)}"
    return MONTHS[value] if spec is fields.MONTH else WEEKDAYS[value] if spec.is_day else str(value)


def _bits(mask: int) -> tuple[int, ...]:
    return tuple(value for value in range(mask.bit_length()) if mask >> value & 1)
