"""Forecasts: computed beside the pages, one at a time, and kept for some minutes.

All fire times of ten thousand schedules take seconds. Nobody waits for that: whoever asks first sets it going
in a thread and is told after a moment that it is not there yet; whoever asks later gets what is known, also
while it is being made anew. What is kept is small: a day in buckets, for each namespace that somebody looked
at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fencepost.core.forecast import Alike, Forecast, Planned, forecast, planned
from fencepost.errors import UsageError
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.json import canonical
from fencepost.model.schedule import Schedule, ScheduleState
from fencepost.ports.store import Store
from fencepost.triggers import Combinable, bind, decode

KEPT = timedelta(minutes=5)
PATIENCE_S = 0.05
"""So long a page waits for one that is nearly there."""
STEPS_MAX = 1_000_000
SCHEDULES_MAX = 50_000
READ_AT_ONCE = 100
"""Rows are read in small parts: the loop has others to serve."""
NAMESPACES_MAX = 50


@dataclass
class Forecasts:
    """What is known of the load of each namespace."""

    _known: dict[Namespace, Forecast] = field(default_factory=dict)
    _tasks: dict[Namespace, asyncio.Task[None]] = field(default_factory=dict)
    _one: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))

    async def of(self, store: Store, namespace: Namespace, now: datetime) -> Forecast | None:
        """The forecast, from at most some minutes ago; None while the first is being made."""
        known = self._known.get(namespace)
        if known is not None and now - known.start < KEPT:
            return known
        task = self._tasks.get(namespace)
        if task is None:
            task = asyncio.create_task(self._make(store, namespace, now))
            self._tasks[namespace] = task
        if known is None:
            await asyncio.wait({task}, timeout=PATIENCE_S)
        if task.done():
            self._tasks.pop(namespace, None)
            task.result()
        return self._known.get(namespace)

    async def _make(self, store: Store, namespace: Namespace, now: datetime) -> None:
        async with self._one:
            found = await _active(store, namespace)
            made = await asyncio.to_thread(compute, found, namespace, now)
        if len(self._known) >= NAMESPACES_MAX:
            del self._known[min(self._known, key=lambda one: self._known[one].start)]
        self._known[namespace] = made


async def _active(store: Store, namespace: Namespace) -> list[Schedule]:
    found: list[Schedule] = []
    after: ScheduleId | None = None
    while len(found) < SCHEDULES_MAX and (page := await store.schedules.page(namespace, after, READ_AT_ONCE)):
        found += [one for one in page if one.state is ScheduleState.ACTIVE]
        after = page[-1].schedule_id
    return found


def compute(schedules: Sequence[Schedule], namespace: Namespace, now: datetime) -> Forecast:
    """All of it; it may take seconds, and waits for nothing."""
    groups, unread = alike(schedules)
    return forecast(groups, namespace, now, STEPS_MAX, unread)


def alike(schedules: Sequence[Schedule]) -> tuple[list[Alike], int]:
    """The schedules by what they say, and how many could not be read."""
    decoded: dict[str, Combinable] = {}
    triggers: dict[tuple[str, str, str], Combinable] = {}
    found: dict[tuple[str, str, str], list[Planned]] = {}
    unread = 0
    for one in schedules:
        try:
            text = canonical(one.spec.trigger)
            if text not in decoded:
                decoded[text] = decode(one.spec.trigger)
            hashed = str(one.schedule_id) if decoded[text].is_hashed() else ""
            key = (text, canonical(dict(one.spec.calendars)), hashed)
            if key not in triggers:
                triggers[key] = bind(decoded[text], one.spec.calendars, one.schedule_id)
            found.setdefault(key, []).append(planned(one.schedule_id, one.spec, triggers[key]))
        except UsageError:
            unread += 1
    return [Alike(triggers[key], tuple(those)) for key, those in found.items()], unread
