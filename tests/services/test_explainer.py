"""Why a tick ran or did not, told from a real ledger."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from fencepost.core.accounts import Kind
from fencepost.core.explanation import Explanation, TickVerdict
from fencepost.errors import InvalidTrigger, UnknownRun, UnknownSchedule
from fencepost.model.audit import Author
from fencepost.model.claiming import Admit, ScheduleFacts, Verdict
from fencepost.model.clocks import StoreTime
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import JobName, ScheduleId, tick_key
from fencepost.model.plan import Tick
from fencepost.model.policies import Overlap
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations import ticks
from fencepost.operations.control import Control
from fencepost.services.accounting import Auditor
from fencepost.services.explainer import Explainer
from fencepost.triggers import Every
from tests.rows import drop_run
from tests.services.house import NS, START, Bench, House, PlanningNode, WorkingNode, make_job

ANNA = Author("anna", "cli on web-3", "quarter end")
BEAT = ScheduleId("beat")


class Told(House):
    """A house with a beat every ten seconds, a node that plans and a worker."""

    def __init__(self) -> None:
        super().__init__()
        self.node = PlanningNode(self, "node-1")
        self.bench = Bench()
        self.teller = Explainer(self.store, NS)

    async def plan(self) -> None:
        await self.node.membership.run_once()
        await self.node.elector.run_once()
        await self.node.planner.run_once()

    async def why(self, seconds: float) -> Explanation:
        return await self.teller.why("beat", at(seconds))


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def said(explanation: Explanation) -> str:
    return " ".join(explanation.sentences)


@pytest.fixture
async def house() -> Told:
    house = Told()
    await house.put("beat", 10)
    await house.plan()
    return house


async def beat(house: Told, **spec: Any) -> WorkingNode:
    """The beat by another policy, planned, and a worker for it."""
    await house.put("beat", 10, **spec)
    await house.plan()
    worker = WorkingNode(house, make_job(house.bench))
    await worker.register()
    return worker


async def meet(house: Told, worker: WorkingNode) -> None:
    """The first tick begins, and goes on when the second one is due."""
    for _ in range(2):
        house.clock.advance(10)
        await worker.worker.run_once()


def admit_all(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
    return [Admit(one.run_key) for one in facts.due]


async def test_a_tick_ahead_is_planned_and_one_beyond_the_horizon_is_not_yet(house: Told) -> None:
    assert (await house.why(30)).verdict is TickVerdict.PLANNED
    later = await house.why(600)
    assert later.verdict is TickVerdict.NOT_PLANNED_YET
    assert "2026-03-01T12:09:00Z" in said(later)


async def test_a_time_between_two_ticks_names_both(house: Told) -> None:
    explanation = await house.why(15)
    assert explanation.verdict is TickVerdict.NO_SUCH_FIRE_TIME
    assert "12:00:10Z" in said(explanation)
    assert "12:00:20Z" in said(explanation)


async def test_the_neighbours_are_those_of_the_versions_own_time(house: Told) -> None:
    explanation = await house.why(5)
    assert "before" not in said(explanation)
    house.clock.advance(12)
    await house.memory.schedules.pause(NS, BEAT, "enough", author=ANNA)
    assert "after" not in said(await house.why(11))


async def test_a_time_before_the_schedule_and_one_in_a_pause(house: Told) -> None:
    assert (await house.why(-50)).verdict is TickVerdict.BEFORE_IT_EXISTED
    house.clock.advance(12)
    await house.memory.schedules.pause(NS, BEAT, "enough", author=ANNA)
    house.clock.advance(100)
    withdrawn = await house.why(20)
    assert withdrawn.verdict is TickVerdict.WITHDRAWN
    assert "schedule.pause by anna" in said(withdrawn)
    paused = await house.why(90)
    assert paused.verdict is TickVerdict.PAUSED
    assert "by anna" in said(paused)
    await house.memory.schedules.remove(NS, BEAT, author=ANNA)
    assert (await house.why(500)).verdict is TickVerdict.REMOVED


async def test_a_skipped_tick_names_the_run_that_it_met(house: Told) -> None:
    worker = await beat(house, overlap=Overlap.SKIP)
    await meet(house, worker)
    first = (await house.runs("beat"))[0].run_key
    explanation = await house.why(20)
    assert explanation.verdict is TickVerdict.SKIPPED
    assert f"It met {first}" in said(explanation)
    assert (await house.why(10)).verdict is TickVerdict.RUNNING
    house.bench.finish.set()
    await worker.reported(0)
    assert (await house.why(10)).verdict is TickVerdict.SUCCEEDED


async def test_a_buffered_tick_waits_behind_the_one_before_it(house: Told) -> None:
    worker = await beat(house, overlap=Overlap.BUFFER_ONE)
    await meet(house, worker)
    first = tick_key(BEAT, at(10), 2)
    explanation = await house.why(20)
    assert explanation.verdict is TickVerdict.HELD
    assert f"waits behind {first}" in said(explanation)
    assert f"fencepost runs cancel '{first}'" in explanation.remedies[0]
    house.bench.finish.set()
    await worker.reported(0)


async def test_a_hold_and_a_freeze_say_who(house: Told) -> None:
    await house.memory.ledger.hold(NS, tick_key(BEAT, at(20), 1), ANNA)
    assert 'held by name by anna (cli on web-3): "quarter end"' in said(await house.why(20))
    await house.memory.freezes.freeze(NS, Scope(ScopeKind.SCHEDULE, "beat"), ANNA)
    frozen = await house.why(30)
    assert frozen.verdict is TickVerdict.HELD
    assert "Schedule beat is frozen" in said(frozen)


async def test_a_tick_that_was_held_or_called_off_ahead_of_time_was_never_missing(house: Told) -> None:
    verbs = Control(house.store, NS, ANNA)
    await ticks.hold(verbs, "beat", at(600))
    held = await house.why(600)
    assert held.verdict is TickVerdict.HELD
    assert 'No planner had come to it yet when it was held by name by anna (cli on web-3): "qu' in said(held)
    await ticks.skip(verbs, "beat", at(610))
    skipped = await house.why(610)
    assert skipped.verdict is TickVerdict.SKIPPED
    assert "when it was called off by name by anna" in said(skipped)
    for explanation in (held, skipped):
        assert "missing" not in said(explanation)
        assert "epoch" not in said(explanation)


async def test_a_held_tick_that_an_edit_spared_says_so_and_is_nothing_to_worry_about(house: Told) -> None:
    await ticks.hold(Control(house.store, NS, ANNA), "beat", at(20))
    await house.put("beat", 7)
    explanation = await house.why(20)
    assert explanation.verdict is TickVerdict.HELD
    assert "It was held when its schedule was edited, and stayed as a tick by hand" in said(explanation)
    house.clock.advance(30)
    report = await Auditor(house.store, NS).audit("beat", START, at(30))
    assert not {Kind.UNEXPECTED, Kind.OVERDUE} & report.counts.keys()


async def test_a_tick_that_was_restored_and_admitted_was_planned_by_no_leader(house: Told) -> None:
    await house.memory.ledger.plan_by_name(NS, BEAT, 1, [Tick(at(200), at(200))], ANNA)
    house.clock.advance(300)
    await house.memory.ledger.sweep_late(1, 10, admit_all)
    explanation = await house.why(200)
    assert "It was missing, and was written by name by anna" in said(explanation)
    assert "admitted to catch-up" in said(explanation)
    assert "epoch" not in said(explanation)


async def test_a_tick_in_a_missed_range_and_one_that_is_gone(house: Told) -> None:
    house.clock.advance(3_600)
    assert (await house.why(1_000)).verdict is TickVerdict.MISSING
    await house.plan()
    explanation = await house.why(1_000)
    assert explanation.verdict is TickVerdict.MISSED
    assert "too late" in said(explanation)
    assert (await house.why(1_005)).verdict is TickVerdict.NO_SUCH_FIRE_TIME


async def test_a_run_key_is_enough_also_where_its_row_is_gone(house: Told) -> None:
    key = tick_key(BEAT, at(20), 1)
    assert (await house.teller.why_run(key)).verdict is TickVerdict.PLANNED
    drop_run(house.memory, key)
    assert (await house.teller.why_run(key)).verdict is TickVerdict.MISSING
    by_hand = await house.enqueue("one")
    explanation = await house.teller.why_run(by_hand)
    assert (explanation.verdict, explanation.schedule_id) == (TickVerdict.READY, None)


@pytest.mark.parametrize("name", ["report#no", "a#b#c", "a#b#c#d"])
async def test_an_unknown_run_is_refused(house: Told, name: str) -> None:
    with pytest.raises(UnknownRun):
        await house.teller.why_run(name)
    with pytest.raises(UnknownSchedule):
        await house.teller.why("beatt", at(20))


async def test_a_tick_has_a_story_also_where_no_earlier_fire_time_is_found(
    house: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.triggers.combine.LOOKS_BACK_MAX", 20)
    never_before = Every("1s") - Every("1s").between(end=at(3600))
    spec = ScheduleSpec(JobName("report"), trigger=never_before.to_json())
    await house.put_spec("beat", spec)
    with pytest.raises(InvalidTrigger):
        never_before.previous(at(3600))
    assert "2026-03-01T13:00:00Z" in said(await house.why(3599.5))
