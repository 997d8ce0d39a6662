"""The ledger's record of leaders, in SQLite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from secrets import token_hex

import apsw

from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime
from fencepost.model.high_water import LIFT_MIN, HighWater, lift_floor, next_incarnation
from fencepost.model.identifiers import Epoch, Fence, Namespace, NodeId, ScheduleId, Shard, shard_of
from fencepost.model.leader import (
    LeaderRecord,
    Refusal,
    Registration,
    Resharding,
    Term,
    offer,
    registration,
    succeed,
)
from fencepost.model.lease import Granted
from fencepost.ports.signals import Topic
from fencepost.stores.fleet_rows import to_leader_record, to_refusal, to_term
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite import migrations
from fencepost.stores.sqlite.audit_log import note
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import ALWAYS_US, fetch, to_us
from fencepost.stores.sqlite.signals import SqliteSignals

QUERIES = load_queries("fencepost.stores.sqlite", "epochs.sql")
BEGUN_WITH = ("shard", "epoch", "holder", "lineage", "now")


class SqliteEpochs:
    """See `ports.epochs`."""

    def __init__(self, database: Database, signals: SqliteSignals) -> None:
        self._database = database
        self._signals = signals

    async def register(self, grants: Mapping[Shard, Granted], holder: NodeId) -> Mapping[Shard, Registration]:
        def work(connection: apsw.Connection, now: StoreTime) -> Mapping[Shard, Registration]:
            return {shard: _register(shard, grants[shard], holder, connection, now) for shard in grants}

        return await self._database.transact(work)

    async def all(self) -> Sequence[LeaderRecord]:
        def work(connection: apsw.Connection, _: StoreTime) -> Sequence[LeaderRecord]:
            return [to_leader_record(row) for row in fetch(connection.execute(QUERIES["all"]))]

        return await self._database.read(work)

    async def shards(self) -> int:
        return await self._database.read(lambda connection, _: migrations.read_shards(connection))

    async def reshard(self, shards: int, namespace: Namespace, author: Author) -> Resharding:
        done = await self._database.transact(partial(_reshard, shards, namespace, author))
        self._signals.hint(Topic.LEASES)
        return done

    async def terms(self, shard: Shard | None, before: int | None, limit: int) -> Sequence[Term]:
        terms = {"shard": shard, "before": ALWAYS_US if before is None else before, "limit": limit}

        def work(connection: apsw.Connection, _: StoreTime) -> Sequence[Term]:
            return [to_term(row) for row in fetch(connection.execute(QUERIES["terms"], terms))]

        return await self._database.read(work)

    async def note_refusal(self, shard: Shard, epoch: Epoch, holder: NodeId) -> None:
        def work(connection: apsw.Connection, now: StoreTime) -> None:
            terms = {"shard": shard, "epoch": epoch, "holder": holder, "now": to_us(now)}
            connection.execute(QUERIES["note_refusal"], terms)

        await self._database.transact(work)

    async def refusals(self, before: int | None, limit: int) -> Sequence[Refusal]:
        terms = {"before": ALWAYS_US if before is None else before, "limit": limit}

        def work(connection: apsw.Connection, _: StoreTime) -> Sequence[Refusal]:
            return [to_refusal(row) for row in fetch(connection.execute(QUERIES["refusals"], terms))]

        return await self._database.read(work)

    async def high_water(self) -> HighWater:
        return await self._database.read(_high_water)

    async def mark_older(self, why: str) -> None:
        def work(connection: apsw.Connection, _: StoreTime) -> None:
            connection.execute(QUERIES["mark_older"], {"why": why})

        await self._database.transact(work)

    async def restore(self, namespace: Namespace, author: Author) -> HighWater:
        return await self._database.transact(partial(_restore, namespace, author))

    async def trim(self, terms_max: int, refusals_max: int) -> int:
        return await self._database.transact(partial(_trim, terms_max, refusals_max))


def _high_water(connection: apsw.Connection, _: StoreTime) -> HighWater:
    incarnation, fence, epochs, older = connection.execute(QUERIES["high_water"]).get
    return HighWater(incarnation, Fence(fence), epochs, older)


def _restore(namespace: Namespace, author: Author, connection: apsw.Connection, now: StoreTime) -> HighWater:
    before = _high_water(connection, now)
    incarnation = next_incarnation(before, token_hex(8))
    for query in ("lift_fences", "lift_epochs"):
        connection.execute(QUERIES[query], {"least": LIFT_MIN, "floor": lift_floor(now)})
    connection.execute(QUERIES["forget_older"])
    connection.execute(QUERIES["set_incarnation"], {"incarnation": incarnation})
    after = _high_water(connection, now)
    said = before.to_json(), after.to_json()
    note(connection, now, namespace, author, Action.LEDGER_RESTORE, "ledger", *said)
    return after


def _trim(terms_max: int, refusals_max: int, connection: apsw.Connection, _: StoreTime) -> int:
    gone = 0
    for query, kept in (("trim_terms", terms_max), ("trim_refusals", refusals_max)):
        connection.execute(QUERIES[query], {"kept": kept})
        gone += connection.changes()
    return gone


def _register(
    shard: Shard, grant: Granted, holder: NodeId, connection: apsw.Connection, now: StoreTime
) -> Registration:
    rows = fetch(connection.execute(QUERIES["get"], {"shard": shard}))
    known = to_leader_record(rows[0]) if rows else None
    after = succeed(known, offer(shard, grant, holder, now))
    if after is not None and after is not known:
        terms = {"shard": shard, "epoch": after.epoch, "holder": holder, "now": to_us(now)}
        terms |= {"lineage": grant.lineage, "lease_epoch": grant.epoch}
        connection.execute(QUERIES["register"], terms)
        connection.execute(QUERIES["begin_term"], {name: terms[name] for name in BEGUN_WITH})
    return registration(known, after)


def _reshard(
    shards: int, namespace: Namespace, author: Author, connection: apsw.Connection, now: StoreTime
) -> Resharding:
    before = migrations.read_shards(connection)
    if shards == before:
        return Resharding(before, before, 0)
    migrations.set_meta(connection, "shards", shards)
    connection.execute(QUERIES["raise_all"])
    kept = {"shards": min(before, shards), "now": to_us(now)}
    connection.execute(QUERIES["end_above"], kept)
    connection.execute(QUERIES["begin_all"], kept)
    moves = [
        {"namespace": owner, "schedule_id": schedule_id, "shard": shard}
        for owner, schedule_id, shard in _moves(connection, shards)
    ]
    connection.executemany(QUERIES["move_schedule"], moves)
    connection.executemany(QUERIES["move_cursors"], moves)
    note(connection, now, namespace, author, Action.RESHARD, "shards", {"shards": before}, {"shards": shards})
    return Resharding(before, shards, len(moves))


def _moves(connection: apsw.Connection, shards: int) -> list[tuple[Namespace, ScheduleId, Shard]]:
    """The schedules whose shard is another in the new cut."""
    found = [
        (namespace, schedule_id, old, shard_of(namespace, schedule_id, shards))
        for namespace, schedule_id, old in connection.execute(QUERIES["schedules"])
    ]
    return [(namespace, schedule_id, new) for namespace, schedule_id, old, new in found if new != old]
