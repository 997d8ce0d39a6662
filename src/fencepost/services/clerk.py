"""The clerk: reports how attempts ended, many in one write, and none as done before the ledger has it.

An outcome waits until the batch is full or a few milliseconds have passed. While the store is away outcomes
are kept and offered again; the ledger tells a repeated report from a refused one. Until its report is
confirmed a run stays among the active ones, so its heartbeat goes on.
"""

from __future__ import annotations

import asyncio

from fencepost.config import Settings
from fencepost.model.run import Outcome, Receipt, RunState
from fencepost.ports.store import Store
from fencepost.services.active import ActiveRuns
from fencepost.services.service import Service

IDLE_S = 60.0


class Clerk(Service):
    """Belongs to one worker."""

    name = "clerk"

    def __init__(self, store: Store, active: ActiveRuns, settings: Settings) -> None:
        super().__init__()
        self.settled = 0
        self._store = store
        self._active = active
        self._settings = settings
        self._waiting: list[Outcome] = []
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def backlog(self) -> int:
        """How many outcomes the ledger has not confirmed."""
        return len(self._waiting)

    def file(self, outcome: Outcome) -> None:
        """Take an outcome for the next report."""
        self._waiting.append(outcome)
        self._empty.clear()
        if len(self._waiting) in (1, self._settings.finish_batch_max):
            self.wakeup.wake()

    async def done(self) -> None:
        """Until the ledger has confirmed everything that was filed."""
        await self._empty.wait()

    async def run_once(self) -> float:
        if not self._waiting:
            return IDLE_S
        if len(self._waiting) < self._settings.finish_batch_max and not self._failures:
            await self._let_others_join()
        await self._report(self._waiting[: self._settings.finish_batch_max])
        return 0.0 if self._waiting else IDLE_S

    async def _let_others_join(self) -> None:
        """Rest while outcomes keep coming, at most for the delay."""
        await self.wakeup.rest(self._settings.finish_delay_s)

    async def _report(self, batch: list[Outcome]) -> None:
        receipts = await self._store.ledger.finish(batch)
        del self._waiting[: len(batch)]
        for outcome, receipt in zip(batch, receipts, strict=True):
            self._active.remove(outcome.ticket)
            self._log(outcome, receipt)
        self.settled += len(batch)
        if not self._waiting:
            self._empty.set()

    def _log(self, outcome: Outcome, receipt: Receipt) -> None:
        ticket = outcome.ticket
        if receipt is Receipt.REFUSED:
            self.log.run_warning(
                ticket.run_key, "late report refused", attempt=ticket.attempt, fence=ticket.fence
            )
        elif outcome.state is RunState.SUCCEEDED:
            self.log.run(ticket.run_key, "succeeded", attempt=ticket.attempt, fence=ticket.fence)
        else:
            self.log.run_warning(
                ticket.run_key,
                str(outcome.state),
                attempt=ticket.attempt,
                reason=outcome.reason,
                error=outcome.error,
            )
