"""A judge's verdicts: asked for, and carried out in the transaction that gathered the facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from datetime import datetime
from typing import Generic, TypeVar, assert_never

from fencepost.model.claiming import Admit, CloseGate, End, Judge, ScheduleFacts, Start, Stop, Verdict, Wait
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, RunKey, ScheduleId
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.model.run import IN_TURN, Hold, Origin
from fencepost.model.table import Row
from fencepost.model.tables import RUNS
from fencepost.ports.rows import Transaction
from fencepost.rules.allowances import Allowances
from fencepost.rules.checks import check_end
from fencepost.rules.gates import close_gate
from fencepost.rules.runs import Freed, call_off, end, terminate

KEPT = ~IN_TURN.value
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
class Verdicts:
    """The verdicts of a pass over several schedules. Stops are carried out before starts."""

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
) -> Verdicts:
    """Ask the judge about each schedule with due ticks in turn, until no more runs may start. The allowances
    are what the limits of their jobs leave; None: there are no limits to keep to."""
    verdicts = Verdicts()
    for facts in (one for one in every if one.due):
        left = room - len(verdicts.starts)
        found = judge(facts, now, left if allowances is None else allowances.room_for(facts, left))
        for verdict in found:
            verdicts.add(facts, verdict)
        if allowances is not None:
            allowances.settle(facts, found)
    assert len(verdicts.starts) <= max(room, 0), "the judge started more runs than there is room for"
    return verdicts


async def carry_out(tx: Transaction, verdicts: Verdicts) -> None:
    """Everything but the starts, in an order in which each finds its run as it expects: stops first, closings
    after admissions."""
    freed = Freed()
    await stop(tx, freed, verdicts)
    runs = await _lock(tx, verdicts)
    for ended in verdicts.ends:
        run, verdict = runs[ended.namespace, ended.verdict.run_key], ended.verdict
        # It had not begun, so no tick waits for its end.
        freed.ended.append(
            await end(tx, Freed(), run, verdict.state, verdict.reason, blocked_by=verdict.blocked_by)
        )
    admitted = {"origin": Origin.CATCH_UP.value, "priority": PRIORITY_BEHIND}
    for admit in verdicts.admits:
        run = runs[admit.namespace, admit.verdict.run_key]
        values = {
            **admitted,
            "reason": admit.verdict.waits,
            "held": run["held"] & KEPT | admit.verdict.hold.value,
        }
        (runs[admit.namespace, admit.verdict.run_key],) = await tx.change(RUNS, [(run, values)])
    for wait in verdicts.waits:
        run = runs[wait.namespace, wait.verdict.run_key]
        parked = {"held": run["held"] & KEPT | Hold.PARKED.value, "reason": wait.verdict.reason}
        await tx.change(RUNS, [(run, parked)])
    await close_gates(tx, verdicts)
    await freed.wake_next(tx)


async def stop(tx: Transaction, freed: Freed, verdicts: Verdicts) -> None:
    """Make runs give way, those that are free.

    A run in a transaction of its own can be neither fenced off nor asked, and is not waited for. The tick
    that would have started in its place is parked: the two must not run side by side. A tick that only asks
    it to stop is parked anyway. Both are judged again when the run ends, or when `unpark` wakes them.
    """
    taken = await tx.take(RUNS.among(map(_target, verdicts.stops)))
    runs = {(run["namespace"], run["run_key"]): run for run in taken}
    beyond = [one for one in verdicts.stops if one.verdict.at_once and _target(one) not in runs]
    behind = {(one.namespace, one.schedule_id): one.verdict.run_key for one in beyond}
    for tick in [one for one in verdicts.starts if (one.namespace, one.schedule_id) in behind]:
        owner = tick.namespace, tick.schedule_id
        verdicts.starts.remove(tick)
        reason = f"waits until {behind[owner]}, in a transaction of its own, can be stopped"
        verdicts.waits.append(Ruled(*owner, Wait(tick.run_key, reason)))
    for one in verdicts.stops:
        run = runs.get(_target(one))
        if run is not None and run["finished_at"] is None and (one.namespace, one.schedule_id) not in behind:
            await (terminate if one.verdict.at_once else call_off)(tx, freed, run, one.verdict.reason)


async def close_gates(tx: Transaction, verdicts: Verdicts) -> None:
    """Close the gates of schedules; after their ticks were admitted, so that those are held back too."""
    for closing in verdicts.closings:
        await close_gate(tx, closing.namespace, closing.schedule_id, closing.verdict.reason)


def _target(one: Ruled[Stop]) -> tuple[Namespace, RunKey]:
    return one.namespace, one.verdict.run_key


async def _lock(tx: Transaction, verdicts: Verdicts) -> dict[tuple[Namespace, RunKey], Row]:
    named: list[Ruled[End] | Ruled[Admit] | Ruled[Wait]] = []
    named += [*verdicts.ends, *verdicts.admits, *verdicts.waits]
    keys = {(one.namespace, one.verdict.run_key) for one in named}
    runs = await tx.lock(RUNS.among(sorted(keys)))
    return {(run["namespace"], run["run_key"]): run for run in runs}
