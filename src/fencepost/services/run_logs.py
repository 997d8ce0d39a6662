"""Writes the logs of running jobs to the ledger: many attempts in one write, with every heartbeat and once
more before an attempt's end is reported.

A page that is not taken stays with its attempt: a transaction of the run may have its row locked at this
moment. If the run was lost, the log goes with the attempt.
"""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.model.run_log import LogPage, size_of
from fencepost.ports.store import Store
from fencepost.services.active import ActiveRun

WRITE_MAX = 1024 * 1024
"""How much text goes into one write, but for the last page of it."""


class RunLogs:
    """Writes log pages to one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last = 0

    async def flush(self, runs: Iterable[ActiveRun]) -> None:
        """Write all that these attempts have; without any lines the store is not asked."""
        batch: list[tuple[ActiveRun, LogPage]] = []
        size = 0
        for one in runs:
            page = one.log.page()
            if page is not None:
                batch.append((one, page))
                size += size_of(page.chunks)
            if size >= WRITE_MAX:
                await self._write(batch)
                batch, size = [], 0
        if batch:
            await self._write(batch)

    async def flush_in_turn(self, runs: Iterable[ActiveRun]) -> None:
        """The same, beginning after the attempt that was last written: where the time runs out, no attempt is
        left out for ever."""
        ordered = sorted(runs, key=lambda one: (one.ticket.fence <= self._last, one.ticket.fence))
        await self.flush(ordered)

    async def _write(self, batch: list[tuple[ActiveRun, LogPage]]) -> None:
        taken = await self._store.run_logs.append([page for _, page in batch])
        self._last = batch[-1][1].ticket.fence
        for (one, page), is_taken in zip(batch, taken, strict=True):
            if is_taken:
                one.log.written(page)
