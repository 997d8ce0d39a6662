"""Verdicts in memory: each is carried out in the same call that gathered the facts."""

from __future__ import annotations

from fencepost.model.audit import HOUSE, Action
from fencepost.model.claiming import Admit, CloseGate, Stop
from fencepost.model.identifiers import Namespace
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.model.json import JsonObject
from fencepost.model.run import IN_TURN, Hold, Origin
from fencepost.stores.memory.lanes import RunRow, is_tick
from fencepost.stores.memory.part import MemoryPart
from fencepost.stores.memory.tables import GateRow
from fencepost.stores.memory.writing import call_off, terminate
from fencepost.stores.verdicts import Ruled, Rulings


class MemoryVerdicts(MemoryPart):
    """Everything that a judge may say but for starts."""

    def _carry_out(self, rulings: Rulings) -> None:
        """In an order in which each finds what it is about: stops first, closings after admissions."""
        stopped = [self._stop(stop) for stop in rulings.stops]
        for end in rulings.ends:
            verdict = end.verdict
            row = self._tables.runs[end.namespace, verdict.run_key]
            self._tables.end(row, verdict.state, verdict.reason, met=verdict.met)
        for admit in rulings.admits:
            self._admit(admit.namespace, admit.verdict)
        for wait in rulings.waits:
            row = self._tables.runs[wait.namespace, wait.verdict.run_key]
            held = row.record.held & ~IN_TURN | Hold.PARKED
            self._tables.change(row, held=held, reason=wait.verdict.reason)
        for closing in rulings.closings:
            self._close_gate(closing)
        self._ring(row for row in stopped if row.record.finished_at is not None)

    def _stop(self, stop: Ruled[Stop]) -> RunRow:
        row, verdict = self._tables.runs[stop.namespace, stop.verdict.run_key], stop.verdict
        if row.record.finished_at is None:
            (terminate if verdict.at_once else call_off)(self._tables, row, verdict.reason)
        return row

    def _admit(self, namespace: Namespace, admit: Admit) -> None:
        """A tick that was parked is judged anew when it is its turn to catch up, unless it is to wait."""
        row = self._tables.runs[namespace, admit.run_key]
        self._tables.change(
            row,
            origin=Origin.CATCH_UP,
            priority=PRIORITY_BEHIND,
            reason=admit.waits,
            held=row.record.held & ~IN_TURN | admit.hold,
        )

    def _close_gate(self, closing: Ruled[CloseGate]) -> None:
        owner, reason = (closing.namespace, closing.schedule_id), closing.verdict.reason
        gate = self._tables.gates.setdefault(owner, GateRow())
        if gate.closed_at is not None:
            return
        gate.closed_at, gate.reason = self._tables.now(), reason
        waiting = [row for row in self._tables.lane(*owner).open.values() if _catches_up(row)]
        for row in waiting:
            self._tables.change(row, held=row.record.held | Hold.GATE)
        after: JsonObject = {"closed": True, "reason": reason, "held": len(waiting)}
        self._tables.log(HOUSE, owner[0], Action.GATE_CLOSE, owner[1], {"closed": False}, after)


def _catches_up(row: RunRow) -> bool:
    return row.record.origin is Origin.CATCH_UP and is_tick(row.record)
