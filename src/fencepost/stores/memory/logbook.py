"""The logs of runs in memory."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run_log import LOG_BEGIN, LoggedChunk, LogPage, LogPlace, LogSpot
from fencepost.stores.memory.part import MemoryPart


class MemoryLogbook(MemoryPart):
    """See `ports.logbook`."""

    async def append(self, pages: Sequence[LogPage]) -> Sequence[bool]:
        return [self._append(page) for page in pages]

    async def read(
        self,
        namespace: Namespace,
        run_key: RunKey,
        *,
        attempt: int | None = None,
        after: LogPlace = LOG_BEGIN,
        limit: int,
    ) -> Sequence[LoggedChunk]:
        return [one for one in self._log(namespace, run_key, attempt) if one.place > after][:limit]

    async def tail(
        self, namespace: Namespace, run_key: RunKey, *, attempt: int | None = None, limit: int
    ) -> Sequence[LoggedChunk]:
        return self._log(namespace, run_key, attempt)[-limit:]

    async def read_on(self, spots: Sequence[LogSpot], limit: int) -> Sequence[Sequence[LoggedChunk]]:
        return [await self.read(one.namespace, one.run_key, after=one.place, limit=limit) for one in spots]

    def _append(self, page: LogPage) -> bool:
        row = self._tables.runs.get((page.ticket.namespace, page.ticket.run_key))
        if row is None or not row.is_of(page.ticket):
            return False
        attempt = page.ticket.attempt
        outdated = (LogPlace(attempt, page.kept_through), LogPlace(attempt, page.kept_from))
        row.log = {place: one for place, one in row.log.items() if not outdated[0] < place < outdated[1]}
        for chunk in page.chunks:
            logged = LoggedChunk(attempt, chunk, self._tables.now())
            row.log.setdefault(logged.place, logged)
        return True

    def _log(self, namespace: Namespace, run_key: RunKey, attempt: int | None) -> list[LoggedChunk]:
        row = self._tables.runs.get((namespace, run_key))
        found = [] if row is None else sorted(row.log.values(), key=lambda one: one.place)
        return [one for one in found if attempt in (None, one.attempt)]
