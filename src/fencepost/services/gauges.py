"""The gauges: reads the state of the ledger and of the fleet now and then, and reports it.

Counters are reported where things happen. Gauges need a reading: how deep the queues are, how old their
oldest run is, what of the last day is accounted for. Without a listener nothing is read. A reading that
takes long is made less often, so that it never takes more than a small part of the store's time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.core.completeness import (
    BURN_WINDOWS_S,
    COMPLETENESS_WINDOW_S,
    OPEN_AFTER_S,
    Completeness,
    combined,
    completeness,
)
from fencepost.model.clocks import Monotonic, elapsed_s
from fencepost.model.identifiers import JobName
from fencepost.model.node import NodeRecord
from fencepost.model.run import RunState
from fencepost.model.views import COUNTED_MAX
from fencepost.ports.store import Store
from fencepost.services.accounting import Auditor
from fencepost.services.service import Service
from fencepost.services.serving import unserved
from fencepost.telemetry.events import LedgerMeasured, Share, emit, is_heard

REST_PER_READING = 10.0
"""The number of seconds of rest for each second of reading."""


FIRST_AFTER_S = 2.0


class Gauges(Service):
    """Runs where a process plans, and where one serves the web."""

    name = "gauges"

    def __init__(self, store: Store, settings: Settings, clock: Clock) -> None:
        super().__init__()
        self._store = store
        self._settings = settings
        self._clock = clock
        self._audit = Auditor(store, settings.namespace)

    async def run(self) -> None:
        """Begin only after this node has had the time to report what it leads."""
        await self.wakeup.rest(min(FIRST_AFTER_S, self._settings.gauges_every_s))
        await super().run()

    async def run_once(self) -> float:
        every_s = self._settings.gauges_every_s
        if not is_heard():
            return every_s
        begun = self._clock.monotonic()
        emit(await self._measured(begun))
        return max(every_s, REST_PER_READING * elapsed_s(begun, self._clock.monotonic()))

    async def _measured(self, begun: Monotonic) -> LedgerMeasured:
        ledger, namespace = self._store.ledger, self._settings.namespace
        target = self._settings.completeness_target
        nodes = await self._store.nodes.live()
        shards = await self._store.epochs.shards()
        tallies = await ledger.tally_by_job(namespace, COMPLETENESS_WINDOW_S)
        known: dict[JobName, Share] = dict.fromkeys(await self._store.jobs.all(namespace), Share(0, 0))
        by_job = {job: completeness(tally) for job, tally in tallies.items()}
        day = await self._stand(combined(tallies.values()), COMPLETENESS_WINDOW_S)
        attention = await ledger.attention(namespace, COUNTED_MAX)
        return LedgerMeasured(
            accounted=known | {job: Share(one.ended, one.due) for job, one in by_job.items()},
            complete=known | {job: Share(one.succeeded, one.expected) for job, one in by_job.items()},
            burn_rates=await self._burn_rates(target),
            budget_left=day.budget_left(target),
            target=target,
            queues={one.queue: one for one in await ledger.queues(namespace)},
            dead=attention.dead,
            gates_closed=len(await self._store.gates.closed(namespace)),
            stuck=len(await self._audit.stuck()),
            unserved=len(await unserved(self._store, namespace)),
            shards=shards,
            shards_unled=shards - len(_led(nodes, shards)),
            planners=sum(one.node.plans for one in nodes),
            workers=sum(one.node.works for one in nodes),
            at_unix_s=self._clock.wall().timestamp(),
            took_s=elapsed_s(begun, self._clock.monotonic()),
        )

    async def _burn_rates(self, target: float) -> dict[str, float]:
        tally, namespace = self._store.ledger.tally, self._settings.namespace
        return {
            name: (await self._stand(await tally(namespace, window_s), window_s)).burn_rate(target)
            for name, window_s in BURN_WINDOWS_S.items()
        }

    async def _stand(self, tally: Mapping[RunState, int], window_s: float) -> Completeness:
        overdue = await self._store.ledger.overdue(self._settings.namespace, window_s, OPEN_AFTER_S)
        return completeness(tally, overdue)


def _led(nodes: Sequence[NodeRecord], shards: int) -> set[int]:
    """The shards that some live node reports to lead; after a change to fewer, only those that are left."""
    return {led.shard for one in nodes for led in one.report.leads if led.shard < shards}
