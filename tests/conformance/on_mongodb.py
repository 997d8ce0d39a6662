"""The MongoDB store under the contracts' clock."""

from typing import Any

from pymongo import MongoClient
from pymongo.write_concern import WriteConcern

from fencepost.model.clocks import StoreTime
from fencepost.stores import mongodb
from fencepost.testing.clock import VirtualClock
from tests.conformance.clocked import START, ClockHarness

SHARDS = 8
KEPT = ("shards", "incarnation", "schema")


async def open_mongodb(url: str, *, by_server: bool = False) -> ClockHarness:
    """A store that is set up where it is not yet; what a test before left there is removed. Its clock stands
    still, or is the server's."""
    await mongodb.migrate(url, shards=SHARDS)
    empty(url)
    clock = VirtualClock(START)

    async def now() -> StoreTime:
        return StoreTime(clock.wall())

    store = await mongodb.open_store(url, now=None if by_server else now)
    return ClockHarness(store, clock, SHARDS)


def empty(url: str) -> None:
    """The last write is waited for, and with it all before."""
    with MongoClient[dict[str, Any]](url) as client:
        database = client.get_default_database()
        for name in set(database.list_collection_names()) - {"meta"}:
            database.get_collection(name, write_concern=WriteConcern(w=1)).delete_many({})
        meta = database.get_collection("meta", write_concern=WriteConcern(w="majority"))
        meta.delete_many({"name": {"$nin": KEPT}})
        meta.update_one({"name": "shards"}, {"$set": {"value": str(SHARDS)}})
