"""A whole store of rows: all its parts by the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.model.caveat import Caveat
from fencepost.model.clocks import StoreTime
from fencepost.ports.rows import Rows, Transaction
from fencepost.rules.access import AccessRules
from fencepost.rules.audit_log import AuditLogRules
from fencepost.rules.backfills import BackfillRules
from fencepost.rules.calendars import CalendarRules
from fencepost.rules.claims import ClaimRules
from fencepost.rules.epochs import EpochRules, unique_name
from fencepost.rules.freezes import FreezeRules
from fencepost.rules.gates import GateRules
from fencepost.rules.idempotency import IdempotencyRules
from fencepost.rules.jobs import JobRules
from fencepost.rules.nodes import NodeRules
from fencepost.rules.notifications import NotificationRules
from fencepost.rules.orders import OrderRules
from fencepost.rules.plans import PlanRules
from fencepost.rules.reading import ReadingRules
from fencepost.rules.reports import ReportRules
from fencepost.rules.run_logs import RunLogRules
from fencepost.rules.schedules import ScheduleRules
from fencepost.rules.steps import StepRules
from fencepost.rules.views import ViewRules


class LedgerRules(ClaimRules, ReportRules, OrderRules, ReadingRules, ViewRules):
    """See `ports.ledger`."""


class RuleStore:
    """All parts that are made of rows; a store adds its leases with their watch, its signals, and its
    transactions for jobs and callers."""

    def __init__(self, rows: Rows, unique: Callable[[], str] = unique_name) -> None:
        self.rows = rows
        self.jobs = JobRules(rows)
        self.schedules = ScheduleRules(rows)
        self.calendars = CalendarRules(rows)
        self.epochs = EpochRules(rows, unique)
        self.plans = PlanRules(rows)
        self.ledger = LedgerRules(rows)
        self.nodes = NodeRules(rows)
        self.gates = GateRules(rows)
        self.freezes = FreezeRules(rows)
        self.backfills = BackfillRules(rows)
        self.audit_log = AuditLogRules(rows)
        self.access = AccessRules(rows)
        self.answers = IdempotencyRules(rows)
        self.notifications = NotificationRules(rows)
        self.steps = StepRules(rows)
        self.run_logs = RunLogRules(rows)

    async def examine(self) -> Sequence[Caveat]:
        """The caveats that a check-up finds; none, unless a store can look."""
        return ()

    async def now(self) -> StoreTime:
        """The store's clock."""
        return await self.rows.read(_now)


async def _now(tx: Transaction) -> StoreTime:
    return await tx.now()
