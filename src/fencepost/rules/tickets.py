"""Which attempt a run belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.run import Ticket
from fencepost.model.table import Keys, Row
from fencepost.model.tables import RUNS
from fencepost.ports.rows import Transaction
from fencepost.rules.rows import to_ticket
from fencepost.rules.runs import RUNNING


def is_of(run: Row, ticket: Ticket) -> bool:
    """Whether the ticket's attempt is the run's latest, and the run was not taken from it."""
    return to_ticket(run) == ticket


def is_owned(run: Row, ticket: Ticket) -> bool:
    """Whether the ticket's attempt is under way."""
    return run["state"] == RUNNING and is_of(run, ticket)


async def lock_owned(tx: Transaction, ticket: Ticket) -> Row | None:
    """The run of an attempt that is under way, locked."""
    runs = await tx.lock(keys_of([ticket]))
    return runs[0] if runs and is_owned(runs[0], ticket) else None


def keys_of(tickets: Sequence[Ticket]) -> Keys:
    """The runs of these tickets."""
    return RUNS.among((one.namespace, one.run_key) for one in tickets)
