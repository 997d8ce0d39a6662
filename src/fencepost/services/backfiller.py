"""The backfiller: writes the runs of active backfills, a batch at a time.

A backfill is durable and knows how far it has been filled. The mark is compared at every write, so several
nodes, and the command that asked for it, may fill it at once: one of them is quicker and the others see it.

Namespaces take turns: one backfill of each, then the next of each, however many one of them has. The runs of
a namespace's backfills keep to its `quota_planned_per_s`, counted apart from its ticks: a long backfill makes
no tick late.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.core.backfilling import Batch, next_batch
from fencepost.core.fair_share import in_turn, passed_over
from fencepost.errors import UsageError
from fencepost.model.audit import HOUSE, Author
from fencepost.model.backfill import Backfill
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.quotas import Quota
from fencepost.model.schedule import ScheduleVersion
from fencepost.model.trigger import Trigger
from fencepost.ports.store import Store
from fencepost.services.offload import Offload, inline
from fencepost.services.quotas import planning_allowance
from fencepost.services.service import Service
from fencepost.telemetry.events import QuotaRefused, emit
from fencepost.triggers import stored_trigger

BATCH_MAX = 200
WAITING_MIN = 200
ACTIVE_MAX = 100
WINDOWS_MAX = 10
"""One pass looks at this number of windows of `ACTIVE_MAX` before it fills what it found."""
LOOK_AGAIN_S = 1.0
IDLE_S = 60.0
UNREADABLE_KEPT_MAX = 1_000


class Backfiller(Service):
    """Runs on nodes that plan. While no backfill is active it only polls now and then, for lost hints."""

    name = "backfiller"

    def __init__(self, store: Store, settings: Settings, clock: Clock, offload: Offload = inline) -> None:
        super().__init__()
        self._store = store
        self._settings = settings
        self._clock = clock
        self._offload = offload
        self._told: set[int] = set()
        self._allowance = planning_allowance(settings)
        self._passed: frozenset[Namespace] = frozenset()
        self._over_quota: set[Namespace] = set()

    async def run_once(self) -> float:
        idle_s = 0.0 if self._passed else IDLE_S
        active = await self._active()
        if not active:
            return idle_s
        told, self._over_quota = self._over_quota, set()
        moved = [await self._fill(one) for one in in_turn(active)]
        self._tell_of_quota(self._over_quota - told)
        return 0.0 if any(moved) else LOOK_AGAIN_S

    async def _active(self) -> Sequence[Backfill]:
        """Some of each namespace: a namespace that fills a window is left out of the next ones. Backfills
        beyond the windows of one pass are left to the next pass."""
        found: dict[int, Backfill] = {}
        for _ in range(WINDOWS_MAX):
            window = await self._store.backfills.active(ACTIVE_MAX, self._passed)
            found |= {one.backfill_id: one for one in window}
            self._passed = passed_over(self._passed, window, ACTIVE_MAX)
            if not self._passed:
                break
        return list(found.values())

    async def _fill(self, backfill: Backfill) -> bool:
        """True where its mark has moved and may move on at once. A backfill that cannot be read must not keep
        others from being filled."""
        author = Author(HOUSE.name, HOUSE.source, f"backfill {backfill.backfill_id}")
        room = self._room(backfill.namespace)
        try:
            written = await fill_next(self._store, backfill, author, self._offload, room) if room else 0
        except UsageError as error:
            self._tell(backfill, error)
            return False
        self._allowance.spend(backfill.namespace, written or 0)
        self.log.debug("backfilled", backfill=backfill.backfill_id, runs=written)
        if written == room < BATCH_MAX:
            self._over_quota.add(backfill.namespace)
            return False
        return written is not None

    def _room(self, namespace: Namespace) -> int:
        """How many runs the next batch of a namespace may have."""
        per_s = self._settings.quotas(namespace).planned_per_s
        return max(0, min(BATCH_MAX, self._allowance.left(namespace, per_s, self._clock.monotonic())))

    def _tell_of_quota(self, namespaces: Iterable[Namespace]) -> None:
        for one in sorted(namespaces):
            per_s = self._settings.quotas(one).planned_per_s
            self.log.warning("backfilled later: over its quota", namespace=one, planned_per_s=per_s)
            emit(QuotaRefused(Quota.PLANNED_PER_S))

    def _tell(self, backfill: Backfill, error: UsageError) -> None:
        """Log the error once per backfill, unless there are too many of them to remember."""
        if backfill.backfill_id in self._told:
            return
        if len(self._told) == UNREADABLE_KEPT_MAX:
            self._told.clear()
        self._told.add(backfill.backfill_id)
        self.log.error("backfill cannot be filled", backfill=backfill.backfill_id, error=str(error))


async def fill_next(
    store: Store,
    backfill: Backfill,
    author: Author,
    offload: Offload = inline,
    runs_max: int = BATCH_MAX,
) -> int | None:
    """Write one batch of at most `runs_max`; returns how many runs there were. None where another filler was
    quicker, or where enough of its runs wait already."""
    request = backfill.request
    if backfill.waiting >= max(WAITING_MIN, 2 * request.at_once_max):
        return None
    source = await FillSource.of(store, backfill.namespace, request.schedule_id)
    most = min(runs_max, BATCH_MAX)
    batch = await offload(lambda: source.next_batch(backfill.filled_through, request.until, most))
    return await store.backfills.fill(backfill, batch.ticks, batch.through, author)


@dataclass(frozen=True)
class FillSource:
    """The fire times of a backfill, from all versions of its schedule."""

    schedule_id: ScheduleId
    versions: Sequence[ScheduleVersion]

    @classmethod
    async def of(cls, store: Store, namespace: Namespace, schedule_id: ScheduleId) -> FillSource:
        """The history as it stands."""
        return cls(schedule_id, await store.schedules.history(namespace, schedule_id))

    def next_batch(self, after: datetime, until: datetime, limit: int) -> Batch:
        """The next fire times of the range."""
        return next_batch(self.versions, self._trigger, after, until, limit)

    def _trigger(self, version: ScheduleVersion) -> Trigger:
        return stored_trigger(version.spec, self.schedule_id)
