"""The store: one place that holds the schedules and their calendars, the ledger of runs, the leases and
the fleet.

A store is one clock and one set of durable rows; the parts below are views of it, each with its own
contract. What holds for all of them:

- Every call is one transaction. It has happened entirely or not at all.
- When a call raises `StoreUnavailable` its outcome is unknown. Each write is therefore safe to repeat:
  it carries a key or a ticket by which the store sees that it has been done.
- Time is the store's own (`now`). No call compares a timestamp made by a node's clock.
- A store holds no policy. Where a decision is needed inside a transaction the caller passes it in as a
  function (see `Judge`).
- Sequences of arguments are bounded by the caller; a store may assume that they fit into one statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fencepost.model.caveat import Caveat
from fencepost.model.clocks import StoreTime
from fencepost.ports.access import AccessRecords
from fencepost.ports.audit_log import AuditLog
from fencepost.ports.backfills import Backfills
from fencepost.ports.calendars import Calendars
from fencepost.ports.epochs import Epochs
from fencepost.ports.freezes import Freezes
from fencepost.ports.gates import Gates
from fencepost.ports.idempotency import IdempotencyKeys
from fencepost.ports.jobs import Jobs
from fencepost.ports.leases import LeaseStore
from fencepost.ports.ledger import Ledger
from fencepost.ports.nodes import Nodes
from fencepost.ports.notifications import Notifications
from fencepost.ports.plans import Plans
from fencepost.ports.rows import Rows
from fencepost.ports.run_logs import RunLogs
from fencepost.ports.schedules import Schedules
from fencepost.ports.signals import Signals
from fencepost.ports.steps import RecordedSteps
from fencepost.ports.transactions import Transactions


class Store(Protocol):
    """An open store."""

    @property
    def caveats(self) -> Sequence[Caveat]:
        """What the store's server, as it is set up, does not promise; a node logs it at its start, and the
        check-up shows it."""
        ...

    @property
    def rows(self) -> Rows:
        """The rows, of which all other parts are made."""
        ...

    @property
    def jobs(self) -> Jobs: ...

    @property
    def schedules(self) -> Schedules: ...

    @property
    def calendars(self) -> Calendars: ...

    @property
    def epochs(self) -> Epochs: ...

    @property
    def plans(self) -> Plans: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def leases(self) -> LeaseStore: ...

    @property
    def nodes(self) -> Nodes: ...

    @property
    def gates(self) -> Gates: ...

    @property
    def freezes(self) -> Freezes: ...

    @property
    def backfills(self) -> Backfills: ...

    @property
    def audit_log(self) -> AuditLog: ...

    @property
    def access(self) -> AccessRecords: ...

    @property
    def answers(self) -> IdempotencyKeys: ...

    @property
    def notifications(self) -> Notifications: ...

    @property
    def steps(self) -> RecordedSteps: ...

    @property
    def run_logs(self) -> RunLogs: ...

    @property
    def transactions(self) -> Transactions: ...

    @property
    def signals(self) -> Signals: ...

    async def examine(self) -> Sequence[Caveat]:
        """What the check-up should know besides `caveats`; finding it may take a while."""
        ...

    async def now(self) -> StoreTime:
        """The store's clock, in UTC."""
        ...

    async def close(self) -> None:
        """Release connections and threads. Closing twice is fine."""
        ...
