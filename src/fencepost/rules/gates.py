"""Catch-up gates: how they are closed, shown and opened."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fencepost.model.audit import HOUSE, Action, Author
from fencepost.model.gate import ClosedGate, GateDecision
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.json import JsonObject
from fencepost.model.run import Hold, Origin, RunState
from fencepost.model.table import Row
from fencepost.model.tables import GATES, GATES_CLOSED, RUNS, RUNS_BEHIND, RUNS_GATED, SCHEDULES
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.audit_log import log
from fencepost.rules.facts import typical_run_s
from fencepost.rules.part import Part, reads, writes
from fencepost.rules.runs import Freed, end

_ACTIONS = {
    GateDecision.OPEN: Action.GATE_OPEN,
    GateDecision.LATEST: Action.GATE_LATEST,
    GateDecision.DROP: Action.GATE_DROP,
}


async def close_gate(tx: Transaction, namespace: Namespace, schedule_id: ScheduleId, reason: str) -> None:
    """Hold back all catch-up of a schedule that no worker has started; a closed gate stays as it is. The
    caller has the schedule's lock."""
    await tx.put_if_absent(GATES, [{"namespace": namespace, "schedule_id": schedule_id}])
    (gate,) = await tx.lock(GATES.at(namespace, schedule_id))
    if gate["closed_at"] is not None:
        return
    await tx.change(GATES, [(gate, {"closed_at": await tx.now(), "reason": reason})])
    runs = await tx.lock(RUNS_BEHIND(namespace, schedule_id))
    waiting = [run for run in runs if run["origin"] == Origin.CATCH_UP]
    await tx.change(RUNS, [(run, {"held": run["held"] | Hold.GATE.value}) for run in waiting])
    after: JsonObject = {"closed": True, "reason": reason, "held": len(waiting)}
    await log(tx, HOUSE, namespace, Action.GATE_CLOSE, schedule_id, {"closed": False}, after)


class GateRules(Part):
    """See `ports.gates`."""

    @reads
    async def closed(self, tx: Transaction, namespace: Namespace) -> Sequence[ClosedGate]:
        return await _shown(tx, await tx.find(GATES_CLOSED(namespace)))

    @writes
    async def decide(
        self,
        tx: Transaction,
        namespace: Namespace,
        schedule_id: ScheduleId,
        decision: GateDecision,
        author: Author,
    ) -> int | None:
        await tx.lock(SCHEDULES.at(namespace, schedule_id))
        gates = await tx.lock(GATES.at(namespace, schedule_id))
        if not gates or gates[0]["closed_at"] is None:
            return None
        held = await tx.lock(RUNS_GATED(namespace, schedule_id))
        released, dropped = _split(sorted(held, key=_fire_time), decision)
        freed = Freed()
        await tx.change(RUNS, [(run, {"held": run["held"] & ~Hold.GATE.value}) for run in released])
        for run in dropped:
            await end(tx, freed, run, RunState.MISSED, _why_dropped(decision, author))
        let_through = [gates[0]["let_through"], *(run["fire_time"] for run in released)]
        opened = {"closed_at": None, "reason": None, "opened_at": await tx.now()}
        newest = max((one for one in let_through if one is not None), default=None)
        await tx.change(GATES, [(gates[0], {**opened, "let_through": newest})])
        before = {"closed": True, "held": len(held)}
        after = {"closed": False, "released": len(released), "missed": len(dropped)}
        await log(tx, author, namespace, _ACTIONS[decision], schedule_id, before, after)
        await freed.wake_next(tx)
        tx.hint(Topic.RUNS)
        return len(released)


async def _shown(tx: Transaction, gates: Sequence[Row]) -> list[ClosedGate]:
    owners = [GATES.key_of(gate) for gate in gates]
    held = await tx.count([RUNS_GATED(*owner) for owner in owners])
    gated = RUNS_GATED.each(owners)
    oldest = {GATES.key_of(run): run["fire_time"] for run in await tx.find(gated, limit=1)}
    newest = {GATES.key_of(run): run["fire_time"] for run in await tx.find(gated, limit=1, reverse=True)}
    specs = {GATES.key_of(row): row["spec"] for row in await tx.find(SCHEDULES.among(owners))}
    run_s = await typical_run_s(tx, owners)
    return [
        ClosedGate(
            namespace=gate["namespace"],
            schedule_id=gate["schedule_id"],
            closed_at=gate["closed_at"],
            reason=gate["reason"],
            held=count,
            oldest=oldest.get(owner),
            newest=newest.get(owner),
            run_s=run_s.get(owner),
            spec_text=specs.get(owner),
        )
        for gate, owner, count in zip(gates, owners, held, strict=True)
    ]


def _fire_time(run: Row) -> tuple[datetime, str]:
    return run["fire_time"], run["run_key"]


def _split(held: list[Row], decision: GateDecision) -> tuple[list[Row], list[Row]]:
    """What is let through and what is not, of runs by fire time."""
    match decision:
        case GateDecision.OPEN:
            return held, []
        case GateDecision.LATEST:
            return held[-1:], held[:-1]
        case GateDecision.DROP:
            return [], held


def _why_dropped(decision: GateDecision, author: Author) -> str:
    return f"gate: {decision}, by {author.name}" + ("" if author.reason is None else f": {author.reason}")
