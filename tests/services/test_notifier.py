"""The notifier finds out what is wrong, and has it told once, also where its answers are lost."""

from __future__ import annotations

from functools import partial

import pytest

from fencepost.errors import PermanentFailure, StoreUnavailable
from fencepost.model.audit import PROGRAM
from fencepost.model.gate import GateDecision
from fencepost.model.identifiers import JobName, NodeId, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.node import Node, NodeReport
from fencepost.model.notification import DELIVERY, Event, Target, TargetKind
from fencepost.model.run import RunFilter, RunRecord
from fencepost.rules.gates import close_gate
from fencepost.services.notifier import IDLE_S, Notifier
from tests.services.house import NS, Bench, House, WorkingNode, make_job, until

OPS = Target("ops", TargetKind.WEBHOOK, url="https://hooks.example/ops")


def of(*events: Event) -> Target:
    return Target("ops", TargetKind.WEBHOOK, events, url="https://hooks.example/ops")


def notifier_of(house: House, leads: bool = True) -> Notifier:
    return Notifier(house.store, house.settings, house.clock, lambda: leads)


async def watching(target: Target = OPS) -> tuple[House, Notifier]:
    """A house with a target, and a notifier that has been by."""
    house = House()
    await house.memory.notifications.put(NS, [target])
    notifier = notifier_of(house)
    await notifier.run_once()
    return house, notifier


async def dead(house: House, *keys: str) -> None:
    """Runs that fail for good."""

    def refuse() -> None:
        raise PermanentFailure("no")

    node = WorkingNode(house, make_job(refuse))
    for key in keys:
        await house.enqueue(key)
    await node.worker.run_once()
    await node.reported(0)


async def after_the_window(house: House, notifier: Notifier) -> list[RunRecord]:
    """What has been told when the window has passed."""
    rest_s = await notifier.run_once()
    house.clock.advance(max(rest_s, house.settings.notify_window_s))
    await notifier.run_once()
    return await told(house)


async def told(house: House) -> list[RunRecord]:
    return list(await house.memory.ledger.list(NS, RunFilter(job=DELIVERY)))


def subjects(run: RunRecord) -> list[str]:
    message = run.payload["message"]
    assert isinstance(message, dict)
    items = message["items"]
    assert isinstance(items, list)
    return [str(one["subject"]) for one in items if isinstance(one, dict)]


def events(runs: list[RunRecord]) -> list[str]:
    found = [run.payload["message"] for run in runs]
    return sorted(str(one["event"]) for one in found if isinstance(one, dict))


async def test_without_a_target_nothing_else_is_asked() -> None:
    house = House()
    assert await notifier_of(house).run_once() == IDLE_S
    assert house.store.names() == ["notifications.everywhere"]


async def test_a_node_that_does_not_lead_asks_for_nothing() -> None:
    house, _ = await watching()
    house.store.calls.clear()
    await notifier_of(house, leads=False).run_once()
    assert house.store.names() == []


async def test_a_look_that_takes_long_is_made_less_often() -> None:
    house, notifier = await watching(of(Event.INCOMPLETE))
    slow = house.memory.ledger.tally_by_job

    async def tally(*arguments: object) -> object:
        house.clock.advance(6)
        return await slow(*arguments)  # type: ignore[arg-type]

    house.memory.ledger.tally_by_job = tally  # type: ignore[method-assign, assignment]
    assert await notifier.run_once() == pytest.approx(60)


async def test_events_without_a_target_are_not_judged() -> None:
    house, notifier = await watching(of(Event.DEAD))
    house.store.calls.clear()
    await notifier.run_once()
    assert house.store.names() == ["notifications.everywhere", "notifications.collect"]


async def test_a_notifier_whose_answer_was_lost_does_not_tell_twice() -> None:
    """As one that was killed after the transaction, before it or anybody knew."""
    house, notifier = await watching(of(Event.DEAD))
    await dead(house, "1", "2")
    await notifier.run_once()
    house.clock.advance(house.settings.notify_window_s)
    house.store.fail_after("notifications.collect")
    with pytest.raises(StoreUnavailable):
        await notifier.run_once()
    assert len(await told(house)) == 1
    assert len(await after_the_window(house, notifier_of(house))) == 1


async def test_a_notifier_that_was_cut_off_before_loses_nothing() -> None:
    house, notifier = await watching(of(Event.DEAD))
    await dead(house, "1")
    await notifier.run_once()
    house.clock.advance(house.settings.notify_window_s)
    house.store.fail_before("notifications.collect")
    with pytest.raises(StoreUnavailable):
        await notifier.run_once()
    assert await told(house) == []
    await notifier_of(house).run_once()
    assert [subjects(run) for run in await told(house)] == [["report#1"]]


async def test_it_is_back_when_the_window_has_passed() -> None:
    house, notifier = await watching(of(Event.DEAD))
    await dead(house, "1")
    assert await notifier.run_once() == house.settings.notify_every_s
    house.clock.advance(house.settings.notify_window_s - 1)
    assert await notifier.run_once() == 1.0


