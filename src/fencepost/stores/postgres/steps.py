"""Recorded steps in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import Ticket
from fencepost.rules.steps import StepRules
from fencepost.stores.postgres.part import Accelerated
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "steps.sql")


class PostgresSteps(Accelerated, StepRules):
    """See `ports.steps`."""

    async def recorded(self, namespace: Namespace, run_key: RunKey) -> Mapping[str, str]:
        """What is found is taken for done, so it has to survive the loss of the primary."""
        found = await super().recorded(namespace, run_key)
        if found:
            await self._database.confirm()
        return found

    async def record(self, ticket: Ticket, name: str, result: str) -> str | None:
        key = ticket.namespace, ticket.run_key
        terms = (*key, ticket.attempt, ticket.fence, name, result)
        row = await self._database.fetch_one(QUERIES["record"], *terms)
        assert row is not None
        if not row["owned"]:
            return None
        # Where the name was there already, it is read in a snapshot of its own.
        return str(row["result"] or (await self.recorded(*key))[name])
