"""A MongoDB store is set up by `migrate`, and one that is not fit is refused in one line."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from bson import Int64
from pymongo import MongoClient

from fencepost.errors import InvalidSettings, SchemaMismatch, StoreUnavailable
from fencepost.stores.mongodb import migrate, open_store
from tests.leases.mongodb.servers import AloneServer
from tests.servers.fixtures import started
from tests.servers.ports import free_port
from tests.servers.process import Address


@pytest.fixture
def url(mongo_server: Address) -> str:
    """A database that nobody has set up."""
    name = f"schema_{uuid4().hex}"
    with MongoClient[dict[str, Any]](mongo_server.url) as client:
        client.drop_database(name)
    return mongo_server.url.replace("/?", f"/{name}?")


async def test_a_store_that_was_not_set_up_is_refused_with_its_mend(url: str) -> None:
    with pytest.raises(
        SchemaMismatch, match=r"has no schema yet; run: fencepost migrate --store mongodb://.*replicaSet"
    ):
        await open_store(url)


async def test_any_number_of_migrators_may_start_at_once_and_again(url: str) -> None:
    applied = await asyncio.gather(*(migrate(url, shards=4) for _ in range(4)))
    assert any(applied)
    assert await migrate(url, shards=16) == []
    store = await open_store(url)
    assert await store.epochs.shards() == 4
    await store.close()


async def test_a_newer_schema_is_refused(url: str) -> None:
    await migrate(url, shards=8)
    with MongoClient[dict[str, Any]](url) as client:
        client.get_default_database()["meta"].update_one({"name": "schema"}, {"$set": {"value": "99"}})
    for refused in (open_store(url), migrate(url, shards=8)):
        with pytest.raises(SchemaMismatch, match="its schema is 99 and this program knows only"):
            await refused


async def test_a_schema_from_before_the_first_release_is_refused(url: str) -> None:
    await migrate(url, shards=8)
    with MongoClient[dict[str, Any]](url) as client:
        client.get_default_database()["meta"].update_one({"name": "schema"}, {"$set": {"value": "1"}})
    with pytest.raises(SchemaMismatch, match="its schema was never released"):
        await migrate(url, shards=8)


async def test_indexes_of_the_schema_before_are_replaced(url: str) -> None:
    """Also where two migrators begin at once; an index that somebody else made stays."""
    await migrate(url, shards=8)
    with MongoClient[dict[str, Any]](url) as client:
        runs, meta = client.get_default_database()["runs"], client.get_default_database()["meta"]
        declared = runs.index_information().keys()
        runs.drop_indexes()
        for name in ("by_state", "theirs"):
            runs.create_index([(name, 1)], name=name, sparse=True)
        meta.update_one({"name": "schema"}, {"$set": {"value": "2"}})
        with pytest.raises(
            SchemaMismatch, match="its schema is 2 and this program needs 6; run: fencepost mig"
        ):
            await open_store(url)
        applied = await asyncio.gather(*(migrate(url, shards=8) for _ in range(2)))
        steps = ["0002_indexes_in_order", "0003_everyday_use", "0004_notifications", "0005_plain_names"]
        assert steps in applied
        assert runs.index_information().keys() == declared | {"theirs"}
        runs.create_index([("by_state", 1)], name="by_state", sparse=True)  # As after a migration cut off.
        assert await migrate(url, shards=8) == []
        assert runs.index_information().keys() == declared | {"theirs"}
    assert await migrate(url, shards=8) == []
    await (await open_store(url)).close()


async def test_columns_of_runs_have_their_new_names_and_keep_their_values(url: str) -> None:
    await migrate(url, shards=8)
    old = {"_id": {"namespace": "default", "run_key": "a#1"}, "met": "a#0", "begun_at": Int64(1), "spent": 2}
    with MongoClient[dict[str, Any]](url) as client:
        database = client.get_default_database()
        database["runs"].insert_one(old)
        database["meta"].update_one({"name": "schema"}, {"$set": {"value": "5"}})
        assert await migrate(url, shards=8) == ["0005_plain_names"]
        found = database["runs"].find_one({}, {"_id": False})
    assert found == {"blocked_by": "a#0", "first_started_at": 1, "attempts_before_replay": 2}


async def test_a_server_that_stands_alone_is_refused_with_its_mend() -> None:
    with started(AloneServer) as server:
        url = server.url.partition("?")[0]
        for refused in (open_store(url), migrate(url, shards=8)):
            with pytest.raises(InvalidSettings, match=r"store .*stands alone.*--replSet NAME"):
                await refused


async def test_a_server_that_is_not_there_is_told_in_one_line() -> None:
    with pytest.raises(StoreUnavailable, match="is the server running"):
        await open_store(f"mongodb://127.0.0.1:{free_port()}/shop?replicaSet=rs0")


async def test_what_would_weaken_the_store_is_refused() -> None:
    with pytest.raises(InvalidSettings, match="w=1 would weaken the store"):
        await open_store("mongodb://127.0.0.1/shop?w=1")
