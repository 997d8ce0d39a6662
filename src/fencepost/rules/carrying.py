"""Carrying out a judge's verdicts, in the transaction that gathered the facts."""

from __future__ import annotations

from fencepost.model.claiming import Admit, End, Stop, Wait
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.model.run import IN_TURN, Hold, Origin
from fencepost.model.table import Row
from fencepost.model.tables import RUNS
from fencepost.ports.rows import Transaction
from fencepost.rules.gates import close_gate
from fencepost.rules.runs import Bells, call_off, end, terminate
from fencepost.rules.verdicts import Ruled, Rulings

KEPT = ~IN_TURN.value


async def carry_out(tx: Transaction, rulings: Rulings) -> None:
    """Everything but the starts, in an order in which each finds what it is about: stops first, closings
    after admissions."""
    bells = Bells()
    await stop(tx, bells, rulings)
    runs = await _lock(tx, rulings)
    for ended in rulings.ends:
        run, verdict = runs[ended.namespace, ended.verdict.run_key], ended.verdict
        await end(tx, Bells(), run, verdict.state, verdict.reason, met=verdict.met)
    admitted = {"origin": Origin.CATCH_UP.value, "priority": PRIORITY_BEHIND}
    for admit in rulings.admits:
        run = runs[admit.namespace, admit.verdict.run_key]
        values = {
            **admitted,
            "reason": admit.verdict.waits,
            "held": run["held"] & KEPT | admit.verdict.hold.value,
        }
        (runs[admit.namespace, admit.verdict.run_key],) = await tx.change(RUNS, [(run, values)])
    for wait in rulings.waits:
        run = runs[wait.namespace, wait.verdict.run_key]
        parked = {"held": run["held"] & KEPT | Hold.PARKED.value, "reason": wait.verdict.reason}
        await tx.change(RUNS, [(run, parked)])
    await close_gates(tx, rulings)
    await bells.ring(tx)


async def stop(tx: Transaction, bells: Bells, rulings: Rulings) -> None:
    """Make runs give way, those that can be had.

    A run that is in a transaction of its own can be neither fenced off nor asked, and nobody waits for it.
    The tick that would have started in its stead is parked: the two must not run side by side. One that only
    asks it to stop is parked anyway. Both are judged again when the run ends, or the net calls them.
    """
    taken = await tx.take(RUNS.among(map(_target, rulings.stops)))
    runs = {(run["namespace"], run["run_key"]): run for run in taken}
    beyond = [one for one in rulings.stops if one.verdict.at_once and _target(one) not in runs]
    behind = {(one.namespace, one.schedule_id): one.verdict.run_key for one in beyond}
    for tick in [one for one in rulings.starts if (one.namespace, one.schedule_id) in behind]:
        owner = tick.namespace, tick.schedule_id
        rulings.starts.remove(tick)
        reason = f"waits until {behind[owner]}, in a transaction of its own, can be stopped"
        rulings.waits.append(Ruled(*owner, Wait(tick.run_key, reason)))
    for one in rulings.stops:
        run = runs.get(_target(one))
        if run is not None and run["finished_at"] is None and (one.namespace, one.schedule_id) not in behind:
            await (terminate if one.verdict.at_once else call_off)(tx, bells, run, one.verdict.reason)


async def close_gates(tx: Transaction, rulings: Rulings) -> None:
    """Close the gates of schedules; after their ticks were admitted, so that those are held back too."""
    for closing in rulings.closings:
        await close_gate(tx, closing.namespace, closing.schedule_id, closing.verdict.reason)


def _target(one: Ruled[Stop]) -> tuple[Namespace, RunKey]:
    return one.namespace, one.verdict.run_key


async def _lock(tx: Transaction, rulings: Rulings) -> dict[tuple[Namespace, RunKey], Row]:
    named: list[Ruled[End] | Ruled[Admit] | Ruled[Wait]] = []
    named += [*rulings.ends, *rulings.admits, *rulings.waits]
    keys = {(one.namespace, one.verdict.run_key) for one in named}
    runs = await tx.lock(RUNS.among(sorted(keys)))
    return {(run["namespace"], run["run_key"]): run for run in runs}
