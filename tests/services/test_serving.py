"""Schedules that no code serves are told everywhere; renamed and absent ones go the way that code says."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from fencepost.core.serving import Unserved, unserved_jobs
from fencepost.errors import StoreUnavailable
from fencepost.model.audit import Author, LogFilter
from fencepost.model.identifiers import JobName, NodeId, ScheduleId, job_key
from fencepost.model.job import JobSpec
from fencepost.model.node import Node, NodeReport
from fencepost.model.run import RunFilter
from fencepost.model.schedule import Absent, ScheduleSpec, ScheduleState
from fencepost.operations import jobs as job_operations
from fencepost.operations import pausing
from fencepost.operations import runs as run_operations
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.operations.status import StatusRequest, show_status
from fencepost.services.accounting import Auditor
from fencepost.services.deployer import Deployer, code_digest
from fencepost.services.enqueueing import new_run
from fencepost.services.gauges import Gauges
from fencepost.services.serving import unserved
from fencepost.telemetry.events import LedgerMeasured, listen
from fencepost.triggers import Every
from tests.services.house import NS, House

OLD, NEW, OTHER = (JobName(one) for one in ("old", "new", "other"))
BEAT = ScheduleId("beat")
QUIET_S = 0.1


def spec(job: JobName, absent: Absent = Absent.KEEP) -> ScheduleSpec:
    return ScheduleSpec(job, Every(60).to_json(), absent=absent)


def jobs(*specs: JobSpec) -> dict[str, JobSpec]:
    return {one.name: one for one in specs}


def deployer(house: House, known: dict[str, JobSpec], **schedules: ScheduleSpec) -> Deployer:
    return Deployer(house.store, NS, known, {ScheduleId(name): one for name, one in schedules.items()})


async def alive(house: House, name: str, *names: JobName, told: bool = True, **code: ScheduleSpec) -> None:
    digest = code_digest({ScheduleId(one): each for one, each in code.items()})
    node = Node(NodeId(name), name, 1, plans=True, works=True, code_digest=digest)
    report = NodeReport(jobs=names if told else None)
    await house.memory.nodes.beat(node, report, 1_000_000)


async def state_of(house: House, name: str) -> ScheduleState:
    found = await house.memory.schedules.get(NS, ScheduleId(name))
    assert found is not None
    return found.state


async def left_over(house: House) -> None:
    """Job `old` left the code, its schedule is still there, and the code that runs has job `other`."""
    await deployer(house, jobs(JobSpec(OLD)), beat=spec(OLD)).start()
    await alive(house, "now", OTHER)


async def test_a_schedule_whose_job_no_process_has_is_found() -> None:
    house = House()
    await left_over(house)
    assert await unserved(house.store, NS) == [Unserved(BEAT, OLD)]
    assert Unserved(BEAT, OLD).words == "schedule beat: no running process has job old"


async def test_the_metric_counts_what_no_process_serves() -> None:
    house, found = House(), list[LedgerMeasured]()
    unlisten = listen(lambda event: found.append(event) if isinstance(event, LedgerMeasured) else None)
    try:
        await left_over(house)
        await Gauges(house.store, house.settings, house.clock).run_once()
        await alive(house, "old", OLD)
        await Gauges(house.store, house.settings, house.clock).run_once()
    finally:
        unlisten()
    assert [one.unserved for one in found] == [1, 0]


async def test_a_schedule_whose_job_some_process_has_is_not() -> None:
    house = House()
    await left_over(house)
    await alive(house, "old", OLD)
    assert await unserved(house.store, NS) == []


async def test_a_worker_that_does_not_say_what_it_has_may_have_any_job() -> None:
    house = House()
    await left_over(house)
    await alive(house, "older", told=False)
    assert await unserved(house.store, NS) == []


async def test_external_jobs_and_paused_schedules_are_left_alone() -> None:
    house = House()
    await left_over(house)
    nodes = await house.memory.nodes.live()
    assert unserved_jobs({OLD: JobSpec(OLD, external=True)}, nodes, NS) == []
    await pausing.pause(Control(house.store, NS), "beat")
    assert await unserved(house.store, NS) == []


async def test_status_audit_and_why_say_it() -> None:
    house = House()
    await left_over(house)
    status = await show_status.carry_out(Control(house.store, NS), StatusRequest())
    assert [(one.schedule_id, one.job) for one in status.unserved] == [(BEAT, OLD)]
    verbs, now = Auditor(house.store, NS), await house.store.now()
    (account,) = (await verbs.audit(None, now, now)).accounts
    assert account.notes == ("no running process has job old",)
    schedule = await house.memory.schedules.get(NS, BEAT)
    assert schedule is not None
    house.clock.advance(3_600)
    moment = Every(60).next_after(await house.store.now())
    assert moment is not None
    explanation = await verbs.why("beat", moment)
    assert "No running process has job old." in explanation.sentences
    assert any('renamed_from="old"' in one for one in explanation.remedies)


async def test_it_is_said_at_deploy(caplog: pytest.LogCaptureFixture) -> None:
    house = House()
    await left_over(house)
    with caplog.at_level("WARNING", logger="fencepost"):
        await deployer(house, jobs(JobSpec(OTHER)), more=spec(OTHER)).start()
    said = [one.getMessage() for one in caplog.records]
    assert "schedule beat: no running process has job old" in said
    assert "schedule beat: is in no running code and goes on" in said


async def test_a_renamed_job_keeps_its_schedule_its_history_and_its_cursor() -> None:
    house = House()
    await deployer(house, jobs(JobSpec(OLD)), old=spec(OLD)).start()
    before = await house.memory.schedules.get(NS, ScheduleId("old"))
    assert before is not None
    renamed = JobSpec(NEW, renamed_from=(OLD,))
    await deployer(house, jobs(renamed), new=spec(NEW)).start()
    after = await house.memory.schedules.get(NS, ScheduleId("old"))
    assert after is not None
    assert (after.version, after.spec.job, after.state) == (2, NEW, ScheduleState.ACTIVE)
    assert await house.memory.schedules.get(NS, ScheduleId("new")) is None
    assert len(await house.memory.schedules.history(NS, ScheduleId("old"))) == 2
    await deployer(house, jobs(renamed), new=spec(NEW)).start()
    again = await house.memory.schedules.get(NS, ScheduleId("old"))
    assert again is not None
    assert again.version == 2


async def test_both_names_of_a_renamed_job_are_one_for_lists_keys_and_why() -> None:
    house = House()
    await deployer(house, jobs(JobSpec(OLD)), old=spec(OLD)).start()
    control = Control(house.store, NS)
    await job_operations.enqueue_run(control, OLD, {}, "k")
    early = await schedule_operations.trigger(control, "old")
    await deployer(house, jobs(JobSpec(NEW, renamed_from=(OLD,))), new=spec(NEW)).start()
    key, fresh = await job_operations.enqueue_run(control, NEW, {}, "k")
    assert (key, fresh) == (job_key(OLD, "k"), False)
    house.clock.advance(1)
    late = await schedule_operations.trigger(control, "new")
    ticks = await run_operations.find_runs(control, RunFilter(schedule_id=ScheduleId("new")))
    assert [one.run_key for one in ticks] == [late, early]
    found = await run_operations.find_runs(control, RunFilter(job=NEW))
    assert {one.run_key for one in found} == {late, early, key}
    page = await run_operations.find_runs(control, RunFilter(job=NEW, limit=1))
    assert page.following(1) == (page[0].fire_time, page[0].run_key)
    explanation = await Auditor(house.store, NS).why("new", ticks[1].fire_time)
    assert (explanation.schedule_id, explanation.run_keys) == ("old", (early,))


async def test_a_key_that_was_used_before_the_job_was_renamed_is_still_taken() -> None:
    renamed = JobSpec(NEW, renamed_from=(OLD,))
    run = new_run(renamed, {}, "k")
    assert (run.run_key, run.job) == (job_key(OLD, "k"), NEW)


@pytest.mark.parametrize(
    ("policy", "state"), [(Absent.PAUSE, ScheduleState.PAUSED), (Absent.REMOVE, ScheduleState.REMOVED)]
)
async def test_an_absent_schedule_is_ended_where_its_code_said_so_and_comes_back_with_the_code(
    policy: Absent, state: ScheduleState
) -> None:
    house = House()
    await deployer(house, jobs(JobSpec(OLD)), beat=spec(OLD, policy)).start()
    newer = deployer(house, jobs(JobSpec(OTHER)), more=spec(OTHER))
    await newer.start()
    assert await state_of(house, "beat") is ScheduleState.ACTIVE
    await newer.run_once()
    assert await state_of(house, "beat") is state
    await deployer(house, jobs(JobSpec(OLD)), beat=spec(OLD, policy)).start()
    assert await state_of(house, "beat") is ScheduleState.ACTIVE


async def test_an_absent_schedule_is_not_ended_by_two_looks_at_the_start() -> None:
    """Other code that has it may only be starting too."""
    house = House()
    await deployer(house, jobs(JobSpec(OLD)), beat=spec(OLD, Absent.REMOVE)).start()
    newer = deployer(house, jobs(JobSpec(OTHER)), more=spec(OTHER))
    await newer.start()
    running = asyncio.create_task(newer.run())
    await asyncio.sleep(QUIET_S)
    assert await state_of(house, "beat") is ScheduleState.ACTIVE
    running.cancel()
    await asyncio.wait({running})
    await newer.run_once()
    assert await state_of(house, "beat") is ScheduleState.REMOVED


async def test_an_absent_schedule_is_not_ended_because_nodes_are_late_after_an_outage() -> None:
    house = House()
    await deployer(house, jobs(JobSpec(OLD)), beat=spec(OLD, Absent.REMOVE)).start()
    newer = deployer(house, jobs(JobSpec(OTHER)), more=spec(OTHER))
    await newer.start()
    house.store.fail_before("nodes.live")
    with pytest.raises(StoreUnavailable):
        await newer.run_once()
    await newer.run_once()
    assert await state_of(house, "beat") is ScheduleState.ACTIVE


async def test_an_absent_schedule_is_not_ended_while_code_that_has_it_runs() -> None:
    house = House()
    await deployer(house, jobs(JobSpec(OLD)), beat=spec(OLD, Absent.REMOVE)).start()
    await alive(house, "old", OLD, beat=spec(OLD, Absent.REMOVE))
    newer = deployer(house, jobs(JobSpec(OTHER)), more=spec(OTHER))
    await newer.start()
    await newer.run_once()
    assert await state_of(house, "beat") is ScheduleState.ACTIVE


async def test_what_a_person_paused_is_not_resumed_by_code() -> None:
    house = House()
    code = {"beat": spec(OLD, Absent.PAUSE)}
    await deployer(house, jobs(JobSpec(OLD)), **code).start()
    await pausing.pause(Control(house.store, NS, Author("anna", "a test")), "beat")
    await deployer(house, jobs(JobSpec(OLD)), **code).start()
    assert await state_of(house, "beat") is ScheduleState.PAUSED
    assert (await house.memory.audit_log.list(NS, LogFilter(limit=1)))[0].author.name == "anna"


async def test_a_policy_for_absence_alone_makes_a_version_that_a_later_start_knows() -> None:
    house = House()
    await deployer(house, jobs(JobSpec(OLD)), beat=spec(OLD)).start()
    changed = replace(spec(OLD), absent=Absent.PAUSE)
    await deployer(house, jobs(JobSpec(OLD)), beat=changed).start()
    await deployer(house, jobs(JobSpec(OLD)), beat=changed).start()
    found = await house.memory.schedules.get(NS, BEAT)
    assert found is not None
    assert (found.version, found.code_spec) == (2, changed)
