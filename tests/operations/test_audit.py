"""Audits, repairs, explanations and stuck runs, asked as over HTTP."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fencepost.config import settings_from
from fencepost.core.fair_share import Allowance
from fencepost.model.audit import Action, LogFilter
from fencepost.model.identifiers import RunKey, tick_key
from fencepost.model.run import RunState
from fencepost.operations import audit as audits
from fencepost.operations.audit import AuditRequest, RepairRequest, audit, bounded_progress, repair, report_of
from fencepost.operations.control import Control
from fencepost.operations.responses.accounts import AuditResponse
from fencepost.operations.runs import RunRequest
from fencepost.operations.stuck import ListStuckRequest, find_stuck
from fencepost.operations.why import TickRequest, why_run, why_tick
from fencepost.services.accounting import Bounds, _silent
from tests.operations.asking import asked, refused
from tests.services.house import NS, START
from tests.services.test_accounting import BEAT, Audited
from tests.services.verbs_work import ANNA

NARROW = Bounds(schedules_max=1, ticks_max=12)


class World(Audited):
    """A beat of ten seconds, two minutes old."""

    async def begin(self) -> Control:
        await self.put("beat")
        await self.pass_s(120)
        self.control = Control(self.store, NS, ANNA)
        return self.control

    def key(self, after_s: float) -> RunKey:
        return tick_key(BEAT, START + timedelta(seconds=after_s), 1)


def found(report: AuditResponse) -> dict[str, int]:
    return {kind: count for kind, count in report.counts.items() if count}


async def test_a_sound_ledger_has_nothing_to_report() -> None:
    control = await World().begin()
    for wanted in (AuditRequest(), AuditRequest(schedule="beat", since="2026-03-01T12:00:10Z", until="0s")):
        report = await asked(control, audit, wanted)
        assert (report.faults, found(report), report.repaired) == (0, {}, [])
        assert report.expected == report.recorded == report.schedules[0].expected > 10
        assert report.run_accounted == report.accounted / report.due > 0.9


async def test_a_report_repairs_nothing_and_a_repair_does_once() -> None:
    world = World()
    control = await world.begin()
    gone = world.key(50)
    world.delete(gone)
    report = await asked(control, audit, AuditRequest(schedule="beat"))
    assert (found(report), report.repaired) == ({"missing": 1}, [])
    assert report.schedules[0].findings[0].run_keys == [gone]
    repaired = await asked(control, repair, RepairRequest(schedule="beat"))
    assert (repaired.repaired, repaired.faults) == ([gone], 1)
    assert (await world.run(gone)).state is RunState.READY
    (entry,) = await world.memory.audit_log.list(NS, LogFilter(action=Action.RUN_RESTORE))
    assert (entry.subject, entry.author) == (gone, ANNA)
    assert (await asked(control, repair, RepairRequest())).repaired == []


async def test_a_repair_beyond_the_quota_plans_nothing() -> None:
    world = World()
    await world.begin()
    world.delete(gone := world.key(50), world.key(60))
    settings = settings_from({}, overrides={"quota_enqueues_per_s": 0.001})
    control = Control(world.store, NS, ANNA, settings=settings, enqueues=Allowance(reserve_s=1_500))
    said = await refused(control, repair, RepairRequest())
    assert said.startswith("namespace default: asks for 2 runs and may make 1 now, as its quota is 0.001")
    assert (await asked(control, audit, AuditRequest())).counts["missing"] == 2
    only = RepairRequest(until="2026-03-01T12:00:50Z")
    assert (await asked(control, repair, only)).repaired == [gone]
    assert "asks for 1 run and may make 0 now" in await refused(control, repair, RepairRequest())


async def test_only_the_range_is_judged_with_its_first_fire_time() -> None:
    world = World()
    control = await world.begin()
    world.delete(world.key(50))
    only = AuditRequest(since="2026-03-01T12:00:50Z", until="2026-03-01T12:00:50Z")
    assert (await asked(control, audit, only)).counts["missing"] == 1
    later = AuditRequest(since="2026-03-01T12:00:51Z")
    assert (await asked(control, audit, later)).counts["missing"] == 0


async def test_more_ticks_than_somebody_can_wait_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audits, "BOUNDS", NARROW)
    world = World()
    control = await world.begin()
    await world.pass_s(60)
    said = await refused(control, audit, AuditRequest())
    assert said.startswith("audit: more than 12 ticks are expected; ask for a shorter range")
    assert await refused(control, repair, RepairRequest()) == said
    assert (await asked(control, audit, AuditRequest(since="1m"))).expected > 0
    # Whoever has the store may look at all of it.
    assert (await report_of(control, AuditRequest(), _silent)).expected > 12
    await world.put("other", every_s=3600)
    assert "more than 1 schedules; name one" in await refused(control, audit, AuditRequest(since="1m"))


async def test_the_ticks_of_all_schedules_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audits, "BOUNDS", Bounds(schedules_max=9, ticks_max=20))
    world = World()
    control = await world.begin()
    assert (await asked(control, audit, AuditRequest())).expected <= 20
    await world.put("other")
    await world.pass_s(120)
    assert (await asked(control, audit, AuditRequest(schedule="beat", since="2m"))).expected <= 20
    assert "more than 20 ticks" in await refused(control, audit, AuditRequest(since="2m"))


async def test_unexpected_runs_are_bounded_too() -> None:
    bounded_progress(BEAT, audits.RUNS_MAX)
    with pytest.raises(Exception, match="has more than 200000 runs; ask for a shorter range"):
        bounded_progress(BEAT, audits.RUNS_MAX + 1)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (AuditRequest(schedule="beatt"), "did you mean beat?"),
        (AuditRequest(since="1h", until="2h"), "until: expected a time that is not before since"),
        (AuditRequest(since="yesterday"), "since: "),
        (AuditRequest(until="9999-12-31T00:00:00Z"), "expected a year"),
    ],
)
async def test_what_cannot_be_audited_is_refused(wanted: AuditRequest, said: str) -> None:
    assert said in await refused(await World().begin(), audit, wanted)


async def test_a_story_is_told_by_schedule_and_time_and_by_key() -> None:
    world = World()
    control = await world.begin()
    by_time = await asked(
        control, why_tick, TickRequest(schedule_id="beat", fire_time="2026-03-01T12:00:50Z")
    )
    assert (by_time.verdict, by_time.run_keys) == ("succeeded", [world.key(50)])
    assert await asked(control, why_run, RunRequest(run_key=world.key(50))) == by_time
    world.delete(world.key(50))
    gone = await asked(control, why_run, RunRequest(run_key=world.key(50)))
    assert gone.verdict == "missing"
    assert any("--repair" in one for one in gone.remedies)


async def test_a_story_is_told_without_the_secrets_of_its_errors() -> None:
    world = World()
    control = await world.begin()
    error = "ConnectionError: postgresql://shop:hunter2@db/shop"
    world.change(world.key(50), state=RunState.DEAD, error=error)
    told = " ".join((await asked(control, why_run, RunRequest(run_key=world.key(50)))).sentences)
    assert "postgresql://shop:***@db/shop" in told
    assert "hunter2" not in told


@pytest.mark.parametrize(
    ("run_key", "said"),
    [
        ("report#nobody", "not found"),
        ("stuck", "not found"),
        ("beat#0001-01-01T00:00:00Z#1", "not found"),
        ("beat#9999-12-31T23:59:59Z#1", "not found"),
        ("beatt#2026-03-01T12:00:50Z#1", "did you mean beat?"),
    ],
)
async def test_no_story_is_made_up(run_key: str, said: str) -> None:
    assert said in await refused(await World().begin(), why_run, RunRequest(run_key=run_key))


async def test_a_time_that_is_none_has_no_story() -> None:
    control = await World().begin()
    for text in ("noon", "0001-01-01T00:00:00Z"):
        tick = TickRequest(schedule_id="beat", fire_time=text)
        assert "fire_time" in await refused(control, why_tick, tick)


async def test_stuck_runs_come_by_job_and_age_a_page_at_a_time() -> None:
    world = World()
    control = await world.begin()
    assert (await asked(control, find_stuck, ListStuckRequest())).items == []
    keys = [world.key(after_s) for after_s in (30, 20, 40, 50)]
    for key in keys:
        started = (await world.run(key)).started_at
        world.change(key, state=RunState.RUNNING, finished_at=None, alive_until=started)
    for after_s in (40, 50):
        world.change(world.key(after_s), started_at=START)
    walked, after = [], None
    for _ in keys:
        page = await asked(control, find_stuck, ListStuckRequest(limit=1, after=after))
        walked += [one.run_key for one in page.items]
        after = page.next
    assert (walked, after) == ([world.key(after_s) for after_s in (40, 50, 20, 30)], None)
    (first,) = (await asked(control, find_stuck, ListStuckRequest(limit=1))).items
    assert "silent" in first.why
    assert first.age_s >= 80
    assert "cursor" in await refused(control, find_stuck, ListStuckRequest(after="WzFd"))
