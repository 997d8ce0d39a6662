"""The audit log in PostgreSQL: the server searches through all of it, everything else is by the rules."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.audit import Entry, LogFilter
from fencepost.model.identifiers import Namespace
from fencepost.rules.audit_log import AuditLogRules
from fencepost.rules.desk_rows import to_entry
from fencepost.stores.postgres.connection import Database, clean
from fencepost.stores.postgres.rows import PostgresRows
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "audit_log.sql")


class PostgresAuditLog(AuditLogRules):
    """See `ports.audit_log`."""

    def __init__(self, rows: PostgresRows, database: Database) -> None:
        super().__init__(rows)
        self._database = database

    async def list(self, namespace: Namespace, wanted: LogFilter) -> Sequence[Entry]:
        if wanted.subject is not None:
            return await super().list(namespace, wanted)
        author = clean(wanted.author)
        terms = wanted.action, author, wanted.since, wanted.until, wanted.before_number, wanted.limit
        return [to_entry(row) for row in await self._database.fetch(QUERIES["list"], namespace, *terms)]
