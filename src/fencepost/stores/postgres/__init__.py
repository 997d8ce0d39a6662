"""The PostgreSQL store: for a fleet. Needs PostgreSQL 13 or newer and the extra `postgres`."""

from __future__ import annotations

from fencepost.errors import MissingExtra

try:
    from fencepost.stores.postgres.migrations import migrate
    from fencepost.stores.postgres.store import PostgresStore, open_store
except ModuleNotFoundError as error:
    if error.name != "asyncpg":
        raise
    raise MissingExtra(
        "a store on PostgreSQL needs a driver; run: pip install 'fencepost[postgres]'"
    ) from error

__all__ = ["PostgresStore", "migrate", "open_store"]
