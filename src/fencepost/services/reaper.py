"""The reaper: takes runs away from workers that show no life, ends ticks that nobody came for, and calls
those that wait for their turn where the bell was missed."""

from __future__ import annotations

from fencepost.config import Settings
from fencepost.core.catchup import ON_TIME_MAX
from fencepost.core.judgement import judge
from fencepost.core.liveness import rescue
from fencepost.model.rescue import Rescue
from fencepost.model.run import Receipt
from fencepost.ports.store import Store
from fencepost.services.service import Service


class Reaper(Service):
    """Runs in every process; the ledger's comparisons make it harmless that there are many."""

    name = "reaper"

    def __init__(self, store: Store, settings: Settings) -> None:
        super().__init__()
        self._store = store
        self._settings = settings

    async def run_once(self) -> float:
        limit = self._settings.reap_batch_max
        silent = await self._store.ledger.expired(limit)
        rescues = [rescue(run) for run in silent]
        if rescues:
            receipts = await self._store.ledger.rescue(rescues)
            self._report(
                [one for one, receipt in zip(rescues, receipts, strict=True) if receipt is Receipt.ACCEPTED]
            )
        late = await self._store.ledger.sweep_late(ON_TIME_MAX.total_seconds(), limit, judge)
        if late:
            self.log.info("late ticks ended", ticks=late)
        await self._store.ledger.unpark(limit)
        more = len(silent) == limit or late >= limit
        return 0.0 if more else self._settings.reap_every_s

    def _report(self, rescues: list[Rescue]) -> None:
        for one in rescues:
            self.log.run_warning(one.ticket.run_key, "rescued", state=one.state, reason=one.reason)
