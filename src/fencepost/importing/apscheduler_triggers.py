"""The triggers of an APScheduler export, as ours.

Its cron fields must all match, so where a day and a weekday are both named ours says `+`: both. Its weekdays
count from Monday, so they are written by name. The last fire time may be the end itself; ours ends before, so
an end moves by a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from fencepost.errors import InvalidSpec
from fencepost.importing.documents import whole
from fencepost.importing.pickled import Made, Name, date_of, length_of, moment_of, read_pickle, zone_of
from fencepost.importing.python import TriggerText
from fencepost.model.durations import format_duration, parse_duration
from fencepost.model.quoting import quoted
from fencepost.model.times import to_utc_text

PICKLE = "__apscheduler_pickle__"
FIELDS_MODULE = "apscheduler.triggers.cron.fields"
EXPRESSIONS_MODULE = "apscheduler.triggers.cron.expressions"
WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
UNBOUNDED = ("year", "week")
LAST_OF_MONTH = 5
NUMBER_MAX = 9999
DAY_MAX = 28
MOMENT = timedelta(microseconds=1)


def read_trigger(value: object, next_run: datetime | None) -> TriggerText:
    """The trigger of a job whose next run is known."""
    kind, state = _parted(value)
    if kind not in _READERS:
        known = ", ".join(sorted(_READERS))
        raise InvalidSpec(f"trigger {quoted(kind)}: not carried over; those that are: {known}")
    trigger = _READERS[kind](state, next_run)
    trigger.build()
    return trigger


def read_moment(value: object) -> datetime | None:
    """An instant, None where there is none."""
    return None if value is None else moment_of(_unpickled(value))


def _parted(value: object) -> tuple[str, Mapping[str, Any]]:
    match value:
        case {"__apscheduler_class__": str(name), "__apscheduler_state__": dict(state)}:
            return name.rpartition(":")[2], state
    raise InvalidSpec("has no trigger in the form of export_jobs(); export it with APScheduler 3.11")


def _unpickled(value: object) -> object:
    match value:
        case {"__apscheduler_pickle__": str(encoded)}:
            return read_pickle(encoded)
    raise InvalidSpec(f"trigger: {quoted(value)}: expected a value as export_jobs() writes it")


def _date(state: Mapping[str, Any], next_run: datetime | None) -> TriggerText:
    return TriggerText("At", (_instant(state.get("run_date")),))


def _interval(state: Mapping[str, Any], next_run: datetime | None) -> TriggerText:
    interval = parse_duration(length_of(_unpickled(state.get("interval"))))
    words = (format_duration(interval),)
    start = read_moment(state.get("start_date"))
    if start is None:
        return TriggerText("Every", words, end=_end(state))
    # An interval of ours has no beginning; one that has begun needs none.
    begun = next_run is not None and next_run - start >= interval
    anchor = to_utc_text(start)
    return TriggerText("Every", words, {"anchor": anchor}, None if begun else anchor, _end(state))


def _calendar_interval(state: Mapping[str, Any], next_run: datetime | None) -> TriggerText:
    start = date_of(_unpickled(state.get("start_date")))
    step = _step(state.get("interval"))
    if start.day > DAY_MAX and "month" in step:
        raise InvalidSpec(f"starts on day {start.day}, and skips the months without it, which ours does not")
    anchor = f"{start.isoformat()}T{_clock(state.get('time'))}"
    options = {"anchor": anchor, "tz": _zone(state), "gap": "skip", "fold": "first"}
    return TriggerText("Every", (step,), options, anchor, _day_after(state.get("end_date")))


def _cron(state: Mapping[str, Any], next_run: datetime | None) -> TriggerText:
    fields = dict(map(_field, _list(state.get("fields"))))
    for name in UNBOUNDED:
        if _joined(fields.get(name, []), _number) != "*":
            raise InvalidSpec(f"trigger cron: {name} is restricted, which ours cannot be")
    day, weekday = _days(fields.get("day", []), fields.get("day_of_week", []))
    clock = [_joined(fields.get(name, []), _number) for name in ("second", "minute", "hour")]
    month = _joined(fields.get("month", []), _number)
    words = [*(clock if clock[0] != "0" else clock[1:]), day, month, weekday]
    start = read_moment(state.get("start_date"))
    begins = None if start is None else to_utc_text(start)
    return TriggerText("Cron", (" ".join(words),), {"tz": _zone(state)}, begins, _end(state))


def _days(days: list[Made], weekdays: list[Made]) -> tuple[str, str]:
    """The day and the weekday; a day such as `2nd fri` is a weekday of ours."""
    day, weekday = _joined(days, _day), _joined(weekdays, _weekday)
    if "#" in day:
        if weekday != "*" or not all("#" in one for one in day.split(",")):
            raise InvalidSpec("trigger cron: names days by weekday and otherwise, which ours cannot join")
        return "*", day
    return day, weekday if "*" in (day, weekday) else f"+{weekday}"


def _field(value: object) -> tuple[str, list[Made]]:
    match _unpickled(value):
        case Made(maker=Name(module=module), state={"name": str(name), "expressions": list(expressions)}):
            if module == FIELDS_MODULE and all(isinstance(one, Made) for one in expressions):
                return name, expressions
    raise InvalidSpec("trigger cron: a field of a kind that is not read")


def _joined(expressions: list[Made], read: Callable[[str, Mapping[str, object]], str]) -> str:
    return ",".join(read(_class(one), one.state) for one in expressions) or "*"


def _class(expression: Made) -> str:
    match expression.maker:
        case Name(module=module, name=name) if module == EXPRESSIONS_MODULE:
            return name
    raise InvalidSpec("trigger cron: an expression of a kind that is not read")


def _number(kind: str, state: Mapping[str, object]) -> str:
    step = state.get("step")
    stepped = "" if step is None else f"/{whole(step, 'step', 1, NUMBER_MAX)}"
    if kind == "AllExpression":
        return f"*{stepped}"
    if kind in ("RangeExpression", "MonthRangeExpression"):
        first, last = _ends(state)
        return f"{first}{'' if last in (None, first) and not stepped else _through(last)}{stepped}"
    raise InvalidSpec(f"trigger cron: {quoted(kind)} is not read")


def _day(kind: str, state: Mapping[str, object]) -> str:
    match kind:
        case "LastDayOfMonthExpression":
            return "L"
        case "WeekdayPositionExpression":
            place = whole(state.get("option_num"), "place", 0, LAST_OF_MONTH)
            name = WEEKDAYS[whole(state.get("weekday"), "weekday", 0, 6)]
            return f"{name}#{'L' if place == LAST_OF_MONTH else place + 1}"
    return _number(kind, state)


def _weekday(kind: str, state: Mapping[str, object]) -> str:
    step = state.get("step")
    every = 1 if step is None else whole(step, "step", 1, 6)
    if kind == "AllExpression":
        return "*" if every == 1 else ",".join(WEEKDAYS[::every])
    if kind not in ("RangeExpression", "WeekdayRangeExpression"):
        raise InvalidSpec(f"trigger cron: {quoted(kind)} is not read")
    first, last = _ends(state)
    names = WEEKDAYS[
        whole(first, "weekday", 0, 6) : whole(6 if last is None else last, "weekday", first, 6) + 1
    ]
    if every == 1 and len(names) > 1:
        return f"{names[0]}-{names[-1]}"
    return ",".join(names[::every])


def _ends(state: Mapping[str, object]) -> tuple[int, int | None]:
    last = state.get("last")
    first = whole(state.get("first"), "value", 0, NUMBER_MAX)
    return first, None if last is None else whole(last, "value", 0, NUMBER_MAX)


def _through(last: int | None) -> str:
    return "" if last is None else f"-{last}"


def _step(value: object) -> str:
    years, months, weeks, days = (whole(one, "interval", 0, NUMBER_MAX) for one in _sized(value, 4))
    by_month, by_day = years * 12 + months, weeks * 7 + days
    if by_month and by_day:
        raise InvalidSpec("trigger calendarinterval: steps by months and days at once, which ours cannot")
    return f"{by_month} months" if by_month else f"{by_day} days"


def _clock(value: object) -> str:
    return ":".join(f"{whole(one, 'time', 0, 59):02}" for one in _sized(value, 3))


def _sized(value: object, size: int) -> list[object]:
    found = _list(value)
    if len(found) != size:
        raise InvalidSpec(f"trigger: {quoted(value)}: expected {size} numbers")
    return found


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise InvalidSpec(f"trigger: {quoted(value)}: expected a list")
    return value


def _zone(state: Mapping[str, Any]) -> str:
    return zone_of(_unpickled(state.get("timezone")))


def _day_after(value: object) -> str | None:
    """The first midnight beyond the last day."""
    last = None if value is None else date_of(_unpickled(value))
    return None if last is None or last == date.max else (last + timedelta(days=1)).isoformat()


def _instant(value: object) -> str:
    moment = read_moment(value)
    if moment is None:
        raise InvalidSpec("trigger date: has no date")
    return to_utc_text(moment)


def _end(state: Mapping[str, Any]) -> str | None:
    end = read_moment(state.get("end_date"))
    if end is None:
        return None
    try:
        return to_utc_text(end + MOMENT)
    except OverflowError:
        return None


_READERS: dict[str, Callable[[Mapping[str, Any], datetime | None], TriggerText]] = {
    "CalendarIntervalTrigger": _calendar_interval,
    "CronTrigger": _cron,
    "DateTrigger": _date,
    "IntervalTrigger": _interval,
}
