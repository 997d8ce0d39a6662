"""The MongoDB store keeps every contract."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.write_concern import WriteConcern

from fencepost.model.clocks import StoreTime
from fencepost.stores.mongodb import migrate, open_store
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.whole import StoreConformance
from tests.conformance.clocked import START, ClockHarness
from tests.servers.mongodb import MongoServer


@pytest.fixture(scope="module")
def server() -> Iterator[MongoServer]:
    opened = MongoServer()
    yield opened
    opened.close()


@pytest.fixture
async def harness(server: MongoServer) -> AsyncIterator[StoreHarness]:
    clock = VirtualClock(START)

    async def now() -> StoreTime:
        return StoreTime(clock.wall())

    url = server.url.replace("/?", "/fencepost?")
    await migrate(url, shards=8)
    store = await open_store(url, now=now)
    yield ClockHarness(store, clock)
    await store.close()
    empty(url)


def empty(url: str) -> None:
    """Leave the store as it was set up. The last write is waited for, and with it all before."""
    with MongoClient[dict[str, Any]](url) as client:
        database = client.get_default_database()
        for name in set(database.list_collection_names()) - {"meta"}:
            database.get_collection(name, write_concern=WriteConcern(w=1)).delete_many({})
        meta = database.get_collection("meta", write_concern=WriteConcern(w="majority"))
        meta.delete_many({"name": {"$nin": ["shards", "incarnation", "schema"]}})
        meta.update_one({"name": "shards"}, {"$set": {"value": "8"}})


class TestMongoStore(StoreConformance):
    """See `StoreConformance`."""