async def test_a_run_that_is_stuck_is_told_and_its_end_too() -> None:
    house, notifier = await watching(of(Event.STUCK, Event.RECOVERED))
    bench = Bench()
    node = WorkingNode(house, make_job(bench))
    await node.register()
    await house.enqueue("1")
    await node.worker.run_once()
    await until(lambda: bool(bench.begun))
    house.clock.advance(1_000)
    (run,) = await after_the_window(house, notifier)
    assert subjects(run) == ["report#1"]
    bench.finish.set()
    await node.reported(0)
    assert events(await after_the_window(house, notifier)) == ["recovered", "stuck"]


async def test_a_gate_that_closes_is_told() -> None:
    house, notifier = await watching(of(Event.GATE_CLOSED))
    await house.put("beat")
    await house.memory.rows.write(lambda tx: close_gate(tx, NS, ScheduleId("beat"), "3 of 4 failed"))
    (run,) = await after_the_window(house, notifier)
    assert subjects(run) == ["beat"]
    await house.store.gates.decide(NS, ScheduleId("beat"), GateDecision.DROP, PROGRAM)
    assert len(await after_the_window(house, notifier)) == 1


async def test_a_schedule_whose_job_no_process_has_is_told() -> None:
    house, notifier = await watching(of(Event.UNSERVED))
    await house.memory.jobs.register(NS, [JobSpec(JobName("report"))])
    await house.put("beat")
    node = Node(NodeId("now"), "now", 1, plans=True, works=True)
    await house.memory.nodes.beat(node, NodeReport(jobs=(JobName("other"),)), 1_000_000)
    (run,) = await after_the_window(house, notifier)
    assert subjects(run) == ["beat"]


async def test_a_schedule_is_not_said_to_be_served_again_when_all_workers_go_away() -> None:
    house, notifier = await watching(of(Event.UNSERVED, Event.RECOVERED))
    await house.memory.jobs.register(NS, [JobSpec(JobName("report"))])
    await house.put("beat")
    node = Node(NodeId("now"), "now", 1, plans=True, works=True)
    await house.memory.nodes.beat(node, NodeReport(jobs=(JobName("other"),)), 1_000)
    assert events(await after_the_window(house, notifier)) == ["unserved"]
    house.clock.advance(2_000)
    assert events(await after_the_window(house, notifier)) == ["unserved"]
    await house.memory.nodes.beat(node, NodeReport(jobs=(JobName("report"),)), 1_000_000)
    assert events(await after_the_window(house, notifier)) == ["recovered", "unserved"]


async def test_an_alarm_that_no_longer_fits_into_the_list_is_not_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fencepost.services.notifier.STATES_MAX", 1)
    house, notifier = await watching(of(Event.GATE_CLOSED, Event.RECOVERED))
    for name in ("late", "early"):
        await house.put(name)
        closing = partial(close_gate, namespace=NS, schedule_id=ScheduleId(name), reason="3 failed")
        await house.memory.rows.write(closing)
        assert events(await after_the_window(house, notifier)) == ["gate_closed"]
    await house.store.gates.decide(NS, ScheduleId("late"), GateDecision.DROP, PROGRAM)
    assert events(await after_the_window(house, notifier)) == ["gate_closed", "gate_closed", "recovered"]


async def test_an_alarm_that_ends_is_told_although_there_are_more_than_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house, notifier = await watching(of(Event.GATE_CLOSED, Event.RECOVERED))
    for name in ("a", "b", "c"):
        await house.put(name)
        closing = partial(close_gate, namespace=NS, schedule_id=ScheduleId(name), reason="3 failed")
        await house.memory.rows.write(closing)
    (run,) = await after_the_window(house, notifier)
    assert subjects(run) == ["a", "b", "c"]
    monkeypatch.setattr("fencepost.services.notifier.STATES_MAX", 1)
    await house.store.gates.decide(NS, ScheduleId("b"), GateDecision.DROP, PROGRAM)
    assert events(await after_the_window(house, notifier)) == ["gate_closed", "recovered"]


async def test_a_schedule_is_not_said_to_be_served_again_where_too_many_jobs_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house, notifier = await watching(of(Event.UNSERVED, Event.RECOVERED))
    await house.memory.jobs.register(NS, [JobSpec(JobName("report"))])
    await house.put("beat")
    node = Node(NodeId("now"), "now", 1, plans=True, works=True)
    await house.memory.nodes.beat(node, NodeReport(jobs=(JobName("other"),)), 1_000_000)
    assert events(await after_the_window(house, notifier)) == ["unserved"]
    for place in ("notifier", "serving"):
        monkeypatch.setattr(f"fencepost.services.{place}.UNSERVED_MAX", 1)
    await house.memory.jobs.register(NS, [JobSpec(JobName("another"))])
    assert events(await after_the_window(house, notifier)) == ["unserved"]


async def test_a_job_below_its_target_is_not_told_later_than_with_the_first_run_that_failed() -> None:
    house, notifier = await watching(of(Event.INCOMPLETE))
    assert await after_the_window(house, notifier) == []
    await dead(house, "1")
    (run,) = await after_the_window(house, notifier)
    assert subjects(run) == ["report"]
    message = run.payload["message"]
    assert isinstance(message, dict)
    assert "0 of 1 ran in the last day, below 99.9 %" in str(message["items"])
