"""Kept answers in SQLite."""

from __future__ import annotations

from collections.abc import Mapping

import apsw

from fencepost.model.answers import Beginning, Begun, InFlight, Mismatch
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace
from fencepost.model.json import canonical
from fencepost.stores.access_rows import to_answered
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import fetch, span_us, to_us

QUERIES = load_queries("fencepost.stores.sqlite", "answers.sql")


class SqliteAnswers:
    """See `ports.answers`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(
        self, namespace: Namespace, principal_id: str, key: str, fingerprint: str, hold_s: float
    ) -> Beginning:
        of = {"namespace": namespace, "principal_id": principal_id, "key": key}

        def work(connection: apsw.Connection, now: StoreTime) -> Beginning:
            terms = {**of, "now": to_us(now)}
            connection.execute(QUERIES["enter"], {**terms, "fingerprint": fingerprint})
            (row,) = fetch(connection.execute(QUERIES["get"], terms))
            if row["fingerprint"] != fingerprint:
                return Mismatch()
            if row["status"] is not None:
                return to_answered(row)
            if row["held"]:
                return InFlight()
            connection.execute(QUERIES["hold"], {**of, "until": to_us(now) + span_us(hold_s)})
            return Begun(row["asked_at"], bool(row["again"]))

        return await self._database.transact(work)

    async def keep(
        self,
        namespace: Namespace,
        principal_id: str,
        key: str,
        status: int,
        body: bytes,
        headers: Mapping[str, str],
    ) -> None:
        of = {"namespace": namespace, "principal_id": principal_id, "key": key}
        answer = {"status": status, "body": body, "headers": canonical({**headers})}

        def work(connection: apsw.Connection, _: StoreTime) -> None:
            connection.execute(QUERIES["keep"], {**of, **answer})

        await self._database.transact(work)

    async def drop(self, namespace: Namespace, principal_id: str, key: str) -> None:
        of = {"namespace": namespace, "principal_id": principal_id, "key": key}

        def work(connection: apsw.Connection, now: StoreTime) -> None:
            connection.execute(QUERIES["hold"], {**of, "until": to_us(now)})

        await self._database.transact(work)

    async def sweep(self, kept_s: float, limit: int) -> int:
        def work(connection: apsw.Connection, now: StoreTime) -> int:
            terms = {"border": to_us(now) - span_us(kept_s), "limit": limit}
            return len(fetch(connection.execute(QUERIES["sweep"], terms)))

        return await self._database.transact(work)
