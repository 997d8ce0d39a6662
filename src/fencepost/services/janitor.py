"""The janitor: removes what retention no longer keeps, a batch at a time."""

from __future__ import annotations

from fencepost.config import Settings
from fencepost.core.retention import NODE_MEMORY_S, REFUSALS_MAX, TERMS_MAX, checked_retention_s
from fencepost.model.idempotency import KEPT_S
from fencepost.ports.store import Store
from fencepost.services.service import Service

IDLE_STRETCH = 5
"""After a look that removed nothing, the next look comes later by this factor."""


class Janitor(Service):
    """Runs on nodes that plan."""

    name = "janitor"

    def __init__(self, store: Store, settings: Settings) -> None:
        super().__init__()
        self._store = store
        self._settings = settings
        self._retention_s = checked_retention_s(settings.retention_s)
        self._dead_retention_s = max(settings.dead_retention_s, self._retention_s)

    async def run_once(self) -> float:
        limit = self._settings.tidy_batch_max
        removed = await self._store.ledger.forget(self._retention_s, limit, self._dead_retention_s)
        await self._store.nodes.sweep(NODE_MEMORY_S)
        credentials = await self._store.access.sweep(self._retention_s, limit)
        answers = await self._store.answers.sweep(KEPT_S, limit)
        await self._store.epochs.trim(TERMS_MAX, REFUSALS_MAX)
        if removed:
            self.log.info("forgot old runs", runs=removed)
        most = max(removed, credentials, answers)
        if most >= limit:
            return 0.0
        return self._settings.tidy_every_s * (1 if most else IDLE_STRETCH)
