"""Backfills: ranges of fire times to be run after the fact.

A backfill is a durable row that knows how far its range has been written. The backfiller computes the next
fire times and writes them together with the new mark. The mark is compared, so that a crash, or two
backfillers at once, write nothing twice. The runs of a backfill, replayed ones included, have origin
`backfill`, the lowest priority and its id, and wait for each other as its `at_once_max` says. With `every_s`
each run is due that much later than the one before it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from fencepost.model.audit import Author
from fencepost.model.backfill import Backfill, FillTick, NewBackfill
from fencepost.model.identifiers import Namespace


class Backfills(Protocol):
    """The backfills of a store."""

    async def start(self, namespace: Namespace, request: NewBackfill, author: Author) -> Backfill | None:
        """Write a new, active backfill, filled through `since`; None where there is no such schedule.
        Listeners for `schedules` are told."""
        ...

    async def fill(
        self, backfill: Backfill, ticks: Sequence[FillTick], through: datetime, author: Author
    ) -> int | None:
        """Write the runs of these fire times and move the mark to `through`; when that is the end of the
        range, the backfill is `filled`. Returns how many runs it wrote or replayed; None where the mark
        was not the backfill's any more or it is not active, and then nothing changed.

        The ledger cannot say whether a fire time that retention may have forgotten (before
        `forgotten_before`) ran: it is left alone, except under `ALL`. A fire time that has no run, or
        withdrawn ones only, gets one under the key of the tick's version; where that very key was withdrawn,
        its row is made ready again. One inside a missed range is left alone under `MISSING`; under the other
        modes it gets its run and the range counts one less. A fire time with a run that has ended otherwise
        is left alone under `MISSING`; under `MISSED` its latest run is replayed (see `Ledger.replay`) if it
        is missed or skipped, under `ALL` if it has ended at all. Listeners for `runs` are told.
        """
        ...

    async def cancel(self, namespace: Namespace, backfill_id: int, author: Author) -> Backfill | None:
        """Stop an active or filled backfill: its runs that no worker has begun become `missed`, those that
        wait for their next attempt `cancelled`, and running ones finish. None where there is none of that id;
        a backfill that is cancelled already stays so, without a second entry."""
        ...

    async def get(self, namespace: Namespace, backfill_id: int) -> Backfill | None: ...

    async def list(
        self, namespace: Namespace, limit: int, before_id: int | None = None
    ) -> Sequence[Backfill]:
        """Backfills, the latest first; `before_id` goes on from the last one of an earlier page."""
        ...

    async def active(self, limit: int, without: Collection[Namespace] = ()) -> Sequence[Backfill]:
        """Backfills of all namespaces, but for those `without`, that are not filled yet, oldest first."""
        ...
