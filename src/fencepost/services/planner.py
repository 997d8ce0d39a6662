"""The planner: writes the ticks of the shards it leads, ahead of time.

Finding fire times may take long: a search in a combination of triggers may take a second, and after a long
absence there are many to find. That runs in another thread, a batch at a time, while the elector goes on
renewing the leases; a batch whose lease was lost meanwhile is not written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.core.clock_leaps import Reading
from fencepost.core.fair_share import in_turn, passed_over
from fencepost.core.planning import Rules, idle_rest_s, plan
from fencepost.errors import InvalidSpec, StoreUnavailable, UsageError
from fencepost.model.identifiers import Epoch, Namespace, NodeId, ScheduleId, Shard
from fencepost.model.json import canonical
from fencepost.model.plan import Cursor, Plan, PlanningWindow
from fencepost.model.quotas import Quota
from fencepost.model.trigger import Trigger
from fencepost.ports.store import Store
from fencepost.services.clock_watch import ClockWatch
from fencepost.services.leadership import Grant, Leadership
from fencepost.services.offload import Offload, inline
from fencepost.services.quotas import planning_allowance
from fencepost.services.service import Service
from fencepost.telemetry import traces
from fencepost.telemetry.events import (
    Cause,
    DuplicateSuppressed,
    PlanRefused,
    QuotaRefused,
    TicksMissed,
    TicksPlanned,
    emit,
)
from fencepost.triggers import Combinable, Remembered, bind, decode, tzdata_version

ROUNDS_MAX = 100
TRIGGERS_KEPT_MAX = 1_000
UNREADABLE_REST_S = 60.0
UNREADABLE_KEPT_MAX = 1_000
THOUGHT_MAX_S = 1.0
"""How long a found plan waits, at most, for others that go with it; the search in hand may take longer."""


class Planner(Service):
    """Runs on every node that plans; without a grant it does nothing."""

    name = "planner"

    def __init__(
        self,
        store: Store,
        leadership: Leadership,
        settings: Settings,
        clock: Clock,
        node_id: NodeId,
        offload: Offload = inline,
        clock_watch: ClockWatch | None = None,
    ) -> None:
        super().__init__()
        self._clock_watch = clock_watch or ClockWatch(settings)
        self._offload = offload
        self._store = store
        self._leadership = leadership
        self._settings = settings
        self._clock = clock
        self._node_id = node_id
        self._triggers = TriggerCache()
        self._told: dict[tuple[Namespace, ScheduleId, int], None] = {}
        self._allowance = planning_allowance(settings)
        self._passed: frozenset[Namespace] = frozenset()
        self._over_quota: set[Namespace] = set()
        self._had_work = False

    async def run_once(self) -> float:
        self._over_quota.clear()
        self._had_work = False
        for _ in range(ROUNDS_MAX):
            grants = self._leadership.grants(self._clock.monotonic())
            if not grants or not await self._round(grants):
                return self._rest_s()
        return 0.0

    def _rest_s(self) -> float:
        """Longer where the last window was empty and hints tell of every change of a schedule."""
        every_s = self._settings.plan_every_s
        if self._had_work or not self._store.signals.are_connected:
            return every_s
        return max(every_s, idle_rest_s(self._settings.horizon_s, self._settings.takeover_s))

    async def _round(self, grants: Mapping[Shard, Grant]) -> bool:
        """Plan one window; True where there is more to do at once. Where no plan advanced, because another
        node has the cursors, another look would find the same."""
        limit, passed = self._settings.plan_schedules_max, self._passed
        asked_at = self._clock.monotonic()
        window = await self._store.plans.window(
            sorted(grants), self._settings.horizon_s, limit, passed | self._over_quota
        )
        self._had_work |= bool(window.cursors or passed)
        if not self._clock_watch.believes(Reading(window.now, asked_at, self._clock.monotonic())):
            self._had_work = True
            return False
        self._passed = passed_over(passed, window.cursors, limit)
        cut = got_on = False
        unreadable: list[Cursor] = []
        plans = self._plans(window, grants, unreadable)
        batches = _batches(plans, self._settings.plan_runs_max, self._clock)
        while batch := await self._offload(lambda: next(batches, None)):
            got_on = await self._write(batch, grants) or got_on
            cut = cut or any(_looks_again(one, window) for one in batch)
        await self._postpone(unreadable, grants)
        got_on = got_on or bool(unreadable)
        return (got_on and (cut or len(window.cursors) == limit)) or bool(passed)

    def _plans(
        self, window: PlanningWindow, grants: Mapping[Shard, Grant], unreadable: list[Cursor]
    ) -> Iterator[Plan | None]:
        """One plan after the other as they are written, so that a long absence costs time and not memory.
        None for a schedule that has none: finding that out may have taken time."""
        rules = Rules(tzdata_version(), window.now)
        for cursor in in_turn(window.cursors):
            ticks_max = self._ticks_max(cursor.namespace)
            if not ticks_max:
                yield None
                continue
            trigger = self._trigger(cursor)
            if trigger is None:
                unreadable.append(cursor)
                yield None
                continue
            try:
                made = plan(cursor, trigger, window.through, grants[cursor.shard].epoch, ticks_max, rules)
                self._allowance.spend(cursor.namespace, len(made.ticks))
                yield made
            except UsageError as error:
                self._tell(cursor, error)
                unreadable.append(cursor)
                yield None

    def _ticks_max(self, namespace: Namespace) -> int:
        """How many ticks the next plan of a namespace may have; none, until the next pass, where the
        namespace has used up its quota."""
        per_s = self._settings.quotas(namespace).planned_per_s
        left = self._allowance.left(namespace, per_s, self._clock.monotonic())
        if left <= 0 and namespace not in self._over_quota:
            self._over_quota.add(namespace)
            self.log.warning("planned later: over its quota", namespace=namespace, planned_per_s=per_s)
            emit(QuotaRefused(Quota.PLANNED_PER_S))
        return max(0, min(self._settings.plan_ticks_max, left))

    def _trigger(self, cursor: Cursor) -> Trigger | None:
        """The trigger, or None: a schedule that cannot be read must not keep others from being planned."""
        try:
            return self._triggers.get(cursor)
        except UsageError as error:
            self._tell(cursor, error)
            return None

    def _tell(self, cursor: Cursor, error: UsageError) -> None:
        """Log the error once for a version, unless there are too many of them to remember."""
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
        """Take these out of the window for a while, so that cursors that cannot be read do not fill it."""
        mine = [one for one in cursors if not grants[one.shard].lost.is_set()]
        if mine:
            by_s = self._settings.horizon_s + UNREADABLE_REST_S
            await self._store.plans.postpone(mine, by_s)

    async def _write(self, plans: Sequence[Plan], grants: Mapping[Shard, Grant]) -> bool:
        """Whether any of the plans was written."""
        async with self._leadership.writing:
            self._leadership.expire(self._clock.monotonic())
            trusted = [one for one in plans if not grants[one.cursor.shard].lost.is_set()]
            if not trusted:
                return False
            begun = self._clock.wall()
            receipt = await self._store.plans.write(trusted)
        await self._step_down({shard: _epoch(trusted, shard) for shard in receipt.stale})
        self.log.debug(
            "planned", runs=receipt.runs_written, schedules=len(trusted), outdated=receipt.outdated
        )
        emit(TicksPlanned(receipt.runs_written, len(trusted) - receipt.outdated))
        traces.planned(trusted, receipt, begun, self._clock.wall())
        _tell_of_missed(receipt.written(trusted))
        return any(True for _ in receipt.written(trusted))

    async def _step_down(self, stale: Mapping[Shard, Epoch]) -> None:
        """Step down from all shards before any refusal is noted, which may take its time."""
        for shard, epoch in stale.items():
            self.log.warning("write refused: the epoch is stale", shard=shard, epoch=epoch)
            emit(PlanRefused(shard, epoch))
            emit(DuplicateSuppressed(Cause.EPOCH))
            self._leadership.refused(shard, epoch)
        for shard, epoch in stale.items():
            await self._note_refusal(shard, epoch)

    async def _note_refusal(self, shard: Shard, epoch: Epoch) -> None:
        """Note the refusal for people; where that fails, the log line above must do."""
        with suppress(StoreUnavailable):
            await self._store.epochs.note_refusal(shard, epoch, self._node_id)


class TriggerCache:
    """Triggers are parsed once for many ticks, and schedules with the same trigger share one and its fire
    times; the cache is bounded. `watch` may wrap each trigger that it makes."""

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


def _batches(plans: Iterable[Plan | None], runs_max: int, clock: Clock) -> Iterator[list[Plan]]:
    """Plans in order, in batches whose runs fit into one write, and in which no plan waits long for others to
    be found."""
    batch: list[Plan] = []
    runs, began = 0, 0.0
    for one in plans:
        is_full = one is not None and runs + len(one.ticks) > runs_max
        if batch and (is_full or clock.monotonic() - began > THOUGHT_MAX_S):
            yield batch
            batch, runs = [], 0
        if one is not None:
            began = began if batch else clock.monotonic()
            batch.append(one)
            runs += len(one.ticks)
    if batch:
        yield batch


def _looks_again(one: Plan, window: PlanningWindow) -> bool:
    return one.next_fire_at is not None and one.next_fire_at <= window.through


def _tell_of_missed(written: Iterable[Plan]) -> None:
    for one in written:
        for missed in one.missed:
            emit(
                TicksMissed(
                    one.cursor.namespace,
                    one.cursor.schedule_id,
                    one.job,
                    len(missed.fire_times),
                    missed.reason,
                )
            )


def _epoch(plans: Sequence[Plan], shard: Shard) -> Epoch:
    return next(one.epoch for one in plans if one.cursor.shard == shard)
