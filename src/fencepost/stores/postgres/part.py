"""What every accelerated part of the ledger stands on."""

from __future__ import annotations

from fencepost.rules.store import LedgerRules
from fencepost.stores.postgres.connection import Database
from fencepost.stores.postgres.rows import PostgresRows


class PostgresPart(LedgerRules):
    """The ledger by the rules; each part replaces verbs for which one statement pays."""

    _rows: PostgresRows

    def __init__(self, rows: PostgresRows, database: Database) -> None:
        super().__init__(rows)
        self._database = database
