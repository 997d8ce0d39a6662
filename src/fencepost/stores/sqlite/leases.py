"""Leases in SQLite."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import apsw

from fencepost.model.clocks import STEP_MIN_S, StoreTime
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Acquisition, Granted, LeaseRecord, Lost, Release, Released, Renewal
from fencepost.ports.signals import Topic
from fencepost.stores.fleet_rows import to_acquisition, to_lease_record
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import fetch, span_us, to_us
from fencepost.stores.sqlite.signals import SqliteSignals

QUERIES = load_queries("fencepost.stores.sqlite", "leases.sql")

STEP_US = span_us(STEP_MIN_S)

Terms: TypeAlias = dict[str, str | int]


class SqliteLeases:
    """See `ports.leases`."""

    caveats: Sequence[str] = ()

    def __init__(self, database: Database, signals: SqliteSignals) -> None:
        self._database = database
        self._signals = signals

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        return await self._database.transact(partial(_acquire, shards, holder, ttl_s))

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        return await self._database.transact(partial(_renew, held, holder, ttl_s))

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        answers = await self._database.transact(partial(_release, held, holder))
        self._signals.hint(Topic.LEASES)
        return answers

    async def read(self) -> Sequence[LeaseRecord]:
        return await self._database.read(_read)

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return await self._signals.listen(Topic.LEASES, callback)

    async def close(self) -> None:
        """The store closes itself."""


def _acquire(
    shards: Sequence[Shard],
    holder: NodeId,
    ttl_s: float,
    connection: apsw.Connection,
    now: StoreTime,
) -> Mapping[Shard, Acquisition]:
    terms = _terms(holder, ttl_s, now)
    connection.executemany(QUERIES["acquire"], [{**terms, "shard": shard} for shard in shards])
    asked = {"holder": holder, "now": to_us(now), "shards": json.dumps(shards)}
    rows = fetch(connection.execute(QUERIES["acquired"], asked))
    return {row["shard"]: to_acquisition(row) for row in rows}


def _renew(
    held: Mapping[Shard, Epoch],
    holder: NodeId,
    ttl_s: float,
    connection: apsw.Connection,
    now: StoreTime,
) -> Mapping[Shard, Renewal]:
    kept = dict(connection.executemany(QUERIES["renew"], _each(held, _terms(holder, ttl_s, now))))
    return {
        shard: Granted(epoch, set_back_s=kept[shard]) if shard in kept else Lost()
        for shard, epoch in held.items()
    }


def _release(
    held: Mapping[Shard, Epoch], holder: NodeId, connection: apsw.Connection, now: StoreTime
) -> Mapping[Shard, Release]:
    terms: Terms = {"holder": holder, "now": to_us(now)}
    freed = {shard for (shard,) in connection.executemany(QUERIES["release"], _each(held, terms))}
    return {shard: Released() if shard in freed else Lost() for shard in held}


def _read(connection: apsw.Connection, now: StoreTime) -> Sequence[LeaseRecord]:
    rows = fetch(connection.execute(QUERIES["read"], {"now": to_us(now), "step_us": STEP_US}))
    return [to_lease_record(row) for row in rows]


def _terms(holder: NodeId, ttl_s: float, now: StoreTime) -> Terms:
    now_us, ttl_us = to_us(now), span_us(ttl_s)
    return {
        "holder": holder,
        "now": now_us,
        "expires_at": now_us + ttl_us,
        "ttl_us": ttl_us,
        "step_us": STEP_US,
    }


def _each(held: Mapping[Shard, Epoch], terms: Terms) -> list[Terms]:
    return [{**terms, "shard": shard, "epoch": epoch} for shard, epoch in held.items()]
