"""What Django's connection to the ledger's own SQLite file is in a process that has the ledger open."""

from __future__ import annotations

from typing import Any, NoReturn

from django.db.backends.dummy import base

from fencepost.errors import UnfitConnection


def refuse(*args: Any, **options: Any) -> NoReturn:
    """Whatever was asked."""
    raise UnfitConnection(
        "this process has that file open as its ledger, by another copy of the SQLite library, and the two "
        "do not see each other's locks; use run.transaction() in jobs, keep the ledger in a file of its own, "
        "or move to PostgreSQL"
    )


class DatabaseOperations(base.DatabaseOperations):
    """No statement is even built."""

    quote_name = refuse
    compiler = refuse


class DatabaseWrapper(base.DatabaseWrapper):
    """Django loads this by its name."""

    ops_class = DatabaseOperations
    ensure_connection = refuse
    connect = refuse
    cursor = refuse
