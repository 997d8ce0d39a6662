"""Kept answers in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.answers import Beginning, Begun, InFlight, Mismatch
from fencepost.model.identifiers import Namespace
from fencepost.model.json import canonical
from fencepost.rules.access_rows import to_answered
from fencepost.stores.postgres.connection import Database
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "answers.sql")


class PostgresAnswers:
    """See `ports.answers`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(
        self, namespace: Namespace, principal_id: str, key: str, fingerprint: str, hold_s: float
    ) -> Beginning:
        of = namespace, principal_id, key
        async with self._database.transaction() as session:
            row = await session.fetchrow(QUERIES["enter"], *of, fingerprint)
            assert row is not None
            if row["fingerprint"] != fingerprint:
                return Mismatch()
            if row["status"] is not None:
                return to_answered(row)
            if row["held"]:
                return InFlight()
            await session.fetch(QUERIES["hold"], *of, hold_s)
            return Begun(row["asked_at"], bool(row["again"]))

    async def keep(
        self,
        namespace: Namespace,
        principal_id: str,
        key: str,
        status: int,
        body: bytes,
        headers: Mapping[str, str],
    ) -> None:
        answer = status, body, canonical({**headers})
        await self._database.fetch(QUERIES["keep"], namespace, principal_id, key, *answer)

    async def drop(self, namespace: Namespace, principal_id: str, key: str) -> None:
        await self._database.fetch(QUERIES["hold"], namespace, principal_id, key, 0.0)

    async def sweep(self, kept_s: float, limit: int) -> int:
        return len(await self._database.fetch(QUERIES["sweep"], kept_s, limit))
