"""The heartbeat: shows the ledger that this worker's runs are alive, and brings back what the ledger says.

It runs in a thread of its own with an event loop and a store connection of its own, so that a job which
blocks the worker's loop does not look dead. It stops a run that the ledger has given to another attempt, and
one that an operator has cancelled. It also passes on what jobs report: their progress, and the lines of their
logs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from fencepost.config import Settings
from fencepost.errors import StoreUnavailable
from fencepost.model.run import ProgressReport, Pulse
from fencepost.ports.store import Store
from fencepost.services.active import ActiveRun, ActiveRuns, StopCause
from fencepost.services.loop_thread import LoopThread, opened_patiently
from fencepost.services.run_context import Settlement
from fencepost.services.run_logs import RunLogs
from fencepost.services.service import PATIENCE_MAX_S, Service
from fencepost.telemetry.events import Cause, DuplicateSuppressed, HeartbeatLate, emit
from fencepost.telemetry.secrets import mask_any


class Heartbeat(Service):
    """One statement per beat for all runs in progress; none when there are none."""

    name = "heartbeat"

    def __init__(self, store: Store, active: ActiveRuns, settings: Settings) -> None:
        super().__init__()
        self.patience_max_s = min(PATIENCE_MAX_S, settings.heartbeat_every_s)
        self._store = store
        self._active = active
        self._settings = settings
        self._logs = RunLogs(store)

    async def run_once(self) -> float:
        runs = [one for one in self._active if self._may_beat(one)]
        if runs:
            await self._beat(runs)
        return self._settings.heartbeat_every_s

    async def _beat(self, runs: list[ActiveRun]) -> None:
        """Bounded by the period itself: one answer that never comes must not cost every run its life."""
        tickets = [one.ticket for one in runs]
        try:
            async with asyncio.timeout(self._settings.heartbeat_every_s):
                pulses = await self._store.ledger.pulse(tickets, self._settings.heartbeat_timeout_s)
                for one, pulse in zip(runs, pulses, strict=True):
                    self._heed(one, pulse)
                await self._pass_on_progress(runs)
        except TimeoutError:
            emit(HeartbeatLate(len(runs)))
            raise StoreUnavailable("no answer to a heartbeat within its period") from None
        await self._pass_on_logs(runs)

    def _may_beat(self, one: ActiveRun) -> bool:
        """A run far past its timeout has blocked the loop that should have stopped it: let it be rescued."""
        if one.use_beat():
            return True
        past = "the time that a claim may wait" if one.is_waiting else "its timeout or its progress deadline"
        self.log.run_warning(one.claim, f"blocked past {past}; left to be rescued")
        return False

    def _heed(self, one: ActiveRun, pulse: Pulse) -> None:
        """Once a transaction has the marker, only that transaction and the ledger decide who owns the run."""
        lost = not pulse.owned and one.settlement is Settlement.OPEN and not one.has_ended
        if lost and one.ticket.fence in self._active.fences():
            self.log.run_warning(one.claim, "lost to another attempt", fence=one.claim.fence)
            emit(DuplicateSuppressed(Cause.FENCE, one.claim.run_key))
            one.stop(StopCause.LOST)
        elif pulse.cancel_requested:
            one.stop(StopCause.REQUESTED)

    async def _pass_on_progress(self, runs: list[ActiveRun]) -> None:
        """In one statement. Progress that was not taken is sent again: a transaction of the job may have its
        run locked at this moment."""
        told = [(one, said) for one in runs if (said := one.run.said) is not None]
        if not told:
            return
        reports = [
            ProgressReport(one.ticket, mask_any(said.progress), mask_any(said.note)) for one, said in told
        ]
        taken = await self._store.ledger.report_progress(reports)
        for (one, said), is_taken in zip(told, taken, strict=True):
            if is_taken:
                one.run.was_heard(said)

    async def _pass_on_logs(self, runs: list[ActiveRun]) -> None:
        """Within the period too; lines that were not written stay with their attempt until the next one."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.heartbeat_every_s):
                await self._logs.flush_in_turn(runs)


class HeartbeatThread(LoopThread):
    """Runs the heartbeat apart from the worker's loop. A node without one would only look alive."""

    def __init__(
        self, open_store: Callable[[], Awaitable[Store]], active: ActiveRuns, settings: Settings
    ) -> None:
        super().__init__("fencepost-heartbeat")
        self._open_store = open_store
        self._active = active
        self._settings = settings

    async def serve(self) -> None:
        store = await opened_patiently(self._open_store, self._settings.heartbeat_every_s)
        try:
            await Heartbeat(store, self._active, self._settings).run()
        finally:
            await store.close()
