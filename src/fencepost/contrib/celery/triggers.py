"""Celery's schedules as triggers.

Celery asks a schedule again and again whether it is due, from when it last ran. A trigger is known in
advance. So a schedule that keeps state, or plans by a clock of its own, cannot be one, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from celery.schedules import crontab, schedule, solar

from fencepost.clock import SystemClock
from fencepost.errors import InvalidTrigger
from fencepost.model.quoting import quoted
from fencepost.triggers import Combinable, Cron, Every, Solar, zone
from fencepost.triggers.cron import fields

DAY = timedelta(days=1)
MIDNIGHT = "1970-01-01T00:00:00"
NOWFUN_OFF_MAX = timedelta(minutes=1)
SUN = {
    "sunrise": "sunrise",
    "sunset": "sunset",
    "dawn_civil": "dawn",
    "dusk_civil": "dusk",
    "solar_noon": "noon",
}
CRON_FIELDS = (
    (fields.MINUTE, "minute"),
    (fields.HOUR, "hour"),
    (fields.DAY, "day_of_month"),
    (fields.MONTH, "month_of_year"),
    (fields.WEEKDAY, "day_of_week"),
)


def trigger_of(given: Any, celery: Any) -> Combinable:
    """The trigger that fires when the schedule of an entry would be due."""
    kind = type(given)
    if kind is crontab:
        return Cron(cron_expression(given), tz=zone_of(given, celery))
    if kind is schedule:
        return _every(given, celery)
    if kind is solar:
        return _solar(given)
    known = "a number of seconds, a timedelta, schedule, crontab or solar"
    raise InvalidTrigger(f"schedule of the class {kind.__qualname__}: plans by itself; expected {known}")


def cron_expression(given: crontab) -> str:
    """The five fields. In Celery a day must match both of its fields, which `+` says."""
    minute, hour, day, month, weekday = (
        _field(spec, getattr(given, f"_orig_{name}"), getattr(given, name)) for spec, name in CRON_FIELDS
    )
    both = "" if "*" in (day, weekday) else "+"
    return f"{minute} {hour} {day} {month} {both}{weekday}"


def zone_of(given: Any, celery: Any) -> str:
    """The zone in which the fields are read: that of the time that `nowfun` tells, or the application's."""
    if given.nowfun is None:
        return _zone_name(celery.timezone, "set timezone in Celery's configuration")
    now = given.nowfun()
    if not isinstance(now, datetime):
        raise InvalidTrigger(f"nowfun: gives {quoted(now)}; expected a datetime")
    if now.tzinfo is None:
        raise InvalidTrigger("nowfun: gives a time without a zone; let it give one, or set Celery's timezone")
    if abs(now - SystemClock().wall()) > NOWFUN_OFF_MAX:
        raise InvalidTrigger(
            "nowfun: gives another time than the clock; ticks are planned by the ledger's clock: leave it out"
        )
    return _zone_name(now.tzinfo, "let nowfun use a zone of zoneinfo")


def _zone_name(found: Any, remedy: str) -> str:
    name = "UTC" if found is UTC else getattr(found, "key", None) or getattr(found, "zone", None)
    try:
        return zone(name).key
    except InvalidTrigger as error:
        raise InvalidTrigger(f"{error}; {remedy}") from None


def _field(spec: fields.Field, said: object, values: set[int]) -> str:
    """The field as it was written, where both read it alike; else its values."""
    if values == set(range(spec.low, (spec.wraps_at or spec.high) + 1)):
        return "*"
    text = "".join(said.split()) if isinstance(said, str) else ""
    wanted = sum(1 << value for value in values)
    try:
        if _mask(spec, text) == wanted:
            return text
    except InvalidTrigger:
        pass
    return ",".join(map(str, sorted(values)))


def _mask(spec: fields.Field, text: str) -> int:
    read: Callable[..., Any] = fields.parse_day_field if spec.is_day else fields.parse_field
    found = read(spec, text, None)
    return int(found.mask) if spec.is_day and not found.specials else found if not spec.is_day else -1


def _every(given: schedule, celery: Any) -> Combinable:
    """Every interval, counted from the start of 1970: all hosts share one beat. One that is `relative` is
    counted from midnight in the zone of the application."""
    interval = given.run_every
    if interval <= timedelta():
        raise InvalidTrigger(f"an interval of {interval.total_seconds():g} s: expected more than nothing")
    if not given.relative:
        return Every(interval)
    tz = _zone_name(celery.timezone, "set timezone in Celery's configuration")
    if interval % DAY:
        return Every(interval, anchor=MIDNIGHT, tz=tz)
    return Every(f"{interval // DAY} day", tz=tz)


def _solar(given: solar) -> Combinable:
    if given.event not in SUN:
        raise InvalidTrigger(f"solar event {quoted(given.event)}: expected one of {', '.join(SUN)}")
    return Solar(SUN[given.event], given.lat, given.lon)
