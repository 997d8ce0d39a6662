"""Audits of a real ledger: what planners and workers leave is sound, and what is broken is
found."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from fencepost.core.accounts import Kind, Report
from fencepost.core.completeness import completeness
from fencepost.errors import UnknownSchedule
from fencepost.model.audit import Action, Author, LogFilter
from fencepost.model.identifiers import NodeId, RunKey, ScheduleId, tick_key
from fencepost.model.node import Node, NodeReport
from fencepost.model.policies import CatchUp
from fencepost.model.run import RunState
from fencepost.model.stretch import parse_stretch
from fencepost.model.tables import RUNS
from fencepost.services import accounting
from fencepost.services.accounting import Auditor
from tests.rows import change_run, drop_run, put, row_of
from tests.services.house import NS, START, House, PlanningNode, WorkingNode, make_job

ANNA = Author("anna", "cli on web-3", "the disk was full")
BEAT = ScheduleId("beat")


class Audited(House):
    """A house with a node that plans and a worker that does what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.node = PlanningNode(self, "node-1")
        self.worker = WorkingNode(self, make_job(lambda: None))
        self.verbs = Auditor(self.store, NS)

    async def pass_s(self, seconds: float, *, works: bool = True) -> None:
        """Let time pass, in steps of a planning pass."""
        for _ in range(int(seconds // 5)):
            await self.node.membership.run_once()
            await self.node.elector.run_once()
            await self.node.planner.run_once()
            await self.memory.nodes.beat(
                Node(NodeId("worker-1"), "web", 2, plans=False, works=True), NodeReport(), 30.0
            )
            if works:
                await self.worker.work()
            self.clock.advance(5)

    async def audit(self, since_s: float = 0, until: datetime | None = None) -> Report:
        now = await self.memory.now()
        return await self.verbs.audit("beat", START + timedelta(seconds=since_s), until or now)

    async def faults(self) -> dict[Kind, int]:
        return dict((await self.audit()).counts)

    def delete(self, *keys: RunKey) -> None:
        """Rows go, as if somebody had laid hands on the database."""
        for key in keys:
            drop_run(self.memory, key)

    def change(self, key: RunKey, **values: object) -> None:
        change_run(self.memory, key, **values)


@pytest.fixture
async def house() -> Audited:
    """A beat every ten seconds for two minutes, all of it run."""
    house = Audited()
    await house.worker.register()
    await house.put("beat", 10)
    await house.pass_s(120)
    return house


async def test_a_schedule_whose_ticks_were_all_missed_is_accounted_for_and_none_ran() -> None:
    """The newest is run when the node is there again."""
    house = Audited()
    await house.worker.register()
    await house.put("beat", 10)
    house.clock.advance(480)
    await house.pass_s(5)
    (account,) = (await house.audit(until=START + timedelta(seconds=470))).accounts
    assert (account.expected, account.succeeded, account.faults) == (47, 0, 0)
    assert (account.run_completeness, account.run_accounted) == (0.0, 1.0)
    assert completeness(await house.memory.ledger.tally(NS, 3600)).words == "1 of 48 ran"


async def test_an_untouched_ledger_is_clean(house: Audited) -> None:
    (account,) = (await house.audit()).accounts
    assert (account.faults, account.expected, account.recorded) == (0, 12, 12)
    assert account.states[RunState.SUCCEEDED] >= 11


async def test_ticks_ahead_are_part_of_the_account_as_far_as_they_are_planned(house: Audited) -> None:
    (account,) = (await house.audit(until=START + timedelta(days=400))).accounts
    assert account.faults == 0
    assert account.states[RunState.PLANNED] >= 5


async def test_an_edit_a_pause_and_a_resume_leave_no_fault(house: Audited) -> None:
    await house.put("beat", 7)
    await house.pass_s(60)
    await house.memory.schedules.pause(NS, BEAT, "enough")
    await house.pass_s(60)
    await house.memory.schedules.resume(NS, BEAT, tzdata="2026a")
    await house.pass_s(60)
    assert await house.faults() == {}


async def test_an_outage_of_planners_leaves_missed_ranges_that_account_for_it(house: Audited) -> None:
    house.clock.advance(3_600)
    await house.pass_s(60)
    (account,) = (await house.audit()).accounts
    assert (account.faults, account.recorded) == (0, account.expected)
    assert await house.memory.ledger.missed_ranges(NS, BEAT, START, await house.memory.now())
    assert account.states[RunState.MISSED] > 300


async def test_ticks_that_no_planner_has_come_to_are_missing_after_a_while(house: Audited) -> None:
    house.clock.advance(300)
    counts = await house.faults()
    assert counts[Kind.MISSING] > 15


async def test_a_deleted_row_is_found_and_repaired_under_its_own_key(house: Audited) -> None:
    gone = [one.run_key for one in await house.runs("beat")][3:5]
    house.delete(*gone)
    report = await house.audit()
    assert report.counts == {Kind.MISSING: 2}
    assert [one.run_keys for one in report.accounts[0].findings] == [(key,) for key in gone]
    assert await house.verbs.repair(report, ANNA) == gone
    entries = await house.memory.audit_log.list(NS, LogFilter(action=Action.RUN_RESTORE))
    assert {(one.subject, one.author) for one in entries} == {(key, ANNA) for key in gone}
    assert await house.verbs.repair(await house.audit(), ANNA) == []


async def test_what_is_repaired_is_judged_for_lateness_like_any_tick(house: Audited) -> None:
    gone, fresh = (await house.runs("beat"))[0], (await house.runs("beat"))[9]
    await house.pass_s(5)
    house.delete(gone.run_key, fresh.run_key)
    await house.verbs.repair(await house.audit(), ANNA)
    await house.pass_s(5)
    assert (await house.run(gone.run_key)).state is RunState.MISSED
    assert (await house.run(fresh.run_key)).state is RunState.SUCCEEDED
    assert await house.faults() == {}


async def test_a_repaired_tick_is_due_when_the_planner_would_have_made_it_due() -> None:
    house = Audited()
    await house.put("beat", 10, spread=parse_stretch("50%"), jitter=parse_stretch("3s"))
    await house.pass_s(30, works=False)
    before = {one.run_key: one.run_at for one in await house.runs("beat")}
    house.delete(*before)
    report = await house.audit(until=START + timedelta(seconds=60))
    assert await house.verbs.repair(report, ANNA)
    after = {one.run_key: one.run_at for one in await house.runs("beat")}
    assert after == {key: before[key] for key in after}
    assert any(one.run_at != one.fire_time for one in await house.runs("beat"))


async def test_a_repair_goes_on_where_a_report_was_cut(
    house: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.core.accounting.FINDINGS_KEPT_MAX", 4)
    monkeypatch.setattr(accounting, "PLANNED_AT_ONCE_MAX", 3)
    gone = [one.run_key for one in await house.runs("beat")][:11]
    house.delete(*gone)
    report = await house.audit()
    assert len(report.accounts[0].findings) == 4
    assert await house.verbs.repair(report, ANNA) == gone


async def test_a_repair_that_can_write_nothing_ends(house: Audited) -> None:
    gone = (await house.runs("beat"))[2].run_key
    house.change(gone, state=RunState.WITHDRAWN)
    report = await house.audit()
    assert report.counts == {Kind.MISSING: 1}
    assert await house.verbs.repair(report, ANNA) == []


async def test_a_doubled_run_is_found(house: Audited) -> None:
    await house.put("beat", 20)
    first = (await house.runs("beat"))[4]
    twin = tick_key(BEAT, first.fire_time, 2)
    row = row_of(house.memory, RUNS, NS, first.run_key)
    put(house.memory, RUNS, **{**row, "run_key": twin, "version": 2})
    report = await house.audit()
    assert report.counts == {Kind.DOUBLED: 1}
    assert report.accounts[0].findings[0].run_keys == (first.run_key, twin)


async def test_a_run_whose_worker_went_silent_is_uncertain(house: Audited) -> None:
    last = (await house.runs("beat"))[5]
    silent = {"worker": NodeId("worker-9"), "alive_until": START}
    house.change(last.run_key, state=RunState.RUNNING, finished_at=None, **silent)
    assert await house.faults() == {Kind.UNCERTAIN: 1}


async def test_a_tick_that_was_not_judged_is_overdue(house: Audited) -> None:
    await house.pass_s(300, works=False)
    assert (await house.faults())[Kind.OVERDUE] > 0


async def test_pages_make_no_difference(house: Audited, monkeypatch: pytest.MonkeyPatch) -> None:
    house.delete((await house.runs("beat"))[3].run_key)
    whole = (await house.audit()).accounts
    monkeypatch.setattr(accounting, "PAGE", 2)
    assert (await house.audit()).accounts == whole


async def test_an_edit_while_the_runs_are_read_makes_no_fault(house: Audited) -> None:
    async def edit() -> None:
        await house.put("beat", 7)

    house.store.after["missed_ranges"].append(edit)
    (account,) = (await house.audit(until=START + timedelta(days=1))).accounts
    assert (account.faults, account.notes) == (0, ())


async def test_a_removed_schedule_can_be_audited_by_name(house: Audited) -> None:
    await house.memory.schedules.remove(NS, BEAT)
    assert (await house.audit()).expected == 12
    everything = await house.verbs.audit(None, START, await house.memory.now())
    assert everything.accounts == ()


async def test_all_schedules_are_audited_and_an_unknown_one_is_refused(house: Audited) -> None:
    await house.put("other", 60)
    report = await house.verbs.audit(None, START, await house.memory.now())
    assert [one.schedule_id for one in report.accounts] == ["beat", "other"]
    with pytest.raises(UnknownSchedule, match="did you mean beat"):
        await house.verbs.audit("beatt", START, await house.memory.now())


async def test_completeness_counts_what_an_audit_counts(house: Audited) -> None:
    house.delete((await house.runs("beat"))[3].run_key)
    now = await house.memory.now()
    (one,) = [one async for one in house.verbs.completeness(START, now)]
    assert (one.expected, one.recorded) == (12, 11)


async def test_what_retention_removed_is_not_missing(house: Audited) -> None:
    house.clock.advance(7_200)
    await house.memory.ledger.forget(3_600, 1_000)
    (account,) = (await house.audit(until=START + timedelta(seconds=120))).accounts
    assert (account.faults, account.expected) == (0, 0)
    assert account.forgotten_before is not None


async def test_a_run_that_shows_no_life_is_stuck_and_an_old_one_where_asked(house: Audited) -> None:
    await house.put("beat", 10, catch_up=CatchUp("none", "1m"))
    running = (await house.runs("beat"))[5]
    alive = await house.memory.now() + timedelta(hours=2)
    house.change(running.run_key, state=RunState.RUNNING, finished_at=None, alive_until=alive)
    assert await house.verbs.stuck() == []
    (old,) = await house.verbs.stuck(older_than_s=30)
    assert (old.run.run_key, "running for" in old.why) == (running.run_key, True)
    house.clock.advance(7_300)
    await house.memory.nodes.beat(
        Node(NodeId("worker-1"), "web", 2, plans=False, works=True), NodeReport(), 30.0
    )
    (stuck,) = await house.verbs.stuck()
    assert "silent" in stuck.why
