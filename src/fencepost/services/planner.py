"""The planner: writes the ticks of the shards it leads, ahead of time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.core.planning import Rules, plan
from fencepost.errors import InvalidSpec, UsageError
from fencepost.model.identifiers import Epoch, Namespace, ScheduleId, Shard
from fencepost.model.json import canonical
from fencepost.model.plan import Cursor, Plan, PlanningWindow
from fencepost.model.trigger import Trigger
from fencepost.ports.store import Store
from fencepost.services.leadership import Grant, Leadership
from fencepost.services.service import Service
from fencepost.triggers import Combinable, Remembered, bind, decode, tzdata_version

ROUNDS_MAX = 100
TRIGGERS_KEPT_MAX = 1_000
UNREADABLE_REST_S = 60.0
UNREADABLE_KEPT_MAX = 1_000


class Planner(Service):
    """Runs on every node that plans; without a grant it does nothing."""

    name = "planner"

    def __init__(self, store: Store, leadership: Leadership, settings: Settings, clock: Clock) -> None:
        super().__init__()
        self._store = store
        self._leadership = leadership
        self._settings = settings
        self._clock = clock
        self._triggers = TriggerShelf()
        self._told: dict[tuple[Namespace, ScheduleId, int], None] = {}

    async def run_once(self) -> float:
        for _ in range(ROUNDS_MAX):
            grants = self._leadership.grants(self._clock.monotonic())
            if not grants or not await self._round(grants):
                return self._settings.plan_every_s
        return 0.0

    async def _round(self, grants: Mapping[Shard, Grant]) -> bool:
        """Plan one window; True where there is more to do at once."""
        window = await self._store.planbook.window(
            sorted(grants), self._settings.horizon_s, self._settings.plan_schedules_max
        )
        cut = False
        unreadable: list[Cursor] = []
        plans = self._plans(window, grants, unreadable)
        for batch in _batches(plans, self._settings.plan_runs_max):
            await self._write(batch, grants)
            cut = cut or any(_looks_again(one, window) for one in batch)
        await self._postpone(unreadable, grants)
        return cut or len(window.cursors) == self._settings.plan_schedules_max

    def _plans(
        self, window: PlanningWindow, grants: Mapping[Shard, Grant], unreadable: list[Cursor]
    ) -> Iterator[Plan]:
        """One after the other as they are written, so that a long absence costs time and not memory."""
        ticks_max, rules = self._settings.plan_ticks_max, Rules(tzdata_version(), window.now)
        for cursor in window.cursors:
            trigger = self._trigger(cursor)
            if trigger is None:
                unreadable.append(cursor)
                continue
            try:
                yield plan(cursor, trigger, window.through, grants[cursor.shard].epoch, ticks_max, rules)
            except UsageError as error:
                self._tell(cursor, error)
                unreadable.append(cursor)

    def _trigger(self, cursor: Cursor) -> Trigger | None:
        """One schedule that cannot be read must not keep the others from being planned."""
        try:
            return self._triggers.get(cursor)
        except UsageError as error:
            self._tell(cursor, error)
            return None

    def _tell(self, cursor: Cursor, error: UsageError) -> None:
        """Once for a version, as long as there are not too many of them to remember."""
        key = cursor.namespace, cursor.schedule_id, cursor.version
        if key in self._told:
            return
        if len(self._told) == UNREADABLE_KEPT_MAX:
            del self._told[next(iter(self._told))]
        self._told[key] = None
        self.log.error(
            "schedule cannot be planned",
            schedule=cursor.schedule_id,
            version=cursor.version,
            error=str(error),
        )

    async def _postpone(self, cursors: Sequence[Cursor], grants: Mapping[Shard, Grant]) -> None:
        """Out of the window for a while, so that what cannot be read does not fill it."""
        mine = [one for one in cursors if not grants[one.shard].lost.is_set()]
        if mine:
            by_s = self._settings.horizon_s + UNREADABLE_REST_S
            await self._store.planbook.postpone(mine, by_s)

    async def _write(self, plans: Sequence[Plan], grants: Mapping[Shard, Grant]) -> None:
        async with self._leadership.writing:
            self._leadership.expire(self._clock.monotonic())
            trusted = [one for one in plans if not grants[one.cursor.shard].lost.is_set()]
            if not trusted:
                return
            receipt = await self._store.planbook.write(trusted)
        for shard in receipt.stale:
            epoch = _epoch(trusted, shard)
            self.log.warning("write refused: the epoch is stale", shard=shard, epoch=epoch)
            self._leadership.refused(shard, epoch)
        self.log.debug(
            "planned", runs=receipt.runs_written, schedules=len(trusted), outdated=receipt.outdated
        )


class TriggerShelf:
    """Triggers are parsed once for many ticks, and schedules that say the same share one and its fire times;
    the shelf is small whatever the number of schedules. `watch` may wrap each trigger that it makes."""

    def __init__(self, watch: Callable[[Combinable], Combinable] = lambda trigger: trigger) -> None:
        self._watch = watch
        self._decoded = lru_cache(TRIGGERS_KEPT_MAX)(_decode)
        self._bound = lru_cache(TRIGGERS_KEPT_MAX)(self._bind)

    def get(self, cursor: Cursor) -> Trigger:
        """The trigger of a cursor's version."""
        spec = cursor.spec
        if spec is None:
            raise InvalidSpec("its spec cannot be read: a newer release wrote it; upgrade this one")
        text = canonical(spec.trigger)
        identity = cursor.schedule_id if self._decoded(text).is_hashed() else ""
        return self._bound(text, canonical(dict(spec.calendars)), identity)

    def _bind(self, text: str, calendars: str, identity: str) -> Trigger:
        return Remembered(self._watch(bind(self._decoded(text), json.loads(calendars), identity)))


def _decode(text: str) -> Combinable:
    return decode(json.loads(text))


def _batches(plans: Iterable[Plan], runs_max: int) -> Iterator[list[Plan]]:
    """Plans in order, so many that their runs fit into one write."""
    batch: list[Plan] = []
    runs = 0
    for one in plans:
        if batch and runs + len(one.ticks) > runs_max:
            yield batch
            batch, runs = [], 0
        batch.append(one)
        runs += len(one.ticks)
    if batch:
        yield batch


def _looks_again(one: Plan, window: PlanningWindow) -> bool:
    return one.next_fire_at is not None and one.next_fire_at <= window.through


def _epoch(plans: Sequence[Plan], shard: Shard) -> Epoch:
    return next(one.epoch for one in plans if one.cursor.shard == shard)
