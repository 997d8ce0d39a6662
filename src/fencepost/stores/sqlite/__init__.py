"""The store on SQLite: one file, several processes of one host, nothing to set up."""

from __future__ import annotations

from fencepost.stores.sqlite.store import SqliteStore, migrate, open_store

__all__ = ["SqliteStore", "migrate", "open_store"]
