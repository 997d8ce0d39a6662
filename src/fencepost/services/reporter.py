"""The reporter: reports how attempts ended, many in one write, and none as done before the ledger has it.

An outcome waits until the batch is full or a few milliseconds have passed. While the store is away outcomes
are kept and sent again; the ledger tells a repeated report from a refused one. Until its report is confirmed
a run stays among the active ones, so its heartbeat goes on. The log of the attempt is written first: a reader
that sees the run ended finds its log complete.

An attempt whose success marker is in a transaction of its own may still have its row locked by it. The
reporter writes its report separately, after the others, so that they do not wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from fencepost.config import Settings
from fencepost.errors import StoreUnavailable
from fencepost.model.run import SNOOZED, Outcome, Receipt, RunState, Ticket
from fencepost.ports.store import Store
from fencepost.services.active import ActiveRun, ActiveRuns
from fencepost.services.run_context import Settlement
from fencepost.services.run_logs import RunLogs
from fencepost.services.service import Service
from fencepost.services.telling import tell_finished, tell_refused
from fencepost.telemetry.logs import TRACEBACK, Log

IDLE_S = 60.0
SUCCEEDED_LINES_MAX = 20
"""Up to this many successes of one report have a line each. More have one line together, and a line each at
`debug`: a line costs as much as a short run."""


class Reporter(Service):
    """Belongs to one worker."""

    name = "reporter"

    def __init__(self, store: Store, active: ActiveRuns, settings: Settings) -> None:
        super().__init__()
        self._run_log = Log("run")
        self.settled = 0
        self.on_reported: Callable[[], None] | None = None
        """Called when the ledger has taken a report."""
        self._store = store
        self._active = active
        self._settings = settings
        self._logs = RunLogs(store)
        self._waiting: list[Outcome] = []
        self._in_doubt: list[Outcome] = []
        self._asking: asyncio.Task[Sequence[Receipt]] | None = None
        self._last_lines: list[ActiveRun] = []
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def backlog(self) -> int:
        """The number of outcomes that the ledger has not confirmed."""
        return len(self._waiting) + len(self._in_doubt)

    def file(self, outcome: Outcome, *, in_doubt: bool = False) -> None:
        """Take an outcome for the next report; one in doubt may have been settled by a transaction."""
        (self._in_doubt if in_doubt else self._waiting).append(outcome)
        self._empty.clear()
        if in_doubt or len(self._waiting) in (1, self._settings.finish_batch_max):
            self.wakeup.wake()

    def note_committed(self, active: ActiveRun, error: str | None) -> None:
        """A run that its own transaction completed; also the error of its function after that."""
        self.settled += 1
        ticket = active.ticket
        tell_finished(ticket, active.claim.job, RunState.SUCCEEDED, active.took_s)
        active.trace.settled(Outcome(ticket, RunState.SUCCEEDED), active.took_s)
        self._run_log.run(ticket, "succeeded", attempt=ticket.attempt, fence=ticket.fence)
        if error is not None:
            self._run_log.run_warning(ticket, "failed after its transaction was committed", error=error)

    def keep_log(self, active: ActiveRun) -> None:
        """Write what is left of the log of a run that needs no report."""
        if not active.log.is_written:
            self._last_lines.append(active)
            self._empty.clear()
            self.wakeup.wake()

    async def done(self) -> None:
        """Wait until the ledger has confirmed everything that was filed."""
        await self._empty.wait()

    async def run_once(self) -> float:
        if self._last_lines:
            await self._write_last_lines()
        if self._waiting:
            if len(self._waiting) < self._settings.finish_batch_max and not self._failures:
                await self._let_others_join()
            await self._report(self._waiting[: self._settings.finish_batch_max])
        if self._in_doubt and not self._waiting:
            await self._settle_a_doubt()
        return 0.0 if self.backlog or self._last_lines else IDLE_S

    async def _let_others_join(self) -> None:
        """Rest while outcomes keep coming, at most for the delay."""
        await self.wakeup.rest(self._settings.finish_delay_s)

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            if self._asking is not None:
                self._asking.cancel()

    async def _settle_a_doubt(self) -> None:
        """Wait until the first is answered, or others have come: those go before, and the question stays."""
        if self._asking is None:
            self._asking = asyncio.create_task(self._written([self._in_doubt[0]]))
        others = asyncio.create_task(self.wakeup.rest(IDLE_S))
        try:
            await asyncio.wait({self._asking, others}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            others.cancel()
        if self._asking.done():
            asked, self._asking = self._asking, None
            self._heed_answer(self._in_doubt.pop(0), asked)

    def _heed_answer(self, outcome: Outcome, asked: asyncio.Task[Sequence[Receipt]]) -> None:
        """Where no answer came, its row is still locked: the next one goes before it."""
        try:
            (receipt,) = asked.result()
        except StoreUnavailable:
            self._in_doubt.append(outcome)
            raise
        self._confirmed(outcome, receipt)
        self._log([outcome], [receipt])
        self._tell_if_empty()

    async def _write_last_lines(self) -> None:
        runs = list(self._last_lines)
        await self._logs.flush(runs)
        del self._last_lines[: len(runs)]
        self._tell_if_empty()

    async def _report(self, batch: list[Outcome]) -> None:
        receipts = await self._written(batch)
        del self._waiting[: len(batch)]
        for outcome, receipt in zip(batch, receipts, strict=True):
            self._confirmed(outcome, receipt)
        if self.on_reported is not None:
            self.on_reported()
        self._log(batch, receipts)
        self._tell_if_empty()

    async def _written(self, batch: list[Outcome]) -> Sequence[Receipt]:
        await self._logs.flush(self._active.of(outcome.ticket for outcome in batch))
        return await self._store.ledger.finish(batch)

    def _confirmed(self, outcome: Outcome, receipt: Receipt) -> None:
        active = self._active.remove(outcome.ticket)
        if active is not None:
            self.keep_log(active)
            if outcome.begun:
                _tell(active, outcome, receipt)
        self.settled += 1

    def _tell_if_empty(self) -> None:
        if not self.backlog and not self._last_lines:
            self._empty.set()

    def _log(self, batch: Sequence[Outcome], receipts: Sequence[Receipt]) -> None:
        """A line for each run, or where many have succeeded at once one line for those."""
        good = [
            one.ticket
            for one, receipt in zip(batch, receipts, strict=True)
            if one.state is RunState.SUCCEEDED and receipt is not Receipt.REFUSED
        ]
        if len(good) <= SUCCEEDED_LINES_MAX:
            self._log_each(good, self._run_log.run)
        else:
            self._run_log.info("succeeded", runs=len(good), first=good[0].run_key, last=good[-1].run_key)
            if self._run_log.is_debug:
                self._log_each(good, self._run_log.run_debug)
        handed_back = sum(not one.begun for one in batch)
        if handed_back:
            self._run_log.info("handed back before they began", runs=handed_back)
        if len(good) + handed_back < len(batch):
            for outcome, receipt in zip(batch, receipts, strict=True):
                if outcome.begun and (outcome.state is not RunState.SUCCEEDED or receipt is Receipt.REFUSED):
                    self._log_other(outcome, receipt)

    def _log_each(self, tickets: Sequence[Ticket], say: Callable[..., None]) -> None:
        for ticket in tickets:
            say(ticket, "succeeded", attempt=ticket.attempt, fence=ticket.fence)

    def _log_other(self, outcome: Outcome, receipt: Receipt) -> None:
        ticket = outcome.ticket
        if receipt is Receipt.REFUSED:
            self._run_log.run_warning(
                ticket, "late report refused", attempt=ticket.attempt, fence=ticket.fence
            )
        elif receipt is Receipt.REPEATED:
            self._run_log.run(ticket, "had reported before", attempt=ticket.attempt, fence=ticket.fence)
        elif outcome.snoozed:
            self._run_log.run(ticket, SNOOZED, attempt=ticket.attempt, reason=outcome.reason)
        else:
            self._run_log.run_warning(
                ticket,
                "attempt failed" if outcome.state is RunState.READY else str(outcome.state),
                attempt=ticket.attempt,
                reason=outcome.reason,
                error=outcome.error,
                **({} if outcome.detail is None else {TRACEBACK: outcome.detail}),
            )


def _tell(active: ActiveRun, outcome: Outcome, receipt: Receipt) -> None:
    """Report the end of an attempt. A repeated report is one whose answer was lost, and was not announced
    yet; or one of an attempt that its own transaction had completed."""
    if receipt is Receipt.REFUSED:
        tell_refused(outcome.ticket)
        active.trace.lost(active.took_s)
        return
    committed = receipt is Receipt.REPEATED and active.settlement is Settlement.HANDED_OVER
    told = Outcome(outcome.ticket, RunState.SUCCEEDED) if committed else outcome
    tell_finished(outcome.ticket, active.claim.job, told.state, active.took_s)
    active.trace.settled(told, active.took_s)
