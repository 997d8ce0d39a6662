"""Recorded steps in memory."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import RunState, Ticket
from fencepost.stores.memory.part import MemoryPart


class MemorySteps(MemoryPart):
    """See `ports.steps`."""

    async def recorded(self, namespace: Namespace, run_key: RunKey) -> Mapping[str, str]:
        row = self._tables.runs.get((namespace, run_key))
        return {} if row is None else dict(row.steps)

    async def record(self, ticket: Ticket, name: str, result: str) -> str | None:
        row = self._tables.runs.get((ticket.namespace, ticket.run_key))
        if row is None or row.record.state is not RunState.RUNNING or not row.is_of(ticket):
            return None
        return row.steps.setdefault(name, result)
