"""The audit log in SQLite: `note` is called by the actions themselves, inside their transactions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import apsw

from fencepost.model.audit import Action, Author, Entry, LogFilter
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace
from fencepost.model.json import JsonObject, canonical
from fencepost.stores.desk_rows import to_entry
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import ALWAYS_US, fetch, to_us

QUERIES = load_queries("fencepost.stores.sqlite", "audit_log.sql")


class SqliteAuditLog:
    """See `ports.audit_log`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, namespace: Namespace, wanted: LogFilter) -> Sequence[Entry]:
        return await self._database.read(partial(_list, namespace, wanted))

    async def record(
        self, namespace: Namespace, author: Author, action: Action, subject: str, about: JsonObject
    ) -> None:
        def write(connection: apsw.Connection, now: StoreTime) -> None:
            note(connection, now, namespace, author, action, subject, {}, about)

        await self._database.transact(write)


def note(
    connection: apsw.Connection,
    now: StoreTime,
    namespace: Namespace,
    author: Author | None,
    action: Action,
    subject: str,
    before: JsonObject,
    after: JsonObject,
) -> None:
    """Write an entry about something that somebody changed."""
    if author is None:
        return
    terms = {
        "namespace": namespace,
        "at": to_us(now),
        "author": author.name,
        "source": author.source,
        "reason": author.reason,
        "credential": author.credential,
        "action": action,
        "subject": subject,
        "before": canonical(before),
        "after": canonical(after),
    }
    connection.execute(QUERIES["write"], terms)


def _list(
    namespace: Namespace, wanted: LogFilter, connection: apsw.Connection, _: StoreTime
) -> Sequence[Entry]:
    terms = {
        "namespace": namespace,
        "action": wanted.action,
        "author": wanted.author,
        "since": -ALWAYS_US if wanted.since is None else to_us(wanted.since),
        "until": ALWAYS_US if wanted.until is None else to_us(wanted.until),
        "before_number": ALWAYS_US if wanted.before_number is None else wanted.before_number,
        "limit": wanted.limit,
    }
    if wanted.subject is None:
        cursor = connection.execute(QUERIES["list"], terms)
    else:
        cursor = connection.execute(QUERIES["list_of_subject"], {**terms, "subject": wanted.subject})
    return [to_entry(row) for row in fetch(cursor)]
