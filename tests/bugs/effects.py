"""Bugs in what holds a job's own writes and the ledger's together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

from fencepost.model.run import Outcome, RunState, Ticket
from fencepost.model.table import Row
from fencepost.services.heartbeat import Heartbeat
from fencepost.services.run_context import LedgerRunContext, Settlement
from fencepost.stores.borrowed.store import Borrowed
from fencepost.stores.postgres import transactions as postgres_transactions
from fencepost.stores.postgres.transactions import PostgresTransactions
from fencepost.stores.sqlite import transactions as sqlite_transactions
from fencepost.stores.sqlite.guest import QUERIES, Guest
from tests.bugs.bug import Planted, bug

TOGETHER = "tests/transactions/test_together.py"
LEDGERS = "tests/transactions/test_ledger_transactions.py"
SETTLEMENT = "tests/transactions/test_settlement.py"


@bug(
    "the marker and the job's writes are one commit",
    f"{TOGETHER}::test_no_row_is_there_where_its_marker_cannot_be[sqlite]",
)
def marker_in_a_transaction_of_its_own_on_sqlite() -> Planted:
    """The worker dies between the two, and the run is done once more."""
    commit = Guest._commit

    def twice(self: Any, last: Any) -> None:
        commit(self, lambda connection: None)
        self.connection.execute(QUERIES["begin_write"])
        commit(self, last)

    return patch.object(Guest, "_commit", twice)


@bug(
    "the marker is written by the transaction that it speaks of",
    f"{TOGETHER}::test_no_row_is_there_where_its_marker_cannot_be[postgres]",
)
def marker_in_a_transaction_of_its_own_on_postgres() -> Planted:
    """The job's writes are committed, and then the worker reports as it does for any other job."""
    begin = PostgresTransactions.begin

    @asynccontextmanager
    async def apart(self: Any, ticket: Any, *, complete: bool, idle_max_s: float) -> AsyncIterator[Any]:
        async with begin(self, ticket, complete=False, idle_max_s=idle_max_s) as transaction:
            yield transaction
        if complete:
            async with begin(self, ticket, complete=True, idle_max_s=idle_max_s):
                pass

    return patch.object(PostgresTransactions, "begin", apart)


@bug(
    "a transaction compares the fence before it begins",
    f"{LEDGERS}::test_an_attempt_that_lost_its_run_does_not_even_begin[sqlite]",
)
def transaction_without_a_fence() -> Planted:
    """A worker wakes up, and writes and commits beside its successor."""

    async def blind(tx: Any, ticket: Ticket) -> Row:
        return {}

    return patch.object(sqlite_transactions, "lock_owned", blind)


@bug(
    "a fence that is compared without a lock is none",
    f"{LEDGERS}::test_a_run_in_its_transaction_is_not_rescued_and_does_not_stop_other_heartbeats",
)
def transaction_without_a_lock_on_its_run() -> Planted:
    """The ticket was good when the transaction began; when it ends, the run is another's."""
    text = postgres_transactions.QUERIES["lock_run"]
    assert "FOR UPDATE" in text
    return patch.dict(postgres_transactions.QUERIES, {"lock_run": text.replace("FOR UPDATE", "")})


@bug(
    "only the commit says that it succeeded",
    f"{SETTLEMENT}::test_a_return_after_a_rolled_back_marker_is_no_success[sqlite]",
)
def success_reported_though_the_caller_rolled_back() -> Planted:
    """The function returned, the worker reports success, and the rows were never there."""
    complete_in = LedgerRunContext.complete_in

    def hasty(self: Any, connection: object, result: object) -> Any:
        done = complete_in(self, connection, result)
        self.settlement = Settlement.OPEN
        return done

    return patch.object(LedgerRunContext, "complete_in", hasty)


@bug(
    "a marker that the ledger does not take is an error",
    "tests/transactions/test_own_transactions.py::test_an_attempt_that_lost_its_run_is_refused[apsw-on-sqlite]",
)
def refused_marker_passed_over() -> Planted:
    """A worker that lost its run is not told, and commits its rows without a marker."""

    async def complete(self: Any, ticket: Any, output: str | None = None, **options: Any) -> None:
        await self.ledger.finish([Outcome(ticket, RunState.SUCCEEDED, output=output)])

    return patch.object(Borrowed, "complete", complete)


@bug(
    "a run that its own transaction ended is not lost",
    f"{SETTLEMENT}::test_a_heartbeat_does_not_stop_a_run_whose_transaction_has_committed[sqlite-its-own]",
)
def heartbeat_stops_who_has_committed() -> Planted:
    """The run is nobody's any more, because it has succeeded, and its function is cancelled for that."""
    heed = Heartbeat._heed

    def deaf(self: Any, one: Any, pulse: Any) -> None:
        if one.run_context is None:
            heed(self, one, pulse)
            return
        settlement, one.run_context.settlement = one.run_context.settlement, Settlement.OPEN
        heed(self, one, pulse)
        one.run_context.settlement = settlement

    return patch.object(Heartbeat, "_heed", deaf)
