"""Closed gates, listed and decided."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import ValidationError

from fencepost.errors import UnknownGate, UsageError
from fencepost.model.audit import Author
from fencepost.model.claiming import Admit, CloseGate, ScheduleFacts, Verdict
from fencepost.model.clocks import StoreTime
from fencepost.model.gate import GateDecision
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.plan import Tick
from fencepost.model.policies import CatchUp, parse_overlap
from fencepost.model.run import RunState
from fencepost.operations.control import Control
from fencepost.operations.gates import (
    DecideGateRequest,
    DropGateRequest,
    ListGatesRequest,
    drop_gate,
    keep_latest,
    list_gates,
    open_gate,
)
from fencepost.operations.operation import Operation
from fencepost.operations.responses.gates import GateChangeResponse
from tests.operations.asking import asked, there_and_back
from tests.services.house import NS, START, House
from tests.services.verbs_work import ANNA, spec

QUESTION = DecideGateRequest(schedule_id="invoices")
DROP = DropGateRequest(schedule_id="invoices", reason="old news")


async def closed(house: House, *schedules: str, **rest: Any) -> Control:
    """Each of these holds back three late ticks."""
    for name in schedules:
        await house.put_spec(name, spec(**rest))
        times = [START + count * timedelta.resolution for count in (1, 2, 3)]
        ticks = [Tick(one, one) for one in times]
        await house.memory.ledger.plan_by_name(NS, ScheduleId(name), 1, ticks, None)

    def judge(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
        return [*(Admit(one.run_key, held=True) for one in facts.due), CloseGate("too many wait")]

    house.clock.advance(60)
    for _ in schedules:
        await house.memory.ledger.sweep_late(0, 10, judge)
    return Control(house.store, NS, ANNA)


@pytest.mark.parametrize(
    ("verb", "question", "decision", "released", "missed"),
    [
        (open_gate, QUESTION, GateDecision.OPEN, 3, 0),
        (keep_latest, QUESTION, GateDecision.LATEST, 1, 2),
        (drop_gate, DROP, GateDecision.DROP, 0, 3),
    ],
)
async def test_a_closed_gate_is_decided(
    verb: Operation[Any, Any, GateChangeResponse],
    question: DecideGateRequest | DropGateRequest,
    decision: GateDecision,
    released: int,
    missed: int,
) -> None:
    house = House()
    control = await closed(house, "invoices")
    (gate,) = (await asked(control, list_gates, ListGatesRequest())).items
    assert (gate.schedule_id, gate.held, gate.reason) == ("invoices", 3, "too many wait")
    done = await asked(control, verb, question)
    assert done == GateChangeResponse(schedule_id="invoices", decision=decision, released=released)
    assert (await house.states()).count(RunState.MISSED) == missed
    assert (await asked(control, list_gates, ListGatesRequest())).items == []
    with pytest.raises(UnknownGate):
        await asked(control, verb, question)


async def test_a_gate_says_how_many_of_its_runs_would_run_at_a_time_and_its_runs_who_decided() -> None:
    house = House()
    overlap, catch_up = parse_overlap("allow(2)"), CatchUp("parallel(4)", "1h")
    control = await closed(house, "invoices", overlap=overlap, catch_up=catch_up)
    (gate,) = (await asked(control, list_gates, ListGatesRequest())).items
    assert (gate.at_once, gate.lasts_s) == (2, None)
    await asked(control, keep_latest, QUESTION)
    missed = [one for one in await house.runs() if one.state is RunState.MISSED]
    assert ["anna: the bank is closed" in (one.reason or "") for one in missed] == [True, True]


async def test_another_namespaces_gate_is_not_there() -> None:
    house = House()
    await closed(house, "invoices")
    other = Control(house.store, Namespace("billing"), Author("eve", "api"))
    assert (await asked(other, list_gates, ListGatesRequest())).items == []
    with pytest.raises(UnknownGate):
        await asked(other, open_gate, QUESTION)
    assert RunState.READY in await house.states()


@pytest.mark.parametrize("reason", ["", "  "])
async def test_nothing_is_dropped_without_a_reason(reason: str) -> None:
    control = await closed(House(), "invoices")
    question = DropGateRequest(schedule_id="invoices", reason=reason)
    with pytest.raises(UsageError, match="say why"):
        await drop_gate.carry_out(control, question)
    if not reason:
        with pytest.raises(ValidationError):
            there_and_back(drop_gate, question)
    assert len((await asked(control, list_gates, ListGatesRequest())).items) == 1


async def test_gates_are_given_in_pages() -> None:
    control = await closed(House(), "c", "a", "b")
    first = await asked(control, list_gates, ListGatesRequest(limit=2))
    last = await asked(control, list_gates, ListGatesRequest(limit=2, after=first.next))
    assert [one.schedule_id for one in (*first.items, *last.items)] == ["a", "b", "c"]
    assert last.next is None
