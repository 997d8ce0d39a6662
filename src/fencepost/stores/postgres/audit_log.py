"""The audit log in PostgreSQL: the server searches through all of it, everything else is by the rules."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.audit import Entry, LogFilter
from fencepost.model.identifiers import Namespace
from fencepost.rules.audit_log import AuditLogRules, to_entry
from fencepost.stores.postgres.connection import clean
from fencepost.stores.postgres.part import Accelerated
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "audit_log.sql")


class PostgresAuditLog(Accelerated, AuditLogRules):
    """See `ports.audit_log`."""

    async def list(self, namespace: Namespace, wanted: LogFilter) -> Sequence[Entry]:
        if wanted.subject is not None:
            return await super().list(namespace, wanted)
        author = clean(wanted.author)
        terms = wanted.action, author, wanted.since, wanted.until, wanted.before_number, wanted.limit
        return [to_entry(row) for row in await self._database.fetch(QUERIES["list"], namespace, *terms)]
