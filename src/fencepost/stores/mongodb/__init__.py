"""The MongoDB store: for a fleet on a replica set. Needs MongoDB 6 or newer and the extra `mongodb`."""

from __future__ import annotations

from fencepost.errors import MissingExtra

try:
    from fencepost.stores.mongodb.migrations import migrate
    from fencepost.stores.mongodb.store import MongoStore, open_store
except ModuleNotFoundError as error:
    if error.name not in {"pymongo", "bson"}:
        raise
    raise MissingExtra("a store on MongoDB needs a driver; run: pip install 'fencepost[mongodb]'") from error

__all__ = ["MongoStore", "migrate", "open_store"]
