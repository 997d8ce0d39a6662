"""The ledger's own record of each shard's leader, and how far the ledger has come."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from secrets import token_hex

from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime
from fencepost.model.high_water import HighWater, lifted, next_incarnation
from fencepost.model.identifiers import Epoch, Fence, Namespace, NodeId, Shard, shard_of
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
from fencepost.model.table import Range, Row
from fencepost.model.tables import CURSORS, EPOCHS, META, REFUSALS, SCHEDULES, TERMS, TERMS_OF_SHARD
from fencepost.ports.rows import Rows, Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.audit_log import log
from fencepost.rules.part import Part, older, pages, reads, search, writes
from fencepost.rules.rows import columns_of, reader

_to_leader = reader(LeaderRecord)
_to_term = reader(Term)
_to_refusal = reader(Refusal)

SHARDS_TURN = "shards"
"""Transactions that create a schedule share this turn, and make a new cut of the shards wait."""
MOVED_MAX = 1_000
"""How many schedules get another shard at a time."""


def unique_name() -> str:
    """A name that no other ledger has."""
    return token_hex(8)


class EpochRules(Part):
    """See `ports.epochs`. `unique` makes a name that no other ledger has."""

    def __init__(self, rows: Rows, unique: Callable[[], str] = unique_name) -> None:
        super().__init__(rows)
        self._unique = unique

    @writes
    async def register(
        self, tx: Transaction, grants: Mapping[Shard, Granted], holder: NodeId
    ) -> Mapping[Shard, Registration]:
        offered = {shard: offer(shard, grants[shard], holder, await tx.now()) for shard in sorted(grants)}
        written = await tx.put_if_absent(EPOCHS, [asdict(one) for one in offered.values()])
        begun = [offered[row["shard"]] for row in written]
        answers: dict[Shard, Registration] = {one.shard: registration(None, one) for one in begun}
        rows = await tx.lock(EPOCHS.among((shard,) for shard in offered if shard not in answers))
        now = await tx.now()
        for row in rows:
            known = _to_leader(row)
            after = succeed(known, replace(offered[known.shard], since=now))
            if after is not None and after != known:
                await tx.change(EPOCHS, [(row, asdict(after))])
                begun.append(after)
            answers[known.shard] = registration(known, after)
        await _begin_terms(tx, begun)
        return answers

    @reads
    async def all(self, tx: Transaction) -> Sequence[LeaderRecord]:
        return [_to_leader(row) for row in await tx.find(EPOCHS.all())]

    @reads
    async def shards(self, tx: Transaction) -> int:
        return await read_shards(tx)

    @writes
    async def reshard(self, tx: Transaction, shards: int, namespace: Namespace, author: Author) -> Resharding:
        await tx.take_turn(SHARDS_TURN)
        (known,) = await tx.lock(META.at("shards"))
        before = int(known["value"])
        if shards == before:
            return Resharding(before, before, 0)
        await tx.change(META, [(known, {"value": str(shards)})])
        for row in await tx.lock(EPOCHS.all()):
            leader = replace(_to_leader(row), epoch=Epoch(row["epoch"] + 1))
            await tx.change(EPOCHS, [(row, {"epoch": leader.epoch})])
            if leader.shard < min(before, shards):
                await _begin_terms(tx, [leader])
            else:
                await _cut_away(tx, leader.shard)
        moved = await _move(tx, shards)
        said = {"shards": before}, {"shards": shards}
        await log(tx, author, namespace, Action.RESHARD, "shards", *said)
        tx.hint(Topic.LEASES)
        return Resharding(before, shards, moved)

    @reads
    async def terms(
        self, tx: Transaction, shard: Shard | None, before: int | None, limit: int
    ) -> Sequence[Term]:
        every = older(TERMS.all(), before)
        rows = await search(tx, every, lambda term: shard in (None, term["shard"]), limit, reverse=True)
        return [_to_term({**row, "until": await _end_of(tx, row)}) for row in rows]

    @writes
    async def note_refusal(self, tx: Transaction, shard: Shard, epoch: Epoch, holder: NodeId) -> None:
        known = await tx.find(EPOCHS.at(shard))
        refusal = {"at": await tx.now(), "shard": shard, "epoch": epoch, "holder": holder}
        by = (known[0]["epoch"], known[0]["holder"]) if known else (0, None)
        await tx.put_if_absent(REFUSALS, [{**refusal, "known_epoch": by[0], "known_holder": by[1]}])

    @reads
    async def refusals(self, tx: Transaction, before: int | None, limit: int) -> Sequence[Refusal]:
        rows = await tx.find(older(REFUSALS.all(), before), limit=limit, reverse=True)
        return [_to_refusal(row) for row in rows]

    @reads
    async def high_water(self, tx: Transaction) -> HighWater:
        return await read_high_water(tx)

    @writes
    async def mark_older(self, tx: Transaction, why: str) -> None:
        await tx.put_if_absent(META, [{"name": "older", "value": why}])

    @writes
    async def restore(self, tx: Transaction, namespace: Namespace, author: Author) -> HighWater:
        (known,) = await tx.lock(META.at("incarnation"))
        leaders = await tx.lock(EPOCHS.all())
        before, now = await read_high_water(tx), await tx.now()
        await tx.fences(lifted(before.fence, now) - before.fence)
        await tx.delete(META, await tx.lock(META.at("older")))
        await tx.change(META, [(known, {"value": next_incarnation(before, self._unique())})])
        await tx.change(EPOCHS, [(row, {"epoch": lifted(row["epoch"], now)}) for row in leaders])
        after = await read_high_water(tx)
        said = before.to_json(), after.to_json()
        await log(tx, author, namespace, Action.LEDGER_RESTORE, "ledger", *said)
        return after

    @writes
    async def trim(self, tx: Transaction, terms_max: int, refusals_max: int) -> int:
        terms = await _lock_beyond(tx, TERMS.all(), terms_max)
        ended = [row for row in terms if await _end_of(tx, row) is not None]
        await tx.delete(TERMS, ended)
        gone = await _lock_beyond(tx, REFUSALS.all(), refusals_max)
        await tx.delete(REFUSALS, gone)
        return len(ended) + len(gone)


async def _begin_terms(tx: Transaction, leaders: Sequence[LeaderRecord]) -> None:
    """The term before ends with this one's beginning."""
    now = await tx.now()
    terms = [{**columns_of(TERMS, one), "since": now} for one in leaders if one.holder is not None]
    await tx.put_if_absent(TERMS, terms)


