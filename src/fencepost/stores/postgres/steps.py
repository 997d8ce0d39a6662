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
        rows = await self._database.fetch(QUERIES["recorded"], namespace, run_key)
        if rows:
            await self._database.confirm()
        return {row["name"]: row["result"] for row in rows}

    async def record(self, ticket: Ticket, name: str, result: str) -> str | None:
        key = ticket.namespace, ticket.run_key
        terms = (*key, ticket.attempt, ticket.fence, name, result)
        row = await self._database.fetch_one(QUERIES["record"], *terms)
        assert row is not None
        if not row["owned"]:
            return None
        return str(row["result"] or await self._standing(*key, name))

    async def _standing(self, namespace: Namespace, run_key: RunKey, name: str) -> str:
        """The name was there already: read in a snapshot of its own."""
        standing = await self._database.fetch_value(QUERIES["standing"], namespace, run_key, name)
        await self._database.confirm()
        return str(standing)
