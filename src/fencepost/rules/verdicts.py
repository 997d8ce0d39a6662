"""Carrying out a judge's verdicts, the same way in every store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar, assert_never

from fencepost.model.claiming import (
    Admit,
    CloseGate,
    End,
    Judge,
    ScheduleFacts,
    Start,
    Stop,
    Verdict,
    Wait,
)
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, RunKey, ScheduleId
from fencepost.rules.allowances import Allowances
from fencepost.rules.checks import check_end

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Started:
    """A tick that may begin, with the fire time of its schedule's last success."""

    namespace: Namespace
    schedule_id: ScheduleId
    run_key: RunKey
    previous: datetime | None


@dataclass(frozen=True, slots=True)
class Ruled(Generic[V]):
    """A verdict, and the schedule that it is about."""

    namespace: Namespace
    schedule_id: ScheduleId
    verdict: V


@dataclass(slots=True)
class Rulings:
    """What a pass over several schedules amounts to. Stops are carried out before starts."""

    starts: list[Started] = field(default_factory=list)
    ends: list[Ruled[End]] = field(default_factory=list)
    admits: list[Ruled[Admit]] = field(default_factory=list)
    waits: list[Ruled[Wait]] = field(default_factory=list)
    stops: list[Ruled[Stop]] = field(default_factory=list)
    closings: list[Ruled[CloseGate]] = field(default_factory=list)

    def add(self, facts: ScheduleFacts, verdict: Verdict) -> None:
        """Take in one verdict."""
        owner = facts.namespace, facts.schedule_id
        match verdict:
            case Start(run_key):
                self.starts.append(Started(*owner, run_key, facts.previous))
            case End(run_key, state):
                check_end(run_key, state)
                self.ends.append(Ruled(*owner, verdict))
            case Admit():
                self.admits.append(Ruled(*owner, verdict))
            case Wait():
                self.waits.append(Ruled(*owner, verdict))
            case Stop():
                self.stops.append(Ruled(*owner, verdict))
            case CloseGate():
                self.closings.append(Ruled(*owner, verdict))
            case _ as never:
                assert_never(never)


def rule(
    every: Sequence[ScheduleFacts],
    now: StoreTime,
    room: int,
    judge: Judge,
    allowances: Allowances | None = None,
) -> Rulings:
    """Ask the judge about each schedule with due ticks in turn, until no more runs may start. The allowances
    are what the limits of their jobs leave; without any there are none to heed."""
    rulings = Rulings()
    for facts in (one for one in every if one.due):
        left = room - len(rulings.starts)
        verdicts = judge(facts, now, left if allowances is None else allowances.room_for(facts, left))
        for verdict in verdicts:
            rulings.add(facts, verdict)
        if allowances is not None:
            allowances.settle(facts, verdicts)
    assert len(rulings.starts) <= max(room, 0), "the judge started more runs than there is room for"
    return rulings
