"""The people's verbs: what an operator, an application or a page may ask of a store.

Every verb checks first and writes once; what it refuses it refuses in one line that says what was wrong,
where, and the mend. What it changes is written down in the name of the author.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fencepost.config import Settings
from fencepost.model.audit import Author, Entry, LogFilter
from fencepost.model.freeze import Freeze
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import JobSpec
from fencepost.model.run import Hold, RunFilter, RunState
from fencepost.model.status import QueueDepth
from fencepost.ports.store import Store
from fencepost.services.calendars import CalendarDesk
from fencepost.services.desks.backfills import BackfillDesk
from fencepost.services.desks.desk import PROGRAM
from fencepost.services.desks.fleet import FleetDesk
from fencepost.services.desks.freezes import FreezeDesk
from fencepost.services.desks.gates import GateDesk, GateView
from fencepost.services.desks.runs import RunDesk, known_job, new_run
from fencepost.services.desks.schedules import ScheduleDesk
from fencepost.services.fleet import FleetView, LeaseReader, look

__all__ = [
    "PROGRAM",
    "Control",
    "GateView",
    "RunDesk",
    "ScheduleDesk",
    "Status",
    "known_job",
    "new_run",
]

ENQUEUE_BATCH_MAX = 1_000
COMPLETENESS_WINDOW_S = 24 * 3600.0
COUNTED_MAX = 1_000


@dataclass(frozen=True)
class Status:
    """The state of the house at one moment; `dead` and `held` are runs that wait for a person, counted up
    to `COUNTED_MAX`."""

    fleet: FleetView
    queue: QueueDepth
    tally: Mapping[RunState, int]
    freezes: Sequence[Freeze]
    gates: Sequence[GateView]
    dead: int
    held: int


class Control:
    """The verbs of one namespace, in one author's name. `leases` is where leases live, where that is not the
    store itself; they are only looked at."""

    def __init__(
        self,
        store: Store,
        namespace: Namespace,
        author: Author = PROGRAM,
        leases: LeaseReader | None = None,
    ) -> None:
        self.store = store
        self.leases: LeaseReader = store.leases if leases is None else leases
        self.namespace = namespace
        self.author = author
        self.schedules = ScheduleDesk(store, namespace, author)
        self.runs = RunDesk(store, namespace, author)
        self.calendars = CalendarDesk(store, namespace, author)
        self.gates = GateDesk(store, namespace, author)
        self.freezes = FreezeDesk(store, namespace, author)
        self.backfills = BackfillDesk(store, namespace, author)
        self.fleet = FleetDesk(store, namespace, author)

    async def jobs(self) -> Mapping[JobName, JobSpec]:
        """All registered jobs."""
        return await self.store.jobs.all(self.namespace)

    async def log(self, wanted: LogFilter) -> Sequence[Entry]:
        """What people did, newest first."""
        return await self.store.audit_log.list(self.namespace, wanted)

    async def status(self, skew_warning_s: float = Settings.skew_warning_s) -> Status:
        """Shards, nodes, queue, how the ticks of the last day stand, and what waits for a person."""
        return Status(
            fleet=await look(self.store, self.leases, skew_warning_s),
            queue=await self.store.ledger.depth(self.namespace),
            tally=await self.store.ledger.tally(self.namespace, COMPLETENESS_WINDOW_S),
            freezes=await self.freezes.all(),
            gates=await self.gates.closed(),
            dead=len(await self.runs.list(RunFilter(state=RunState.DEAD, limit=COUNTED_MAX))),
            held=await self._held(),
        )

    async def _held(self) -> int:
        """Runs that somebody, a freeze or a gate holds; those that merely wait for their turn need nobody."""
        found = await self.runs.list(RunFilter(held=True, limit=COUNTED_MAX))
        return sum(bool(one.held & ~Hold.PARKED) for one in found)
