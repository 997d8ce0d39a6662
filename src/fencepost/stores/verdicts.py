"""Carrying out a judge's verdicts, the same way in every store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fencepost.model.claiming import End, Judge, ScheduleFacts, Start
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, RunKey


@dataclass(frozen=True, slots=True)
class Started:
    """A tick that may begin, with the fire time of its schedule's last success."""

    namespace: Namespace
    run_key: RunKey
    previous: datetime | None


@dataclass(frozen=True, slots=True)
class Ended:
    """A tick that ends without having run."""

    namespace: Namespace
    end: End


@dataclass(slots=True)
class Rulings:
    """What a pass over several schedules amounts to."""

    starts: list[Started] = field(default_factory=list)
    ends: list[Ended] = field(default_factory=list)


def rule(every: Sequence[ScheduleFacts], now: StoreTime, room: int, judge: Judge) -> Rulings:
    """Ask the judge about each schedule with due ticks in turn, until no more runs may start."""
    rulings = Rulings()
    for facts in (one for one in every if one.due):
        for verdict in judge(facts, now, room - len(rulings.starts)):
            match verdict:
                case Start(run_key):
                    rulings.starts.append(Started(facts.namespace, run_key, facts.previous))
                case End():
                    rulings.ends.append(Ended(facts.namespace, verdict))
    assert len(rulings.starts) <= max(room, 0), "the judge started more runs than there is room for"
    return rulings