async def _cut_away(tx: Transaction, shard: Shard) -> None:
    """End the term of a shard that is gone."""
    last = await tx.find(TERMS_OF_SHARD(shard), limit=1, reverse=True)
    locked = await tx.lock(TERMS.among(map(TERMS.key_of, last)))
    now = await tx.now()
    await tx.change(TERMS, [(row, {"until": now}) for row in locked if row["until"] is None])


async def _end_of(tx: Transaction, term: Row) -> StoreTime | None:
    """When a term ended: when its shard was cut away, or the next one began."""
    if term["until"] is not None:
        return StoreTime(term["until"])
    after = await tx.find(TERMS_OF_SHARD(term["shard"]).after(term["epoch"]), limit=1)
    return after[0]["since"] if after else None


async def _move(tx: Transaction, shards: int) -> int:
    """Put every schedule and its cursors into the shard that it has in the new cut, some at a time. The
    schedules come last, because until then their ticks are claimed and started."""
    moved: dict[tuple[str, str], int] = {}
    async for page in pages(tx, SCHEDULES.all()):
        for row in page:
            owner = row["namespace"], row["schedule_id"]
            if (shard := shard_of(*owner, shards)) != row["shard"]:
                moved[owner] = shard
    parts = [list(moved)[start : start + MOVED_MAX] for start in range(0, len(moved), MOVED_MAX)]
    for part in parts:
        found = await tx.find(CURSORS.each(part))
        cursors = await tx.lock(CURSORS.among(map(CURSORS.key_of, found)))
        await tx.change(CURSORS, [(one, {"shard": moved[SCHEDULES.key_of(one)]}) for one in cursors])
    for part in parts:
        schedules = await tx.lock(SCHEDULES.among(part))
        await tx.change(SCHEDULES, [(one, {"shard": moved[SCHEDULES.key_of(one)]}) for one in schedules])
    return len(moved)


async def read_high_water(tx: Transaction) -> HighWater:
    """How far the ledger has come."""
    high_water, _ = await read_standing(tx)
    return high_water


async def read_standing(tx: Transaction) -> tuple[HighWater, int]:
    """How far the ledger has come, and into how many shards the schedules are cut."""
    names = META.among([("incarnation",), ("older",), ("shards",)])
    about = {row["name"]: row["value"] for row in await tx.find(names)}
    epochs = sum(row["epoch"] for row in await tx.find(EPOCHS.all()))
    (fence,) = await tx.fences(0)
    return HighWater(about["incarnation"], Fence(fence), epochs, about.get("older")), int(about["shards"])


async def _lock_beyond(tx: Transaction, everything: Range, most: int) -> list[Row]:
    """All but the latest."""
    kept = await tx.find(everything, limit=most, reverse=True)
    return await tx.lock(everything.before(kept[-1]["number"]) if kept else everything)


async def read_shards(tx: Transaction) -> int:
    """Into how many shards the schedules are cut."""
    (known,) = await tx.find(META.at("shards"))
    return int(known["value"])
