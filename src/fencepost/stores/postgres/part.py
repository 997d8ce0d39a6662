"""What every accelerated part of the store stands on."""

from __future__ import annotations

from fencepost.rules.part import Part
from fencepost.rules.store import LedgerRules
from fencepost.stores.postgres.connection import Database
from fencepost.stores.postgres.rows import PostgresRows


class Accelerated(Part):
    """A part by the rules that replaces verbs for which one statement pays."""

    _rows: PostgresRows

    @property
    def _database(self) -> Database:
        return self._rows.database


class PostgresPart(Accelerated, LedgerRules):
    """The ledger, to be accelerated."""
