"""The behaviour of the ledger's own record of leaders."""

from __future__ import annotations

from datetime import timedelta

from fencepost.model.audit import Action, Author, LogFilter
from fencepost.model.high_water import LIFT_MIN, lifted
from fencepost.model.identifiers import Epoch, Lineage, NodeId, ScheduleId, Shard, shard_of
from fencepost.model.leader import LeaderRecord, Registered, Registration, RegistrationRefused, Resharding
from fencepost.model.lease import OWN_LINEAGE, Granted
from fencepost.testing.conformance.builders import (
    ALICE,
    BOB,
    NS,
    at,
    claim_one,
    ids_on_two_shards,
    make_plan,
    plan_ticks,
    put,
    read_cursor,
    register,
    shard_for,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.plans import runs

SHARD = Shard(0)
ELSEWHERE = Lineage("elsewhere")
ANNA = Author("anna", "cli", "more schedules")


class EpochContract:
    """What the ledger accepts never falls."""

    async def test_an_older_grant_is_not_registered(self, harness: StoreHarness) -> None:
        assert await offer(harness, 7) == Registered(Epoch(7))
        assert await offer(harness, 6, BOB) == RegistrationRefused(Epoch(7))
        assert await offer(harness, 9, BOB) == Registered(Epoch(9))
        assert await offer(harness, 7) == RegistrationRefused(Epoch(9))

    async def test_the_same_leader_asking_again_is_not_refused(self, harness: StoreHarness) -> None:
        assert await offer(harness, 7) == Registered(Epoch(7))
        before = await harness.store.epochs.all()
        await harness.advance(5)
        assert await offer(harness, 7) == Registered(Epoch(7))
        assert await harness.store.epochs.all() == before

    async def test_a_restored_ledger_gives_out_nothing_again(self, harness: StoreHarness) -> None:
        await offer(harness, 7)
        fence = (await claim_one(harness, "before")).fence
        before = await harness.store.epochs.high_water()
        assert before.fence >= fence
        after = await harness.store.epochs.restore(NS, ANNA)
        assert after == await harness.store.epochs.high_water()
        assert after.number == before.number + 1
        assert after.fence == lifted(before.fence, harness.now) >= fence + LIFT_MIN
        assert after.epochs >= before.epochs + LIFT_MIN
        assert (await claim_one(harness, "after")).fence > after.fence
        assert await offer(harness, 8, BOB) == Registered(Epoch(after.epochs + 1))
        (entry,) = await harness.store.audit_log.list(NS, LogFilter(action=Action.LEDGER_RESTORE))
        assert (entry.before, entry.after) == (before.to_json(), after.to_json())

    async def test_a_ledger_that_is_marked_as_older_stays_so_until_it_is_restored(
        self, harness: StoreHarness
    ) -> None:
        assert (await harness.store.epochs.high_water()).older is None
        for why in ("fence 874 was seen", "something else"):
            await harness.store.epochs.mark_older(why)
        assert (await harness.store.epochs.high_water()).older == "fence 874 was seen"
        assert (await harness.store.epochs.restore(NS, ANNA)).older is None

    async def test_another_does_not_register_the_same_grant(self, harness: StoreHarness) -> None:
        assert await offer(harness, 7) == Registered(Epoch(7))
        assert await offer(harness, 7, BOB) == RegistrationRefused(Epoch(7))

    async def test_a_grant_of_one_shard_does_not_bind_another(self, harness: StoreHarness) -> None:
        first, second = (shard_for(harness, one) for one in ids_on_two_shards(harness))
        assert await register(harness.store, first, 7)
        assert await register(harness.store, second, 3)

    async def test_a_grant_that_is_refused_does_not_cost_another(self, harness: StoreHarness) -> None:
        await offer(harness, 7)
        grants = {Shard(2): Granted(Epoch(4)), SHARD: Granted(Epoch(6)), Shard(1): Granted(Epoch(1))}
        assert await harness.store.epochs.register(grants, BOB) == {
            Shard(2): Registered(Epoch(4)),
            SHARD: RegistrationRefused(Epoch(7)),
            Shard(1): Registered(Epoch(1)),
        }

    async def test_the_epoch_does_not_fall_with_the_lease_stores_number(self, harness: StoreHarness) -> None:
        assert await offer(harness, 57) == Registered(Epoch(57))
        assert await offer(harness, 6, BOB, ELSEWHERE) == Registered(Epoch(58), OWN_LINEAGE)
        assert await offer(harness, 7, ALICE, ELSEWHERE) == Registered(Epoch(59))
        assert await offer(harness, 1_000, BOB, ELSEWHERE) == Registered(Epoch(1_000))
        assert await offer(harness, 6, ALICE, ELSEWHERE) == RegistrationRefused(Epoch(1_000))

    async def test_a_switch_back_does_not_bring_an_old_epoch_back(self, harness: StoreHarness) -> None:
        await offer(harness, 5)
        await offer(harness, 5, BOB, ELSEWHERE)
        assert await offer(harness, 5) == Registered(Epoch(7), ELSEWHERE)

    async def test_a_plan_of_the_leader_before_a_switch_is_not_written(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await register(harness.store, cursor.shard, 8)
        switched = Granted(Epoch(2), ELSEWHERE)
        answers = await harness.store.epochs.register({cursor.shard: switched}, BOB)
        assert answers == {cursor.shard: Registered(Epoch(9), OWN_LINEAGE)}
        late = make_plan(cursor, at(harness, 60), epoch=Epoch(8))
        assert (await harness.store.plans.write([late])).stale == (cursor.shard,)
        assert await runs(harness) == []
        now_leads = make_plan(cursor, at(harness, 60), epoch=Epoch(9))
        assert (await harness.store.plans.write([now_leads])).runs_written == 1

    async def test_who_leads_is_not_forgotten(self, harness: StoreHarness) -> None:
        assert list(await harness.store.epochs.all()) == []
        await offer(harness, 5)
        await harness.advance(60)
        await offer(harness, 5, BOB, ELSEWHERE)
        since = harness.now
        await harness.advance(60)
        assert await offer(harness, 4, ALICE, ELSEWHERE) == RegistrationRefused(Epoch(5))
        (record,) = await harness.store.epochs.all()
        assert record == LeaderRecord(SHARD, Epoch(6), BOB, ELSEWHERE, Epoch(5), since, 2)


class ReshardContract:
    """Another number of shards, while leaders plan."""

    async def test_there_are_not_fewer_than_two_shards(self, harness: StoreHarness) -> None:
        assert await harness.store.epochs.shards() == harness.shards >= 2

    async def test_no_schedule_is_left_in_a_shard_that_is_gone(self, harness: StoreHarness) -> None:
        names = [ScheduleId(f"schedule-{number}") for number in range(20)]
        for name in names:
            await put(harness, schedule_id=name)
        for shards in (13, 3):
            before = await harness.store.epochs.shards()
            moved = sum(shard_of(NS, name, before) != shard_of(NS, name, shards) for name in names)
            done = await harness.store.epochs.reshard(shards, NS, ANNA)
            assert done == Resharding(before, shards, moved)
            assert await harness.store.epochs.shards() == shards
            window = await harness.store.plans.window([Shard(n) for n in range(shards)], 3_600, 100)
            assert sorted(one.schedule_id for one in window.cursors) == sorted(names)
            assert all(one.shard == shard_of(NS, one.schedule_id, shards) for one in window.cursors)

    async def test_a_later_schedule_does_not_go_by_the_old_cut(self, harness: StoreHarness) -> None:
        await harness.store.epochs.reshard(17, NS, ANNA)
        for number in range(10):
            name = ScheduleId(f"late-{number}")
            assert (await put(harness, schedule_id=name)).shard == shard_of(NS, name, 17)

    async def test_a_plan_by_the_old_cut_is_not_written(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await register(harness.store, cursor.shard, 4)
        plan = make_plan(cursor, at(harness, 60), epoch=Epoch(4))
        await harness.store.epochs.reshard(harness.shards + 5, NS, ANNA)
        assert (await harness.store.plans.write([plan])).stale == (cursor.shard,)
        assert await runs(harness) == []

    async def test_a_plan_of_a_schedule_that_moved_is_not_written_by_its_old_shard(
        self, harness: StoreHarness
    ) -> None:
        name = next(
            name
            for name in (ScheduleId(f"mover-{number}") for number in range(100))
            if shard_of(NS, name, harness.shards) != shard_of(NS, name, harness.shards + 5)
        )
        await put(harness, schedule_id=name)
        cursor = await read_cursor(harness, name)
        await harness.store.epochs.reshard(harness.shards + 5, NS, ANNA)
        await register(harness.store, cursor.shard, 4)
        receipt = await harness.store.plans.write([make_plan(cursor, at(harness, 60), epoch=Epoch(4))])
        assert (receipt.runs_written, receipt.outdated) == (0, 1)

    async def test_a_leader_does_not_lose_its_grant_to_a_new_cut(self, harness: StoreHarness) -> None:
        await offer(harness, 4)
        await harness.store.epochs.reshard(harness.shards + 5, NS, ANNA)
        assert await offer(harness, 4) == Registered(Epoch(5))

    async def test_what_was_planned_by_the_old_cut_is_not_planned_again(self, harness: StoreHarness) -> None:
        await put(harness)
        keys = await plan_ticks(harness, 60, 120)
        await harness.store.epochs.reshard(harness.shards + 5, NS, ANNA)
        every = [Shard(number) for number in range(harness.shards + 5)]
        (cursor,) = (await harness.store.plans.window(every, 3_600, 10)).cursors
        assert cursor.planned_through == at(harness, 120)
        assert [run.run_key for run in reversed(await runs(harness))] == keys

    async def test_the_same_number_again_changes_nothing(self, harness: StoreHarness) -> None:
        await offer(harness, 4)
        same = Resharding(harness.shards, harness.shards, 0)
        assert await harness.store.epochs.reshard(harness.shards, NS, ANNA) == same
        assert await offer(harness, 4) == Registered(Epoch(4))
        assert not await harness.store.audit_log.list(NS, LogFilter(action=Action.RESHARD))

    async def test_a_new_cut_does_not_go_unlogged(self, harness: StoreHarness) -> None:
        await harness.store.epochs.reshard(harness.shards + 1, NS, ANNA)
        (entry,) = await harness.store.audit_log.list(NS, LogFilter(action=Action.RESHARD))
        assert (entry.author, entry.before) == (ANNA, {"shards": harness.shards})
        assert entry.after == {"shards": harness.shards + 1}
        assert harness.now - entry.at < timedelta(seconds=1)


async def offer(
    harness: StoreHarness, epoch: int, holder: NodeId = ALICE, lineage: Lineage = OWN_LINEAGE
) -> Registration:
    """Offer a grant of the one shard to the ledger."""
    return (await harness.store.epochs.register({SHARD: Granted(Epoch(epoch), lineage)}, holder))[SHARD]
