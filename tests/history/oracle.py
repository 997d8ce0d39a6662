"""When a trigger fires, found a second time from its JSON form: nothing of the engine is asked.

Cron is read by the brute force of `tests.triggers.oracle`. Steady intervals are arithmetic, steps of the
calendar and recurrences are wall times that `zoneinfo` makes instants of, and combinations are sets. A form
that is not read here is refused, so that no history passes because its oracle was blind.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any, TypeAlias

from dateutil.rrule import rrulestr

from fencepost.model.durations import parse_duration
from fencepost.model.json import JsonObject
from tests.history import oracle_steps
from tests.triggers.oracle import Rule, read
from tests.triggers.oracle_walk import DAY_S, Policy, Walk, policy_of, resolved, walk

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)
MINUTE_S = 60
BEGINNING_DAYS_MAX = 400
"""How far back what counts from its beginning is followed."""

Form: TypeAlias = Mapping[str, Any]
Window: TypeAlias = tuple[datetime, datetime]
"""After the first instant, up to and with the second."""


class Unread(Exception):
    """A form of trigger that the oracle does not know."""


def fire_times(form: JsonObject, schedule_id: str, after: datetime, through: datetime) -> list[datetime]:
    """All fire times in (after, through], ascending. The list is kept for whoever asks again: hands off."""
    text = json.dumps(form, sort_keys=True)
    return _listed(text, schedule_id if "H" in text.upper() else "", after, through)


@lru_cache(maxsize=4_096)
def _listed(text: str, seed: str, after: datetime, through: datetime) -> list[datetime]:
    return sorted(_found(json.loads(text), seed, (after, through)))


def _found(form: Form, seed: str, window: Window) -> set[datetime]:
    reader = READERS.get(form.get("kind", ""))
    if reader is None or form.get("v") != 1:
        raise Unread(f"the oracle does not read {form.get('kind')!r}, version {form.get('v')!r}")
    return reader(form, seed, window)


def _cron(form: Form, seed: str, window: Window) -> set[datetime]:
    if form["expression"].lower().startswith("@every"):
        raise Unread(f"the oracle does not read {form['expression']!r}")
    rule = _rule(form["expression"], form.get("seed") or seed or None)
    policy = policy_of(rule, form.get("gap"), form.get("fold"))
    start_s, stop_s = (int((one - EPOCH).total_seconds()) // MINUTE_S * MINUTE_S for one in window)
    days = range(start_s // DAY_S, stop_s // DAY_S + 1)
    # Seconds of a rule are added to its minutes, so a walk by minutes is enough for any zone of our days.
    walks = (walk(form["tz"], day * DAY_S, (day + 1) * DAY_S, MINUTE_S) for day in days)
    found = (at for one in walks for at in _part(one, start_s, stop_s).fires(rule, policy))
    return _within(map(_instant, found), window)


def _part(walked: Walk, start_s: int, stop_s: int) -> Walk:
    """The rows from one minute to another. Whole days are walked, so that many windows share them."""
    return Walk(
        walked.unit_s,
        {
            fold: rows[bisect_left(rows, (start_s,)) : bisect_left(rows, (stop_s + 1,))]
            for fold, rows in walked.by_fold.items()
        },
        {at: rows for at, rows in walked.skipped.items() if start_s <= at <= stop_s},
    )


@cache
def _rule(expression: str, seed: str | None) -> Rule:
    return read(expression, seed)


def _every(form: Form, seed: str, window: Window) -> set[datetime]:
    if " " in form["interval"]:
        return _steps(form, window)
    interval = parse_duration(form["interval"])
    anchor = _time(form["anchor"]) if form.get("anchor") else EPOCH
    after, through = window
    first = (after - anchor) // interval + 1
    last = (through - anchor) // interval
    return {anchor + number * interval for number in range(first, last + 1)}


def _steps(form: Form, window: Window) -> set[datetime]:
    """A fixed wall time, so many days, weeks, months or years apart."""
    policy = Policy(form.get("gap") or "shift", form.get("fold") or "first")
    anchor = datetime.fromisoformat(form["anchor"])
    around = (one.replace(tzinfo=None) for one in window)
    walls = oracle_steps.walls(form["interval"], anchor, *around)
    return _within((_instant(at) for wall in walls for at in resolved(wall, form["tz"], policy)), window)


def _at(form: Form, seed: str, window: Window) -> set[datetime]:
    return _within(map(_time, form["times"]), window)


def _rrule(form: Form, seed: str, window: Window) -> set[datetime]:
    """Without the corners in which libraries differ, and with instants for what is left out or put in."""
    start = datetime.fromisoformat(form["start"])
    given = [*form["exclude"], *form["include"]]
    if any(not one.endswith("Z") for one in given) or "UNTIL" in form["rule"] or "BYSETPOS" in form["rule"]:
        raise Unread(f"the oracle does not read the recurrence {form['rule']!r} with {given!r}")
    fixed = not any(f"FREQ={word}" in form["rule"] for word in ("HOURLY", "MINUTELY", "SECONDLY"))
    policy = Policy(
        form.get("gap") or ("shift" if fixed else "skip"), form.get("fold") or ("first" if fixed else "both")
    )
    margin = timedelta(days=2)
    first, last = (one.replace(tzinfo=None) for one in window)
    walls = rrulestr(form["rule"], dtstart=start).between(first - margin, last + margin, inc=True)
    found = {_instant(at) for wall in walls for at in resolved(wall, form["tz"], policy)}
    return _within((found - set(map(_time, form["exclude"]))) | set(map(_time, form["include"])), window)


def _union(form: Form, seed: str, window: Window) -> set[datetime]:
    return set[datetime]().union(*(_found(one, seed, window) for one in form["of"]))


def _intersection(form: Form, seed: str, window: Window) -> set[datetime]:
    return set.intersection(*(_found(one, seed, window) for one in form["of"]))


def _difference(form: Form, seed: str, window: Window) -> set[datetime]:
    return _found(form["of"], seed, window) - _found(form["without"], seed, window)


def _between(form: Form, seed: str, window: Window) -> set[datetime]:
    found = _found(form["of"], seed, window)
    start, end = (None if form.get(side) is None else _time(form[side]) for side in ("start", "end"))
    return {one for one in found if (start is None or one >= start) and (end is None or one < end)}


def _limit(form: Form, seed: str, window: Window) -> set[datetime]:
    begins = _beginning(form["of"])
    if begins is None or window[1] - begins > timedelta(days=BEGINNING_DAYS_MAX):
        raise Unread(f"the oracle does not count {form['count']} from {begins}")
    counted = sorted(_found(form["of"], seed, (min(begins - TICK, window[1]), window[1])))[: form["count"]]
    return _within(counted, window)


def _beginning(form: Form) -> datetime | None:
    """An instant before which a form never fires, where it has one."""
    known = [form["times"][0]] if form["kind"] == "at" else [form.get("start")]
    own = [_time(one) for one in known if one is not None and form["kind"] in ("at", "between")]
    inner = _beginning(form["of"]) if isinstance(form.get("of"), dict) else None
    return max([*own, *([] if inner is None else [inner])], default=None)


def _outside(form: Form, seed: str, window: Window) -> set[datetime]:
    lasts = parse_duration(form["lasts"])
    opened = _found(form["opens"], seed, (window[0] - lasts, window[1]))
    return {
        one
        for one in _found(form["of"], seed, window)
        if not any(timedelta(0) <= one - opens < lasts for opens in opened)
    }


def _within(moments: Any, window: Window) -> set[datetime]:
    after, through = window
    return {one for one in moments if after < one <= through}


def _instant(at: int) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


READERS: dict[str, Callable[[Form, str, Window], set[datetime]]] = {
    "cron": _cron,
    "every": _every,
    "at": _at,
    "rrule": _rrule,
    "union": _union,
    "intersection": _intersection,
    "difference": _difference,
    "between": _between,
    "limit": _limit,
    "outside": _outside,
}
