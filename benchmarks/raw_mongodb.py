"""Bare loops of the driver on MongoDB, over our collection of runs with its indexes: write concern majority
with journal, a batch for each call, no transactions."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from pymongo import InsertOne, MongoClient
from pymongo.collection import Collection
from pymongo.write_concern import WriteConcern

from benchmarks.peers.measuring import PAYLOAD, Answer, Meter, Options, batches, main
from fencepost.model.tables import RUNS, RUNS_DUE_DIRECT
from fencepost.stores.mongodb import migrate
from fencepost.stores.mongodb.documents import field_of, filter_of, order_of, to_document

CLAIM = 200
SHARDS = 8
FIELD = field_of(RUNS_DUE_DIRECT)
LANE = RUNS_DUE_DIRECT("default", "default", 2)
IN_ORDER = order_of(LANE, reverse=False)
READY = {"namespace": "default", "state": "ready", "job": "noop", "queue": "default", "priority": 2}


def install(options: Options) -> None:
    asyncio.run(migrate(options.url, shards=SHARDS))


def bulk(options: Options) -> Answer:
    runs, meter = _runs(options), Meter(options)
    for batch in batches(options.count):
        runs.bulk_write([InsertOne(_document(payload)) for payload in batch], ordered=False)
    return meter.read(options.count)


def single(options: Options) -> Answer:
    runs, meter = _runs(options), Meter(options)
    for _ in range(options.count):
        runs.insert_one(_document(PAYLOAD))
    return meter.read(options.count)


def drain(options: Options) -> Answer:
    """Find a batch, mark it as begun, mark it as ended."""
    runs, done, meter = _runs(options), 0, Meter(options)
    while found := list(runs.find(_due(), sort=IN_ORDER, limit=CLAIM)):
        mine: dict[str, Any] = {"_id": {"$in": [run["_id"] for run in found]}}
        begun = {"state": "running", "worker": "loop", "started_at": _now_us()}
        runs.update_many(mine, {"$set": begun, "$inc": {"attempt": 1}, "$unset": {FIELD: ""}})
        assert all(json.loads(run["payload"]) for run in found)
        ended = {"state": "succeeded", "finished_at": _now_us(), FIELD: {"index": "runs_ended"}}
        runs.update_many({**mine, "worker": "loop"}, {"$set": ended})
        done += len(found)
    assert done == options.count, f"{done} of {options.count}"
    return meter.read(options.count)


def _due() -> dict[str, Any]:
    return filter_of(LANE.through(datetime.now(UTC)))


def _document(payload: dict[str, Any]) -> dict[str, Any]:
    now = datetime.now(UTC)
    named = {**READY, "run_key": uuid4().hex, "payload": json.dumps(payload), "run_at": now, "fire_time": now}
    return to_document(RUNS, RUNS.row(named))


def _runs(options: Options) -> Collection[dict[str, Any]]:
    database = MongoClient[dict[str, Any]](options.url).get_default_database()
    return database.get_collection("runs", write_concern=WriteConcern(w="majority", j=True))


def _now_us() -> int:
    return time.time_ns() // 1_000


STEPS = {"install": install, "bulk": bulk, "single": single, "drain": drain}

if __name__ == "__main__":
    main(STEPS)
