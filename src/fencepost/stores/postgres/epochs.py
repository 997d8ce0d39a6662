"""The ledger's record of leaders, in PostgreSQL.

To cut the shards anew, everybody who could write by the old cut is kept waiting, in this order: those who
create schedules (the row of `meta`), those who plan (the rows of `epochs`, which every plan shares), then
the schedules and cursors themselves. A transaction with many statements, but a rare one; the sessions'
timeouts bound what a stalled client can do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from secrets import token_hex
from typing import TYPE_CHECKING

from fencepost.model.audit import Action, Author
from fencepost.model.high_water import LIFT_MIN, HighWater, lift_floor, next_incarnation
from fencepost.model.identifiers import Epoch, Fence, Lineage, Namespace, NodeId, ScheduleId, Shard, shard_of
from fencepost.model.leader import LeaderRecord, Refusal, Refused, Registered, Registration, Resharding, Term
from fencepost.model.lease import Granted
from fencepost.rules.fleet_rows import to_leader_record, to_refusal, to_term
from fencepost.stores.postgres.audit_log import Change, log
from fencepost.stores.postgres.connection import Database, clean
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Row, Session

QUERIES = load_queries(__package__, "epochs.sql")
MOVES_MAX = 5_000


async def share_shards(session: Session) -> int:
    """How many shards there are, and stay until the transaction ends."""
    return int(await session.fetchval(QUERIES["share_shards"]))


class PostgresEpochs:
    """See `ports.epochs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, grants: Mapping[Shard, Granted], holder: NodeId) -> Mapping[Shard, Registration]:
        columns = [[one.epoch for one in grants.values()], [one.lineage for one in grants.values()]]
        rows = await self._database.fetch(QUERIES["register"], list(grants), *columns, holder)
        answers: dict[Shard, Registration] = {
            row["shard"]: _registered(row, grants[row["shard"]]) for row in rows
        }
        if refused := [shard for shard in grants if shard not in answers]:
            known = await self._database.fetch(QUERIES["known"], refused)
            answers |= {row["shard"]: Refused(Epoch(row["lease_epoch"])) for row in known}
        return answers

    async def all(self) -> Sequence[LeaderRecord]:
        return [to_leader_record(row) for row in await self._database.fetch(QUERIES["all"])]

    async def shards(self) -> int:
        return int(await self._database.fetch_value(QUERIES["shards"]))

    async def reshard(self, shards: int, namespace: Namespace, author: Author) -> Resharding:
        async with self._database.transaction() as session:
            before = int(await session.fetchval(QUERIES["take_shards"]))
            if shards == before:
                return Resharding(before, before, 0)
            await session.fetch(QUERIES["set_shards"], str(shards))
            await session.fetch(QUERIES["take_epochs"])
            await session.fetch(QUERIES["raise_all"])
            await session.fetch(QUERIES["end_above"], min(before, shards))
            await session.fetch(QUERIES["begin_all"], min(before, shards))
            moved = await _move(session, shards)
            change = Change("shards", {"shards": before}, {"shards": shards})
            await log(session, namespace, author, Action.RESHARD, change)
            await session.fetch(QUERIES["tell"])
            return Resharding(before, shards, moved)

    async def terms(self, shard: Shard | None, before: int | None, limit: int) -> Sequence[Term]:
        return [to_term(row) for row in await self._database.fetch(QUERIES["terms"], shard, before, limit)]

    async def note_refusal(self, shard: Shard, epoch: Epoch, holder: NodeId) -> None:
        await self._database.fetch(QUERIES["note_refusal"], shard, epoch, holder)

    async def refusals(self, before: int | None, limit: int) -> Sequence[Refusal]:
        return [to_refusal(row) for row in await self._database.fetch(QUERIES["refusals"], before, limit)]

    async def high_water(self) -> HighWater:
        return _high_water(await self._database.fetch_one(QUERIES["high_water"]))

    async def mark_older(self, why: str) -> None:
        await self._database.fetch(QUERIES["mark_older"], clean(why))

    async def restore(self, namespace: Namespace, author: Author) -> HighWater:
        async with self._database.transaction() as session:
            await session.fetch(QUERIES["take_incarnation"])
            await session.fetch(QUERIES["take_epochs"])
            before = _high_water(await session.fetchrow(QUERIES["high_water"]))
            floor = lift_floor(await session.fetchval(QUERIES["now"]))
            incarnation = next_incarnation(before, token_hex(8))
            await session.fetch(QUERIES["lift"], LIFT_MIN, floor, incarnation)
            after = _high_water(await session.fetchrow(QUERIES["high_water"]))
            change = Change("ledger", before.to_json(), after.to_json())
            await log(session, namespace, author, Action.LEDGER_RESTORE, change)
            return after

    async def trim(self, terms_max: int, refusals_max: int) -> int:
        return int(await self._database.fetch_value(QUERIES["trim"], terms_max, refusals_max))


def _registered(row: Row, grant: Granted) -> Registered:
    before = row["lineage_before"]
    return Registered(Epoch(row["epoch"]), None if before in (None, grant.lineage) else Lineage(before))


def _high_water(row: Row | None) -> HighWater:
    assert row is not None
    return HighWater(row["incarnation"], Fence(row["fence"]), row["epochs"], row["older"])


async def _move(session: Session, shards: int) -> int:
    rows = await session.fetch(QUERIES["schedules"])
    moves = list(_moves(rows, shards))
    # The schedules last: until then their ticks are claimed and started.
    for query in ("move_cursors", "move_schedules"):
        for start in range(0, len(moves), MOVES_MAX):
            columns = [list(column) for column in zip(*moves[start : start + MOVES_MAX], strict=True)]
            await session.fetch(QUERIES[query], *columns)
    return len(moves)


def _moves(rows: Sequence[Row], shards: int) -> Iterator[tuple[Namespace, ScheduleId, Shard]]:
    """The schedules whose shard is another in the new cut."""
    for row in rows:
        shard = shard_of(row["namespace"], row["schedule_id"], shards)
        if shard != row["shard"]:
            yield row["namespace"], row["schedule_id"], shard
