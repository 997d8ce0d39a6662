"""Recorded steps in SQLite."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import Ticket
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import to_us
from fencepost.stores.sqlite.reports import is_owned

QUERIES = load_queries("fencepost.stores.sqlite", "steps.sql")


class SqliteSteps:
    """See `ports.steps`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def recorded(self, namespace: Namespace, run_key: RunKey) -> Mapping[str, str]:
        return await self._database.read(partial(_recorded, namespace, run_key))

    async def record(self, ticket: Ticket, name: str, result: str) -> str | None:
        return await self._database.transact(partial(_record, ticket, name, result))


def _recorded(
    namespace: Namespace, run_key: RunKey, connection: apsw.Connection, _: StoreTime
) -> Mapping[str, str]:
    return dict(connection.execute(QUERIES["recorded"], {"namespace": namespace, "run_key": run_key}))


def _record(
    ticket: Ticket, name: str, result: str, connection: apsw.Connection, now: StoreTime
) -> str | None:
    """The ticket is compared under the write lock, which nobody else has until the commit."""
    if not is_owned(ticket, connection):
        return None
    step = {"namespace": ticket.namespace, "run_key": ticket.run_key, "name": name}
    written = {"result": result, "attempt": ticket.attempt, "now": to_us(now)}
    connection.execute(QUERIES["record"], {**step, **written})
    return str(connection.execute(QUERIES["standing"], step).get)
