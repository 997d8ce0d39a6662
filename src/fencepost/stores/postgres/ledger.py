"""The ledger in PostgreSQL: every write of a batch is one statement.

A later write of an attempt names its row by key, attempt and fence together, and the rows that the
statement returns say which of them were still owned.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from fencepost.model.clocks import StoreTime
from fencepost.model.rescue import Expired, Sweep, SweepTerms
from fencepost.model.run import STOPPED_ON_REQUEST, Outcome, Pulse, Receipt, Ticket
from fencepost.ports.signals import Topic
from fencepost.rules.checks import Checked, check_outcomes
from fencepost.rules.freezes import mark_left
from fencepost.rules.limits import call_waiting, stamp_running
from fencepost.rules.rows import to_expired
from fencepost.stores.postgres.claims import PostgresClaims
from fencepost.stores.postgres.columns import alike, joined, sparse
from fencepost.stores.postgres.connection import Row, clean
from fencepost.stores.postgres.entries import PostgresEntries
from fencepost.stores.postgres.rows import PostgresRowTransaction
from fencepost.stores.postgres.runs import PostgresRuns
from fencepost.stores.postgres.views import PostgresViews
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "ledger.sql")


class PostgresLedger(PostgresClaims, PostgresEntries, PostgresRuns, PostgresViews):
    """See `ports.ledger`."""

    async def pulse(self, tickets: Sequence[Ticket], alive_for_s: float) -> Sequence[Pulse]:
        columns = _ticket_columns(tickets)
        rows = await self._database.fetch(QUERIES["pulse"], *columns, alive_for_s)
        owned = {row["number"]: row["cancel_requested"] for row in rows}
        return [Pulse(number in owned, owned.get(number, False)) for number in range(len(tickets))]

    async def finish(self, outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
        if not all(outcome.begun and not outcome.snoozed for outcome in outcomes):
            return await super().finish(outcomes)
        check_outcomes(outcomes)
        tickets = [outcome.ticket for outcome in outcomes]
        row = await self._database.fetch_one(
            QUERIES["finish"],
            *_ticket_columns(tickets),
            alike([outcome.state for outcome in outcomes]),
            sparse([clean(outcome.reason) for outcome in outcomes]),
            sparse([clean(outcome.error) for outcome in outcomes]),
            sparse([clean(outcome.detail) for outcome in outcomes]),
            sparse([clean(outcome.output) for outcome in outcomes]),
            sparse([outcome.retry_in_s for outcome in outcomes]),
            STOPPED_ON_REQUEST,
        )
        assert row is not None
        await self._call({tuple(slot) for slot in row["freed"]})
        return await self._receipts(outcomes, frozenset(row["numbers"] or ()))

    async def expired(self, limit: int, terms: SweepTerms) -> Sweep:
        row = await self._database.fetch_one(QUERIES["note_sweep"], terms.gap_max_s)
        if row is None:
            return await super().expired(limit, terms)
        return Sweep(quiet=True) if row["quiet"] else Sweep(tuple(await self._silent(limit, row["now"])))

    async def _silent(self, limit: int, now: StoreTime) -> Sequence[Expired]:
        return to_expired(await self._database.fetch(QUERIES["expired"], limit, now))

    async def unpark(self, limit: int) -> int:
        row = await self._database.fetch_one(QUERIES["unpark"], limit)
        assert row is not None
        called = 0
        if row["left_by_a_freeze"] or row["unstamped"] or row["limited"]:
            called = await self._rows.write(partial(_call_others, limit, row))
        return int(row["unparked"]) + called

    async def forget(self, older_than_s: float, limit: int, dead_older_than_s: float | None = None) -> int:
        return int(
            await self._database.fetch_value(QUERIES["forget"], older_than_s, limit, dead_older_than_s)
        )

    async def _receipts(self, outcomes: Sequence[Outcome], accepted: frozenset[int]) -> Sequence[Receipt]:
        """The rest is ended by the rules: runs that others follow, and what was reported before. That counts
        once it would survive the loss of the primary."""
        left = [number for number in range(len(outcomes)) if number not in accepted]
        found = await super().finish([outcomes[number] for number in left]) if left else ()
        if Receipt.REPEATED in found:
            await self._database.confirm()
        rest = dict(zip(left, found, strict=True))
        return [rest.get(number, Receipt.ACCEPTED) for number in range(len(outcomes))]


async def _call_others(limit: int, found: Row, tx: PostgresRowTransaction) -> int:
    """Those that wait for something else than their turn, where there are any."""
    checked, called = Checked(tx), 0
    if found["left_by_a_freeze"]:
        await mark_left(checked, limit)
    if found["unstamped"]:
        await stamp_running(checked)
    if found["limited"]:
        rows = await tx.fetch(QUERIES["limited_slots"], limit)
        slots = [(row["namespace"], row["job"], row["slot"]) for row in rows]
        called = await call_waiting(checked, limit, slots)
    if called:
        tx.hint(Topic.RUNS)
    return called


def _ticket_columns(tickets: Sequence[Ticket]) -> list[Any]:
    return [
        alike([ticket.namespace for ticket in tickets]),
        joined(ticket.run_key for ticket in tickets),
        alike([ticket.attempt for ticket in tickets]),
        [ticket.fence for ticket in tickets],
    ]
