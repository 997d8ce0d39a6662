"""What an operation is carried out with: the store, the namespace, and who asks for it.

A verb checks first and writes once. A refusal is one line that says what was wrong, where, and the remedy.
The audit log has every change in the name of the author.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.config import Settings
from fencepost.core.access import kept_to
from fencepost.core.fair_share import Allowance
from fencepost.model.access import Principal
from fencepost.model.audit import PROGRAM, Action, Author, Entry, LogFilter
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import JobSpec
from fencepost.model.schedule import Schedule, ScheduleVersion
from fencepost.ports.store import Store
from fencepost.services.fleet import LeaseReader
from fencepost.services.lookups import find_schedule, versions_of
from fencepost.services.offload import Offload, inline
from fencepost.services.quotas import RunQuota


class Control:
    """The context of the operations of one namespace, in one author's name.

    `leases` is where leases live, where that is not the store itself; they are only looked at. `principal` is
    who came over HTTP. Of a call that may be repeated `idempotency_key` is its own key and `requested_at`
    when it was first made; `repeated`: it was begun before, and may have been carried out. A search of the
    caller's choice is made `offload`; one over the schedules that every reader looks at takes
    `offload_short`. A server gives `enqueues`: all runs that a verb makes count, and are refused beyond the
    quota."""

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
        self.quotas = self.settings.quotas(namespace)
        self.run_quota = RunQuota(namespace, self.quotas, enqueues)
        self.kept_to = kept_to(principal)
        """The namespace whose part of the fleet is shown; None: all of it."""

    async def jobs(self) -> Mapping[JobName, JobSpec]:
        """All registered jobs."""
        return await self.store.jobs.all(self.namespace)

    async def schedule(self, schedule_id: str) -> Schedule:
        """The schedule, or a refusal that names near ones."""
        return await find_schedule(self.store, self.namespace, schedule_id)

    async def versions(
        self, schedule_id: str, *, after: int = 0, limit: int | None = None
    ) -> Sequence[ScheduleVersion]:
        """Its versions after that one, at most `limit`, the oldest first; also of a removed schedule."""
        return await versions_of(self.store, self.namespace, schedule_id, after=after, limit=limit)

    async def log(self, wanted: LogFilter) -> Sequence[Entry]:
        """What people did, newest first."""
        return await self.store.audit_log.list(self.namespace, wanted)

    async def done_before(self, action: Action, subject: str) -> Entry | None:
        """What the author did of that since this call was first made, where it is made again because its
        answer was lost; None where nothing was, and of a call that is made for the first time."""
        if not self.repeated:
            return None
        by = self.author.credential or self.author.name
        wanted = LogFilter(subject, action, by, since=self.requested_at, limit=1)
        return next(iter(await self.log(wanted)), None)

    def because(self, what: str) -> str:
        """What happened, with the author's own reason behind it."""
        return f"{what}: {self.author.reason}" if self.author.reason else what
