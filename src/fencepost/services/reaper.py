"""The reaper: takes runs away from workers that show no life, ends late ticks that no worker has claimed, and
wakes ticks that wait for their turn where the wake-up was missed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from fencepost.config import Settings
from fencepost.core.catchup import ON_TIME_MAX
from fencepost.core.lifecycle import ENDED
from fencepost.core.liveness import awaits_processor, may_speak, rescue, sweep_every_s, sweep_terms
from fencepost.errors import StoreUnavailable
from fencepost.model.rescue import Expired, Rescue
from fencepost.model.run import Receipt
from fencepost.ports.store import Store
from fencepost.services.judging import VerdictLog
from fencepost.services.service import Service
from fencepost.telemetry import traces
from fencepost.telemetry.events import ClockSetBack, RescuesWaited, RunEnded, RunRescued, emit

TRACED_MAX = 50
"""The number of rescues of one pass that are traced: each costs two queries."""


class Reaper(Service):
    """Runs in every process; the ledger's comparisons make it harmless that there are several."""

    name = "reaper"

    def __init__(self, store: Store, settings: Settings) -> None:
        super().__init__()
        self._store = store
        self._settings = settings
        self._terms = sweep_terms(settings.heartbeat_timeout_s)

    async def run_once(self) -> float:
        limit = self._settings.reap_batch_max
        sweep = await self._store.ledger.expired(limit, self._terms)
        if sweep.quiet:
            return sweep_every_s(self._settings.reap_every_s, self._terms, quiet=True)
        if sweep.last_s is not None:
            self._tell_of_grace(sweep.last_s)
        silent = await self._with_a_voice(sweep.expired)
        rescues = [rescue(run) for run in silent]
        taken: list[tuple[Expired, Rescue]] = []
        if rescues:
            receipts = await self._store.ledger.rescue(rescues)
            answered = zip(silent, rescues, receipts, strict=True)
            taken = [(run, one) for run, one, receipt in answered if receipt is Receipt.ACCEPTED]
            for run, one in taken:
                self._report(run, one)
        minutes = VerdictLog()
        late = await self._store.ledger.sweep_late(ON_TIME_MAX.total_seconds(), limit, minutes.judge)
        minutes.tell()
        if late:
            self.log.info("late ticks ended", ticks=late)
        await self._store.ledger.unpark(limit)
        await self._trace([one for _, one in taken])
        more = len(sweep.expired) == limit or late >= limit
        return 0.0 if more else sweep_every_s(self._settings.reap_every_s, self._terms)

    async def _with_a_voice(self, expired: Sequence[Expired]) -> Sequence[Expired]:
        """The runs whose owners could have shown life. The others count as alive for one timeout more."""
        if not any(map(awaits_processor, expired)):
            return expired
        nodes, timeout_s = await self._store.nodes.live(), self._settings.heartbeat_timeout_s
        silent = [one for one in expired if may_speak(one, nodes, timeout_s)]
        if mute := [one.ticket for one in expired if one not in silent]:
            await self._store.ledger.pulse(mute, timeout_s)
            self.log.warning("rescues wait: no worker could hear processors over the broker", runs=len(mute))
        return silent

    def _tell_of_grace(self, last_s: float) -> None:
        """One reaper of the fleet logs it: the next sweep finds this one."""
        emit(RescuesWaited(last_s))
        if last_s < 0:
            emit(ClockSetBack("heartbeats", -last_s))
        self.log.warning(
            "rescues wait: the store or the whole fleet was away"
            if last_s > 0
            else "rescues wait: the clock of the store was set back",
            last_sweep_s=round(last_s, 1),
            grace_s=self._terms.grace_s,
        )

    def _report(self, run: Expired, one: Rescue) -> None:
        self.log.run_warning(one.ticket, "rescued", state=one.state, reason=one.reason)
        job = None if run.job is None else run.job.name
        emit(RunRescued(one.ticket, job, one.state, run.silent_for_s))
        if job is not None and one.state in ENDED:
            emit(RunEnded(one.ticket.namespace, one.ticket.run_key, job, one.state))

    async def _trace(self, rescues: list[Rescue]) -> None:
        """Write the spans of dead attempts, after all other work: a store that does not answer costs only
        spans."""
        with suppress(StoreUnavailable):
            for one in rescues[:TRACED_MAX] if traces.is_on() else ():
                found = one.ticket.namespace, one.ticket.run_key
                run = await self._store.ledger.get(*found)
                if run is not None:
                    traces.rescued(run, one, await self._store.ledger.attempts(*found))
