"""The backfiller: writes the runs of active backfills, a batch at a time.

A backfill is durable and knows how far it has been filled. The mark is compared at every write, so it does
no harm that several nodes, and the command that asked for it, fill at once: one of them is quicker and the
others see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fencepost.core.backfilling import Batch, next_batch
from fencepost.errors import UsageError
from fencepost.model.audit import HOUSE, Author
from fencepost.model.backfill import Backfill
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.schedule import ScheduleVersion
from fencepost.model.trigger import Trigger
from fencepost.ports.store import Store
from fencepost.services.aside import Aside, on_the_spot
from fencepost.services.service import Service
from fencepost.triggers import stored_trigger

BATCH_MAX = 200
WAITING_MIN = 200
ACTIVE_MAX = 100
LOOK_AGAIN_S = 1.0
IDLE_S = 60.0
UNREADABLE_KEPT_MAX = 1_000


class Backfiller(Service):
    """Runs on nodes that plan. While nothing is active it only looks now and then whether a hint was lost."""

    name = "backfiller"

    def __init__(self, store: Store, aside: Aside = on_the_spot) -> None:
        super().__init__()
        self._store = store
        self._aside = aside
        self._told: set[int] = set()

    async def run_once(self) -> float:
        active = await self._store.backfills.active(ACTIVE_MAX)
        if not active:
            return IDLE_S
        moved = [await self._fill(one) for one in active]
        return 0.0 if any(moved) else LOOK_AGAIN_S

    async def _fill(self, backfill: Backfill) -> bool:
        """True where its mark has moved. One that cannot be read must not keep others from being filled."""
        author = Author(HOUSE.name, HOUSE.source, f"backfill {backfill.backfill_id}")
        try:
            written = await fill_next(self._store, backfill, author, self._aside)
        except UsageError as error:
            self._tell(backfill, error)
            return False
        self.log.debug("backfilled", backfill=backfill.backfill_id, runs=written)
        return written is not None

    def _tell(self, backfill: Backfill, error: UsageError) -> None:
        """Once, as long as there are not too many of them to remember."""
        if backfill.backfill_id in self._told:
            return
        if len(self._told) == UNREADABLE_KEPT_MAX:
            self._told.clear()
        self._told.add(backfill.backfill_id)
        self.log.error("backfill cannot be filled", backfill=backfill.backfill_id, error=str(error))


async def fill_next(
    store: Store, backfill: Backfill, author: Author, aside: Aside = on_the_spot
) -> int | None:
    """Write one batch; how many runs there were. None where somebody else was quicker, or where so many of
    its runs wait already that more of them would only be in the way."""
    asked = backfill.asked
    if backfill.waiting >= max(WAITING_MIN, 2 * asked.at_once_max):
        return None
    source = await FillSource.of(store, backfill.namespace, asked.schedule_id)
    batch = await aside(lambda: source.next_batch(backfill.filled_through, asked.until, BATCH_MAX))
    return await store.backfills.fill(backfill, batch.ticks, batch.through, author)


@dataclass(frozen=True)
class FillSource:
    """Where the fire times of a backfill come from: all versions of its schedule."""

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
