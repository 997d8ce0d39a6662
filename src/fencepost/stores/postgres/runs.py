"""What people read of the ledger in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import RunFilter, RunList, RunRecord, RunState
from fencepost.model.status import QueueView
from fencepost.rules.rows import to_queue_view, to_run_record
from fencepost.stores.postgres.part import PostgresPart
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "runs.sql")
NARROW = ("of_backfill", "of_schedule", "held", "unended", "of_state")
_terms = attrgetter("state", "origin", "error", "backfill_id", "held", "schedule_id", "limit", "searched_max")
UNENDED = frozenset({RunState.PLANNED, RunState.READY, RunState.RUNNING})


class PostgresRuns(PostgresPart):
    """The reading part of `ports.ledger`."""

    async def get(self, namespace: Namespace, run_key: RunKey) -> RunRecord | None:
        row = await self._database.fetch_one(QUERIES["get"], namespace, run_key)
        return None if row is None else to_run_record(row)

    async def list(self, namespace: Namespace, filter: RunFilter) -> RunList:
        after, after_key = filter.after or (None, None)
        until = filter.until
        if after is not None and not after_key:
            # No key is before the empty one: all of that fire time has been searched.
            until = min(after, until or after)
        rows = await self._database.fetch(
            QUERIES[_narrowest(filter)],
            namespace,
            *(filter.job, filter.since, until),
            *_terms(filter),
            *(after, after_key, filter.text, filter.worker, filter.queue, list(filter.states) or None),
        )
        searched_to = rows[0]["searched_to"]
        place = None if searched_to is None else (searched_to, RunKey(""))
        return RunList([to_run_record(row) for row in rows if row["run_key"] is not None], place)

    async def queues(self, namespace: Namespace) -> Sequence[QueueView]:
        rows = await self._database.fetch(QUERIES["queues"], namespace)
        return [to_queue_view(row) for row in rows]


def _narrowest(filter: RunFilter) -> str:
    """Which of the indexes has the fewest rows beside those that are asked for."""
    states = {*filter.states, *([filter.state] if filter.state else [])}
    fits = (
        filter.backfill_id is not None,
        filter.schedule_id is not None,
        bool(filter.held),
        bool(states) and states <= UNENDED,
        filter.state is not None and filter.state not in UNENDED,
    )
    return next((name for name, fit in zip(NARROW, fits, strict=True) if fit), "all")
