"""Notifications: which target is told of what, when alarms begin and end, and what a message says.

A state that is wrong is told once when it begins, and once as recovered when it ends. One that ends before
it was told is never told; one that comes back before its end was told goes on. What happens to a delivery is
not told, so no notification causes another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from fencepost.model.durations import format_duration
from fencepost.model.identifiers import DEFAULT_QUEUE, Namespace, Queue, job_key
from fencepost.model.job import PRIORITY_DEFAULT
from fencepost.model.notification import DELIVERY, STATES, Alarm, Event, Item, Target, TargetKind
from fencepost.model.run import NewRun
from fencepost.model.times import to_utc_text

Told: TypeAlias = dict[str, Any]
"""A notification, as JSON."""
SHOWN_MAX = 10
"""How many things a message names; it says how many there are."""
WORDS_LENGTH_MAX = 300
EXPIRES_AFTER = timedelta(days=7)
"""For how long a delivery may wait for a worker."""
TITLES: Mapping[Event, tuple[str, str]] = {
    Event.DEAD: ("run is dead", "runs are dead"),
    Event.MISSED: ("tick was missed", "ticks were missed"),
    Event.GATE_CLOSED: ("catch-up gate is closed", "catch-up gates are closed"),
    Event.STUCK: ("run is stuck", "runs are stuck"),
    Event.UNSERVED: ("schedule fires into nothing", "schedules fire into nothing"),
    Event.INCOMPLETE: ("job is below its completeness target", "jobs are below their completeness target"),
    Event.RECOVERED: ("alarm is over", "alarms are over"),
}
PAGES: Mapping[Event, str] = {
    Event.DEAD: "/dead",
    Event.MISSED: "/runs?state=missed",
    Event.GATE_CLOSED: "/gates",
    Event.STUCK: "/runs?state=running",
    Event.UNSERVED: "/workers",
    Event.INCOMPLETE: "/",
    Event.RECOVERED: "/",
}


class Turn(NamedTuple):
    """What happens to alarms in one pass: those that begin, those that end, those that came back before their
    end was told, and those that ended before they were told."""

    begun: Sequence[Item]
    ended: Sequence[Alarm]
    resumed: Sequence[Alarm]
    dropped: Sequence[Alarm]


def listened(targets: Iterable[Target]) -> frozenset[Event]:
    """Every event that some target is told of."""
    found: set[Event] = set()
    for target in targets:
        found |= set(target.events or Event)
        if Event.RECOVERED in target.events and not found.intersection(STATES):
            found |= set(STATES)
    return frozenset(found)


def wants(target: Target, item: Item, before: Mapping[str, Sequence[str]] = MappingProxyType({})) -> bool:
    """Whether a target is told of the item. A target that names states is told of the ends of those; another
    of all ends. `before` has the earlier names of jobs, and of the schedules that code gave them: a filter
    may have either name, and so may an older run."""

    def every(*names: str) -> tuple[str, ...]:
        return (*names, *(old for name in names for old in before.get(name, ())))

    named = set(target.events or Event)
    of = item.of is None or item.of in named or not named.intersection(STATES)
    jobs, schedules = [() if name is None else every(name) for name in (item.job, item.schedule_id)]
    return (
        item.event in named
        and of
        and fits(every(*target.jobs), jobs)
        and fits(every(*target.schedules), schedules)
    )


def fits(patterns: Sequence[str], names: Sequence[str]) -> bool:
    """Whether one of the names is among these; a pattern that ends in `*` stands for all that begin so."""
    return not patterns or any(_matches(one, name) for name in names for one in patterns)


def _matches(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def delivering(targets: Iterable[Target]) -> frozenset[str]:
    """The jobs that tell targets. What happens to their runs is not told."""
    return frozenset({DELIVERY, *(one.job for one in targets)})


def turned(known: Sequence[Alarm], judged: Iterable[Item], own: frozenset[str]) -> Turn:
    """Hold the alarms that are known against what is wrong now."""
    wrong = {one.place: one for one in judged if one.job not in own}
    there = {(one.event, one.subject): one for one in known}
    begun = [one for place, one in wrong.items() if place not in there]
    gone = [one for place, one in there.items() if place not in wrong and one.ended_at is None]
    resumed = [one for place, one in there.items() if place in wrong and one.ended_at is not None]
    return Turn(begun, [one for one in gone if one.told], resumed, [one for one in gone if not one.told])


def is_due(first_at: datetime | None, now: datetime, window_s: float) -> bool:
    """Whether what has waited since `first_at` is told now, with all that came meanwhile. A clock that was
    set back since then makes nothing wait longer."""
    return first_at is not None and not 0 <= (now - first_at).total_seconds() < window_s


def recovery(alarm: Alarm) -> Item:
    """That an alarm is over."""
    assert alarm.ended_at is not None
    lasted = format_duration(alarm.ended_at - alarm.since)
    words = f"{alarm.event}, for {lasted}"
    return Item(
        Event.RECOVERED,
        alarm.subject,
        alarm.ended_at,
        words,
        alarm.job,
        alarm.schedule_id,
        of=alarm.event,
    )


def beginning_of(alarm: Alarm) -> Item:
    """That an alarm has begun."""
    return Item(alarm.event, alarm.subject, alarm.since, alarm.words, alarm.job, alarm.schedule_id)


def notification(
    namespace: Namespace, event: Event, items: Sequence[Item], public_url: str, *, more: bool = False
) -> Told:
    """All that is told of one event, as one JSON object. `more`: there are others, which come next."""
    root = public_url.rstrip("/")
    return {
        "event": str(event),
        "namespace": namespace,
        "count": sum(one.ticks for one in items),
        "more": more,
        "title": title(event, sum(one.ticks for one in items)),
        "first_at": to_utc_text(min(one.at for one in items)),
        "last_at": to_utc_text(max(one.at for one in items)),
        "items": [_item(one, root) for one in items[:SHOWN_MAX]],
        "link": f"{root}{PAGES[event]}" if root else None,
    }


def trial(namespace: Namespace, public_url: str) -> Told:
    """A notification that only tests the way."""
    root = public_url.rstrip("/")
    empty: Told = {"count": 0, "more": False, "items": [], "link": f"{root}/" if root else None}
    title = "test of a notification target"
    return {"event": "test", "namespace": namespace, "title": title, **empty}


def delivery(
    target: Target, told: Told, key: str, queue: str = DEFAULT_QUEUE, priority: int = PRIORITY_DEFAULT
) -> NewRun:
    """The run that tells a target, in the place that its job has."""
    return NewRun(
        run_key=job_key(target.job, key),
        job=target.job,
        payload=payload_for(target, told),
        queue=Queue(queue),
        priority=priority,
        expires=EXPIRES_AFTER,
    )


def payload_for(target: Target, told: Told) -> Told:
    """What the run is given that tells a target."""
    match target.kind:
        case TargetKind.HOOK:
            return {target.parameter: told}
        case TargetKind.WEBHOOK:
            return {"target": target.name, "message": told}
        case TargetKind.SLACK:
            return {"target": target.name, "message": {"text": _slack_text(told)}}
        case TargetKind.EMAIL:
            subject = f"[fencepost] {told['namespace']}: {told['title']}"
            return {"target": target.name, "message": {"subject": subject, "text": _text(told)}}


def title(event: Event, count: int) -> str:
    """`12 runs are dead`."""
    one, several = TITLES[event]
    return f"{count:,} {one if count == 1 else several}"


def _item(item: Item, root: str) -> Told:
    said: Told = {
        "subject": item.subject,
        "job": item.job,
        "schedule": item.schedule_id,
        "words": _line(item.words),
        "at": to_utc_text(item.at),
        "ticks": item.ticks,
        "link": f"{root}{_page(item)}" if root else None,
    }
    return said if item.of is None else said | {"of": str(item.of)}


def _page(item: Item) -> str:
    match item.of or item.event:
        case Event.DEAD | Event.STUCK:
            return f"/runs/{quote(item.subject, safe='')}"
        case Event.MISSED if item.ticks == 1 and "#" in item.subject:
            return f"/runs/{quote(item.subject, safe='')}"
        case Event.INCOMPLETE:
            return f"/jobs/{quote(item.subject, safe='')}"
        case _:
            return f"/schedules/{quote(item.schedule_id or item.subject, safe='')}"


def _line(words: str) -> str:
    """The first line, as far as a message has room for it."""
    line = next(iter(words.strip().splitlines()), "")
    return line if len(line) <= WORDS_LENGTH_MAX else f"{line[: WORDS_LENGTH_MAX - 1]}…"


def _lines(told: Told) -> list[str]:
    """The things of a notification, one a line."""
    lines = []
    for one in told["items"]:
        what = f"{one['subject']} ({one['ticks']:,} ticks)" if one["ticks"] > 1 else one["subject"]
        lines.append(f"{what}: {one['words']}" if one["words"] else what)
    return lines


def _left_out(told: Told) -> str | None:
    left = told["count"] - sum(one["ticks"] for one in told["items"])
    return f"and {left:,} more" if left > 0 else None


def _text(told: Told) -> str:
    lines = [told["title"], ""]
    for line, one in zip(_lines(told), told["items"], strict=True):
        lines += [f"- {line}", *([f"  {one['link']}"] if one["link"] else [])]
    lines += [one for one in (_left_out(told), told["link"]) if one]
    return "\n".join(lines) + "\n"


def _slack_text(told: Told) -> str:
    heading = f"*{_escaped(told['title'])}* ({_escaped(told['namespace'])})"
    lines = [
        f"• <{one['link']}|{_escaped(line)}>" if one["link"] else f"• {_escaped(line)}"
        for line, one in zip(_lines(told), told["items"], strict=True)
    ]
    after = [one for one in (_left_out(told), f"<{told['link']}|Open>" if told["link"] else None) if one]
    return "\n".join([heading, *lines, *after])


def _escaped(text: str) -> str:
    """Text that Slack takes as text. A bar would end the words of a link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "¦")
