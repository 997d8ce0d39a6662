"""The parts of the store in memory, put together."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.clock import Clock
from fencepost.model.caveat import Caveat
from fencepost.model.clocks import StoreTime
from fencepost.stores.memory.access import MemoryAccess
from fencepost.stores.memory.answers import MemoryAnswers
from fencepost.stores.memory.audit_log import MemoryAuditLog
from fencepost.stores.memory.backfills import MemoryBackfills
from fencepost.stores.memory.calendars import MemoryCalendars
from fencepost.stores.memory.epochs import MemoryEpochs
from fencepost.stores.memory.freezes import MemoryFreezes
from fencepost.stores.memory.gates import MemoryGates
from fencepost.stores.memory.jobs import MemoryJobs
from fencepost.stores.memory.leases import MemoryLeases
from fencepost.stores.memory.ledger import MemoryLedger
from fencepost.stores.memory.logbook import MemoryLogbook
from fencepost.stores.memory.planbook import MemoryPlanBook
from fencepost.stores.memory.roster import MemoryRoster
from fencepost.stores.memory.schedules import MemorySchedules
from fencepost.stores.memory.signals import MemorySignals
from fencepost.stores.memory.steps import MemorySteps
from fencepost.stores.memory.tables import Tables
from fencepost.stores.memory.transactions import MemoryTransactions


class MemoryStore:
    """One process, one event loop; each call is a transaction because nothing in it awaits."""

    caveats: Sequence[Caveat] = ()

    def __init__(self, clock: Clock, shards: int = 8, tables: Tables | None = None) -> None:
        self.tables = tables or Tables(clock, shards)
        self.signals = MemorySignals()
        self.jobs = MemoryJobs(self.tables)
        self.schedules = MemorySchedules(self.tables, self.signals)
        self.calendars = MemoryCalendars(self.tables, self.signals)
        self.epochs = MemoryEpochs(self.tables, self.signals)
        self.planbook = MemoryPlanBook(self.tables, self.signals)
        self.ledger = MemoryLedger(self.tables, self.signals)
        self.leases = MemoryLeases(self.tables, self.signals)
        self.roster = MemoryRoster(self.tables, self.signals)
        self.gates = MemoryGates(self.tables, self.signals)
        self.freezes = MemoryFreezes(self.tables, self.signals)
        self.backfills = MemoryBackfills(self.tables, self.signals)
        self.audit_log = MemoryAuditLog(self.tables, self.signals)
        self.access = MemoryAccess(self.tables, self.signals)
        self.answers = MemoryAnswers(self.tables, self.signals)
        self.transactions = MemoryTransactions()
        self.steps = MemorySteps(self.tables, self.signals)
        self.logbook = MemoryLogbook(self.tables, self.signals)

    async def now(self) -> StoreTime:
        return self.tables.now()

    async def close(self) -> None:
        return None
