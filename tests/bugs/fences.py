"""Bugs in what the ledger compares before it takes a write."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from inspect import unwrap
from typing import Any
from unittest.mock import patch

from fencepost.model.identifiers import NodeId
from fencepost.model.leader import Resharding, succeed
from fencepost.model.run import RunState
from fencepost.model.tables import EPOCHS, META
from fencepost.rules import claims, epochs, reports
from fencepost.rules.epochs import EpochRules
from fencepost.rules.part import writes
from fencepost.rules.plans import PlanRules
from fencepost.rules.reports import ReportRules
from fencepost.rules.runs import change, is_of
from fencepost.services.ledger_watch import LedgerWatch
from fencepost.services.planner import Planner
from fencepost.stores.memory.rows import MemoryTransaction
from tests.bugs.bug import Planted, all_of, bug
from tests.bugs.misled import Misled

CONTRACT = "tests/conformance/test_memory.py"


def behind_the_watch(planted: Planted) -> Planted:
    """A bug that lets numbers fall: the nodes' own watch would stop them before a judge sees it."""

    async def see_nothing(self: Any, why: str) -> None:
        return None

    return all_of(planted, patch.object(LedgerWatch, "_refuse", see_nothing))


def any_epoch_accepted() -> Planted:
    """The ledger takes the epoch of a plan for its own, whichever it is."""
    write = unwrap(PlanRules.write)

    async def as_planned(self: Any, tx: Any, plans: Any) -> Any:
        planned = {plan.cursor.shard: plan.epoch for plan in plans}

        def see(selection: Any, row: Any) -> Any:
            return {**row, "epoch": planned[row["shard"]]} if selection.table is EPOCHS else row

        return await write(self, Misled(tx, see), plans)

    return patch.object(PlanRules, "write", writes(as_planned))


@bug("the ledger compares the epoch of every plan", "I4")
def epoch_of_a_plan_not_compared() -> Planted:
    """A leader that slept through its lease, whose own clock stood still, plans beside its successor."""
    return any_epoch_accepted()


@bug("checking the epoch and then writing is not a fence", "I4")
def epoch_checked_before_the_write() -> Planted:
    """The planner asks who leads, is told that it does, and writes when that is no longer so."""
    write = Planner._write

    async def check_then_act(self: Any, plans: Any, grants: Any) -> None:
        leaders = {one.shard: one.epoch for one in await self._store.epochs.all()}
        mine = [one for one in plans if leaders.get(one.cursor.shard) == one.epoch]
        await write(self, mine, grants)

    return all_of(patch.object(Planner, "_write", check_then_act), any_epoch_accepted())


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

    async def reshard(self: Any, tx: Any, shards: int, namespace: Any, author: Any) -> Resharding:
        (known,) = await tx.lock(META.at("shards"))
        await tx.change(META, [(known, {"value": str(shards)})])
        return Resharding(int(known["value"]), shards, await epochs._move(tx, shards))

    return patch.object(EpochRules, "reshard", writes(reshard))


@bug("completion is not guarded by state", "I5")
def completion_guarded_by_state_only() -> Planted:
    """A worker that was given up for dead wakes and ends the attempt of its successor."""
    return patch.object(reports, "is_owned", lambda run, ticket: run["state"] == RunState.RUNNING)


@bug("a report counts once", "I5")
def report_counts_twice() -> Planted:
    """A report that the network repeats ends a run that had ended, once more."""
    finish = unwrap(ReportRules.finish)

    async def again(self: Any, tx: Any, outcomes: Any) -> Any:
        with patch.object(reports, "is_owned", is_of):
            return await finish(self, tx, outcomes)

    return patch.object(ReportRules, "finish", writes(again))


@bug("a fence is larger than any before it", "I5")
def fences_counted_by_worker() -> Planted:
    """Each worker counts its own fences, and the sink that knows 40 refuses the 7 of the newer attempt."""
    start = claims._start
    counted: Counter[NodeId] = Counter()

    async def per_worker(tx: Any, runs: Any, claim_request: Any, *arguments: Any) -> Any:
        (last,) = await tx.fences(0)
        await tx.fences(counted[claim_request.worker] - last)
        begun = await start(tx, runs, claim_request, *arguments)
        (counted[claim_request.worker],) = await tx.fences(0)
        return begun

    return behind_the_watch(patch.object(claims, "_start", per_worker))


@bug("fences do not fall back", "I5")
def fences_begin_again() -> Planted:
    """The counter is in a table that a failover empties: 6, 7, 8, and then 6."""

    async def fences(self: Any, count: int) -> list[int]:
        first = self._rows.fence % 100 + min(count, 1)
        self._rows.fence = first + max(count - 1, 0)
        return list(range(first, self._rows.fence + 1))

    return behind_the_watch(patch.object(MemoryTransaction, "fences", fences))


@bug(
    "a rescue spends the fence of the silent attempt",
    f"{CONTRACT}::TestMemoryStore::test_rescue_kills_the_old_ticket",
)
def rescue_without_a_new_fence() -> Planted:
    """The silent worker wakes before anybody else begins, and its report passes for one that was heard."""

    async def kept(tx: Any, freed: Any, run: Any, **values: Any) -> Any:
        values.pop("fence", None)
        return await change(tx, freed, run, **values) if values else run

    return patch.object(reports, "change", kept)
