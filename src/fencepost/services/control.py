"""Control: what an operator, an application or a page may do with a store.

Every call checks first and writes once. A refusal is one line that says what was wrong, where, and the fix.
What a call changes is recorded in the author's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.config import Settings
from fencepost.core.access import kept_to
from fencepost.core.fair_share import Allowance
from fencepost.core.serving import Unserved
from fencepost.model.access import Principal
from fencepost.model.audit import Action, Author, Entry, LogFilter
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.freeze import Freeze
from fencepost.model.gate import ClosedGate
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import JobSpec
from fencepost.model.run import RunState
from fencepost.model.status import QueueDepth
from fencepost.ports.store import Store
from fencepost.services.calendars import CalendarVerbs
from fencepost.services.fleet import FleetView, LeaseReader, look
from fencepost.services.offload import Offload, inline
from fencepost.services.quotas import RunQuota
from fencepost.services.serving import unserved
from fencepost.services.verbs.access import AccessVerbs
from fencepost.services.verbs.backfills import BackfillVerbs
from fencepost.services.verbs.runs import RunVerbs, known_job, new_run
from fencepost.services.verbs.schedules import ScheduleVerbs
from fencepost.services.verbs.verbs import PROGRAM

__all__ = [
    "PROGRAM",
    "Control",
    "RunVerbs",
    "ScheduleVerbs",
    "Status",
    "known_job",
    "new_run",
]

ENQUEUE_BATCH_MAX = 1_000
COMPLETENESS_WINDOW_S = 24 * 3600.0
COUNTED_MAX = 1_000


@dataclass(frozen=True)
class Status:
    """The state of a namespace at one moment; `dead` and `held` are runs that wait for a person, counted up
    to `COUNTED_MAX`."""

    fleet: FleetView
    queue: QueueDepth
    tally: Mapping[RunState, int]
    freezes: Sequence[Freeze]
    gates: Sequence[ClosedGate]
    dead: int
    held: int
    unserved: Sequence[Unserved] = ()


class Control:
    """The calls of one namespace, in one author's name. `leases` is where leases live, if that is not the
    store itself; they are only read. For a call that may be repeated, `idempotency_key` is its own key,
    `requested_at` is when it was first made, and `repeated` says that it was begun before and may have been
    carried out. `principal` is the caller that came over HTTP. Searches in what a caller has chosen take
    `offload`; those in the schedules that are there take `offload_short`. A server gives `enqueues`: it
    counts all runs that calls make, and refuses those beyond the quota."""

    def __init__(
        self,
        store: Store,
        namespace: Namespace,
        author: Author = PROGRAM,
        leases: LeaseReader | None = None,
        settings: Settings | None = None,
        requested_at: StoreTime | None = None,
        idempotency_key: str | None = None,
        principal: Principal | None = None,
        offload: Offload = inline,
        offload_short: Offload = inline,
        repeated: bool = False,
        enqueues: Allowance | None = None,
    ) -> None:
        self.store = store
        self.settings = Settings() if settings is None else settings
        self.requested_at = requested_at
        self.idempotency_key = idempotency_key
        self.repeated = repeated
        self.principal = principal
        self.leases: LeaseReader = store.leases if leases is None else leases
        self.namespace = namespace
        self.author = author
        self.offload = offload
        self.offload_short = offload_short
        quotas = self.settings.quotas(namespace)
        self.run_quota = RunQuota(namespace, quotas, enqueues)
        self.schedules = ScheduleVerbs(store, namespace, author, offload, quotas, self.run_quota)
        self.runs = RunVerbs(store, namespace, author, run_quota=self.run_quota)
        self.calendars = CalendarVerbs(store, namespace, author)
        self.backfills = BackfillVerbs(store, namespace, author, offload, run_quota=self.run_quota)
        self.kept_to = kept_to(principal)
        """The namespace whose part of the fleet is shown; None: all of it."""
        self.access = AccessVerbs(store, namespace, author, principal)

    async def jobs(self) -> Mapping[JobName, JobSpec]:
        """All registered jobs."""
        return await self.store.jobs.all(self.namespace)

    async def log(self, wanted: LogFilter) -> Sequence[Entry]:
        """What people did, newest first."""
        return await self.store.audit_log.list(self.namespace, wanted)

    async def done_before(self, action: Action, subject: str) -> Entry | None:
        """What the author did of that since this call was first made, where the call is repeated because its
        answer was lost. None where nothing was done, and for a call that is made for the first time."""
        if not self.repeated:
            return None
        by = self.author.credential or self.author.name
        return next(
            iter(await self.log(LogFilter(subject, action, by, since=self.requested_at, limit=1))), None
        )

    async def status(self, skew_warning_s: float = Settings.skew_warning_s) -> Status:
        """Shards, nodes, queue, how the ticks of the last day stand, and what waits for a person."""
        attention = await self.store.ledger.attention(self.namespace, COUNTED_MAX)
        return Status(
            fleet=await look(self.store, self.leases, skew_warning_s, self.kept_to),
            queue=await self.store.ledger.depth(self.namespace),
            tally=await self.store.ledger.tally(self.namespace, COMPLETENESS_WINDOW_S),
            freezes=await self.store.freezes.all(self.namespace),
            gates=await self.store.gates.closed(self.namespace),
            dead=attention.dead,
            held=attention.held,
            unserved=await unserved(self.store, self.namespace),
        )
