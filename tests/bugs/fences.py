"""Bugs in what the ledger compares before it takes a write."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from fencepost.model.identifiers import NodeId, shard_of
from fencepost.model.leader import Resharding, succeed
from fencepost.model.run import Receipt, RunState
from fencepost.services.ledger_watch import LedgerWatch
from fencepost.services.planner import Planner
from fencepost.stores.memory import epochs
from fencepost.stores.memory.claims import MemoryClaims
from fencepost.stores.memory.epochs import MemoryEpochs
from fencepost.stores.memory.ledger import MemoryLedger
from fencepost.stores.memory.planbook import MemoryPlanBook
from fencepost.stores.memory.tables import Tables
from fencepost.stores.memory.writing import keep_attempt
from tests.bugs.bug import Planted, all_of, bug

CONTRACT = "tests/conformance/test_memory.py"


def behind_the_watch(planted: Planted) -> Planted:
    """A bug that lets numbers fall: the nodes' own watch would stop them before a judge sees it."""

    async def see_nothing(self: Any, why: str) -> None:
        return None

    return all_of(planted, patch.object(LedgerWatch, "_refuse", see_nothing))


@bug("the ledger compares the epoch of every plan", "I4")
def epoch_of_a_plan_not_compared() -> Planted:
    """A leader that slept through its lease, whose own clock stood still, plans beside its successor."""
    return patch.object(MemoryPlanBook, "_accepted", lambda self, plan: True)


@bug("checking the epoch and then writing is not a fence", "I4")
def epoch_checked_before_the_write() -> Planted:
    """The planner asks who leads, is told that it does, and writes when that is no longer so."""
    write = Planner._write

    async def check_then_act(self: Any, plans: Any, grants: Any) -> None:
        leaders = {one.shard: one.epoch for one in await self._store.epochs.all()}
        mine = [one for one in plans if leaders.get(one.cursor.shard) == one.epoch]
        await write(self, mine, grants)

    return all_of(
        patch.object(Planner, "_write", check_then_act),
        patch.object(MemoryPlanBook, "_accepted", lambda self, plan: True),
    )


@bug("the ledger registers epochs by a monotone compare-and-set", "I4", seed=16, hours=1.0)
def registration_takes_what_it_is_offered() -> Planted:
    """The lease store was restored from a backup, and the ledger's epochs fall with its own."""
    return behind_the_watch(patch.object(epochs, "succeed", lambda known, offered: offered))


@bug(
    "an epoch of another lineage is no smaller epoch",
    f"{CONTRACT}::TestMemoryStore::test_the_epoch_does_not_fall_with_the_lease_stores_number",
)
def registration_counts_anew_with_a_new_lineage() -> Planted:
    """The lease store was made anew: its epoch 1 is taken as it is, after 7."""

    def anew(known: Any, offered: Any) -> Any:
        if known is not None and known.lineage != offered.lineage:
            return offered
        return succeed(known, offered)

    return patch.object(epochs, "succeed", anew)


@bug(
    "a lease store made anew is another lineage",
    f"{CONTRACT}::TestMemoryStore::test_a_switch_back_does_not_bring_an_old_epoch_back",
)
def registration_ignores_the_lineage() -> Planted:
    """The ledger holds the epochs of a new lease store against those of the old one, and refuses them all."""

    def blind(known: Any, offered: Any) -> Any:
        return succeed(known if known is None else replace(known, lineage=offered.lineage), offered)

    return patch.object(epochs, "succeed", blind)


@bug(
    "an older grant of the same lineage is not registered",
    f"{CONTRACT}::TestMemoryStore::test_an_older_grant_is_not_registered",
)
def older_grant_registered_as_the_next() -> Planted:
    """A registration that was sent long ago arrives, and unseats the leader that came after."""

    def lenient(known: Any, offered: Any) -> Any:
        after = succeed(known, offered)
        return replace(offered, epoch=known.epoch + 1) if after is None else after

    return patch.object(epochs, "succeed", lenient)


@bug(
    "a new cut of the shards ends every plan in flight",
    f"{CONTRACT}::TestMemoryStore::test_a_plan_by_the_old_cut_is_not_written",
)
def reshard_keeps_the_epochs() -> Planted:
    """Plans that were made by the old cut arrive after the new one, under epochs that still count."""

    async def reshard(self: Any, shards: int, namespace: Any, author: Any) -> Resharding:
        before, self._tables.shards = self._tables.shards, shards
        for (owner, schedule_id), row in self._tables.schedules.items():
            row.schedule = replace(row.schedule, shard=shard_of(owner, schedule_id, shards))
        return Resharding(before, shards, 0)

    return patch.object(MemoryEpochs, "reshard", reshard)


@bug("completion is not guarded by state", "I5", seed=2)
def completion_guarded_by_state_only() -> Planted:
    """A worker that was given up for dead wakes and ends the attempt of its successor."""

    def owned(self: Any, ticket: Any) -> Any:
        row = self._tables.runs.get((ticket.namespace, ticket.run_key))
        return row if row is not None and row.record.state is RunState.RUNNING else None

    return patch.object(MemoryLedger, "_owned", owned)


@bug("a report counts once", "I5")
def report_counts_twice() -> Planted:
    """A report that the network repeats ends a run that had ended, once more."""

    def owned(self: Any, ticket: Any) -> Any:
        row = self._tables.runs.get((ticket.namespace, ticket.run_key))
        if row is None or (row.record.attempt, row.record.fence) != (ticket.attempt, ticket.fence):
            return None
        return row

    return patch.object(MemoryLedger, "_owned", owned)


@bug("a fence is larger than any before it", "I5")
def fences_counted_by_worker() -> Planted:
    """Each worker counts its own fences, and the sink that knows 40 refuses the 7 of the newer attempt."""
    start = MemoryClaims._start
    counted: Counter[NodeId] = Counter()

    def per_worker(self: Any, row: Any, appetite: Any, previous: Any, slot: Any = None) -> Any:
        self._tables.fence = counted[appetite.worker]
        claim = start(self, row, appetite, previous, slot)
        counted[appetite.worker] = self._tables.fence
        return claim

    return behind_the_watch(patch.object(MemoryClaims, "_start", per_worker))


@bug("fences do not fall back", "I5")
def fences_begin_again() -> Planted:
    """The counter is in a table that a failover empties: 6, 7, 8, and then 6."""

    def next_fence(self: Any) -> int:
        self.fence = self.fence % 100 + 1
        return int(self.fence)

    return behind_the_watch(patch.object(Tables, "next_fence", next_fence))


@bug(
    "a rescue spends the fence of the silent attempt",
    f"{CONTRACT}::TestMemoryStore::test_rescue_kills_the_old_ticket",
)
def rescue_without_a_new_fence() -> Planted:
    """The silent worker wakes before anybody else begins, and its report passes for one that was heard."""

    def rescue(self: Any, one: Any) -> Receipt:
        row = self._owned(one.ticket)
        if row is None or row.alive_until >= self._tables.now():
            return Receipt.REFUSED
        keep_attempt(self._tables, row, "lost", one.reason)
        if one.state is RunState.READY:
            self._requeue(row, one.reason, None, one.retry_in_s)
        else:
            self._tables.end(row, one.state, one.reason, one.reason)
        return Receipt.ACCEPTED

    return patch.object(MemoryLedger, "_rescue", rescue)
