"""The audit log in PostgreSQL. Whoever acts writes its entries in the transaction of the action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fencepost.model.audit import Action, Author, Entry, LogFilter
from fencepost.model.identifiers import Namespace
from fencepost.model.json import JsonObject, canonical
from fencepost.rules.desk_rows import to_entry
from fencepost.stores.postgres.connection import Database, clean
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Session

QUERIES = load_queries(__package__, "audit_log.sql")


class Change(NamedTuple):
    """What an action made of one subject."""

    subject: str
    before: JsonObject
    after: JsonObject


async def log(
    session: Session, namespace: Namespace, author: Author | None, action: Action, *changes: Change
) -> None:
    """Write an entry for each change; without an author, none."""
    if author is None or not changes:
        return
    await session.fetch(
        QUERIES["log"],
        namespace,
        clean(author.name),
        clean(author.source),
        clean(author.reason),
        action,
        [change.subject for change in changes],
        [clean(canonical(change.before)) for change in changes],
        [clean(canonical(change.after)) for change in changes],
        author.credential,
    )


class PostgresAuditLog:
    """See `ports.audit_log`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, namespace: Namespace, wanted: LogFilter) -> Sequence[Entry]:
        terms = wanted.action, wanted.author, wanted.since, wanted.until, wanted.before_number, wanted.limit
        if wanted.subject is None:
            rows = await self._database.fetch(QUERIES["list"], namespace, *terms)
        else:
            rows = await self._database.fetch(QUERIES["list_of_subject"], namespace, *terms, wanted.subject)
        return [to_entry(row) for row in rows]

    async def record(
        self, namespace: Namespace, author: Author, action: Action, subject: str, about: JsonObject
    ) -> None:
        async with self._database.transaction() as session:
            await log(session, namespace, author, action, Change(subject, {}, about))
