"""The janitor: removes what retention lets go, a batch at a time."""

from __future__ import annotations

from fencepost.config import Settings
from fencepost.core.retention import NODE_MEMORY_S, checked_retention_s
from fencepost.ports.store import Store
from fencepost.services.service import Service


class Janitor(Service):
    """Runs on nodes that plan."""

    name = "janitor"

    def __init__(self, store: Store, settings: Settings) -> None:
        super().__init__()
        self._store = store
        self._settings = settings
        self._retention_s = checked_retention_s(settings.retention_s)

    async def run_once(self) -> float:
        limit = self._settings.tidy_batch_max
        removed = await self._store.ledger.forget(self._retention_s, limit)
        await self._store.roster.sweep(NODE_MEMORY_S)
        if removed:
            self.log.info("forgot old runs", runs=removed)
        return 0.0 if removed == limit else self._settings.tidy_every_s
