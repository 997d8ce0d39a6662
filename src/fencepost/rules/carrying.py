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
    runs = await _lock(tx, rulings)
    for stop in rulings.stops:
        run = runs[stop.namespace, stop.verdict.run_key]
        if run["finished_at"] is None:
            await (terminate if stop.verdict.at_once else call_off)(tx, bells, run, stop.verdict.reason)
    ends = Bells()
    for ended in rulings.ends:
        run, verdict = runs[ended.namespace, ended.verdict.run_key], ended.verdict
        await end(tx, ends, run, verdict.state, verdict.reason, met=verdict.met)
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
    for closing in rulings.closings:
        await close_gate(tx, closing.namespace, closing.schedule_id, closing.verdict.reason)
    await bells.ring(tx)


async def _lock(tx: Transaction, rulings: Rulings) -> dict[tuple[Namespace, RunKey], Row]:
    named: list[Ruled[Stop] | Ruled[End] | Ruled[Admit] | Ruled[Wait]] = []
    named += [*rulings.stops, *rulings.ends, *rulings.admits, *rulings.waits]
    keys = {(one.namespace, one.verdict.run_key) for one in named}
    runs = await tx.lock(RUNS.among(sorted(keys)))
    return {(run["namespace"], run["run_key"]): run for run in runs}
