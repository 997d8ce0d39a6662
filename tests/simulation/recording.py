"""The recorder of a world: what its ledger, its lease store and its sinks saw, as a history and as a trace.

The trace is one digest over everything in order, so that two runs of one seed can be held against each other
byte by byte without keeping either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import NodeId, ScheduleId, Shard
from fencepost.model.leader import Registered
from fencepost.model.plan import Plan, PlanReceipt
from fencepost.model.run import Outcome, Receipt, RunRecord, RunState, Ticket
from fencepost.model.table import Row
from fencepost.model.tables import RUNS
from fencepost.stores.memory import MemoryStore
from fencepost.stores.memory.rows import MemoryRows, MemoryTransaction
from tests.history.model import (
    Change,
    Effect,
    Fault,
    Halt,
    History,
    PlanSent,
    PlanWrite,
    Pulse,
    Registration,
    Report,
)
from tests.rows import record_of

RUNNING = RunState.RUNNING.value
NO_CHANGES = frozenset({"alive_until", "slot"})
"""Columns that change without the run becoming another: a heartbeat, and what it counts for."""
NOT_PROMISED = frozenset({"I11", "I12", "effects"})
"""By a ledger that can lose what it has acknowledged."""


class RecordedRows(MemoryRows):
    """Rows that tell of every run written, changed and removed."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.recorder: Recorder | None = None

    def commit(self, transaction: MemoryTransaction) -> None:
        for one in transaction.written:
            if one.kept.table is RUNS:
                self._tell(one.before, one.after)
        super().commit(transaction)

    def _tell(self, before: Row | None, after: Row | None) -> None:
        assert self.recorder is not None
        if not _is_change(before, after):
            return
        self.recorder.saw(Change(self.now(), _record(before), _record(after)))
        if after and after["state"] == RUNNING and (before is None or before["state"] != RUNNING):
            self.recorder.saw_pulse(after["run_key"], after["fence"], after["alive_until"])


class Recorder:
    """Sits where a history is made."""

    def __init__(self, settings: Settings, now: Callable[[], StoreTime]) -> None:
        self.history = History(settings)
        self._now = now
        self._trace = hashlib.blake2b(digest_size=16)
        self._newest: dict[str, int] = {}
        self._applied: dict[str, int] = {}

    @property
    def trace(self) -> str:
        return self._trace.hexdigest()

    def note(self, *words: object) -> None:
        """One line of the trace."""
        self._trace.update(f"{self._now().isoformat()} {' '.join(map(str, words))}\n".encode())

    def saw(self, change: Change) -> None:
        self.history.changes.append(change)
        run, after = change.run, change.after
        state = after.state if after is not None else "pruned"
        self.note(
            run.run_key, state, run.attempt, run.fence, int(run.held), run.epoch, run.run_at, *_more(run)
        )

    def saw_pulse(self, key: str, fence: int, alive_until: datetime) -> None:
        self.history.pulses.append(Pulse(self._now(), key, fence, alive_until))
        self.note("pulse", key, fence)

    def saw_fault(self, kind: str, since: datetime, whom: str = "") -> None:
        """It is over."""
        self.history.faults.append(Fault(kind, since, self._now(), whom))
        self.note("fault", kind, whom, since.isoformat())

    def saw_halt(self, schedule_id: ScheduleId, since: datetime, within_s: float) -> None:
        """Somebody has asked that it plan no more, which may happen for a while yet."""
        self.history.halts.append(Halt(schedule_id, since, later(self._now(), within_s)))

    def saw_effect(self, sink: str, key: str, attempt: int, fence: int) -> None:
        """Something arrived at the sinks; `sink` is what the fenced one keeps its fences by."""
        taken = fence >= self._newest.get(sink, 0)
        if taken:
            self._newest[sink] = fence
        self.history.effects.append(Effect(self._now(), key, attempt, fence, taken))
        self.note("effect", key, attempt, fence, taken)

    def saw_published(self, key: str, identity: str) -> None:
        """The broker has the message of a run."""
        self.history.published.add(key)
        self.note("published", key, identity)

    def saw_reply(self, key: str, attempt: int, fence: int, outcome: str) -> None:
        self.history.replies.add((key, attempt, fence, outcome))
        self.note("reply", key, attempt, fence, outcome)

    def saw_arrival(self, identity: str, key: str) -> None:
        """The broker has a message that is to be the run of this key."""
        self.history.arrived[identity] = key
        self.note("arrived", identity)

    def saw_handled(self, key: str, attempt: int, fence: int) -> None:
        """A processor has done something outside, to a sink that takes each fence of a run once."""
        taken = fence > self._applied.get(key, 0)
        if taken:
            self._applied[key] = fence
        self.history.handled.append(Effect(self._now(), key, attempt, fence, taken))
        self.note("handled", key, attempt, fence, taken)

    def saw_plan_sent(
        self, node: str, plans: Sequence[Plan], held: Mapping[Shard, bool], excused: bool
    ) -> None:
        for shard, epoch in sorted({(one.cursor.shard, one.epoch) for one in plans}):
            self.history.plans_sent.append(
                PlanSent(self._now(), node, shard, epoch, held.get(shard, False), excused)
            )

    def rewound(self, mark: Sequence[int]) -> int:
        """The ledger has lost what it did since the mark: for it, that never was. Returns how many changes
        of runs that were. What left the ledger meanwhile, acknowledgements and effects, stays as it was."""
        lost = len(self.history.changes) - mark[0]
        for part, length in zip(self._ledger_s(), mark, strict=True):
            del part[length:]
        self.history.forgives |= NOT_PROMISED
        self.note("rewound", lost)
        return lost

    def mark(self) -> Sequence[int]:
        """How far the ledger has come."""
        return [len(part) for part in self._ledger_s()]

    def _ledger_s(self) -> list[list[Any]]:
        history = self.history
        written: list[list[Any]] = [history.changes, history.pulses, history.plan_writes]
        return [*written, history.registrations, history.reports, history.plans_sent]

    def watch(self, store: MemoryStore) -> None:
        """Look on at every call that decides something."""
        _wrap(store.plans, "write", self._saw_plans)
        _wrap(store.epochs, "register", self._saw_registrations)
        _wrap(store.ledger, "pulse", self._saw_pulses)
        self._watch_reports(store)

    def _saw_plans(self, receipt: PlanReceipt, plans: Sequence[Plan]) -> None:
        for shard, epoch in sorted({(one.cursor.shard, one.epoch) for one in plans}):
            accepted = shard not in receipt.stale
            self.history.plan_writes.append(PlanWrite(self._now(), shard, epoch, accepted))
            self.note("planned" if accepted else "stale", shard, epoch)

    def _saw_registrations(self, answers: Mapping[Shard, Any], grants: Any, holder: NodeId) -> None:
        for shard, answer in answers.items():
            if isinstance(answer, Registered):
                self.history.registrations.append(Registration(self._now(), shard, answer.epoch, holder))
                self.note("leads", shard, answer.epoch, holder)

    def _saw_pulses(self, pulses: Sequence[Any], tickets: Sequence[Ticket], alive_for_s: float) -> None:
        for ticket, pulse in zip(tickets, pulses, strict=True):
            if pulse.owned:
                self.saw_pulse(ticket.run_key, ticket.fence, later(self._now(), alive_for_s))

    def _watch_reports(self, store: MemoryStore) -> None:
        finish, runs = store.ledger.finish, store.memory.kept(RUNS).rows

        async def watched(outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
            tickets = [one.ticket for one in outcomes]
            rows = [runs.get((one.namespace, one.run_key)) for one in tickets]
            before = [_record(row) for row in rows]
            receipts = await finish(outcomes)
            for ticket, receipt, record in zip(tickets, receipts, before, strict=True):
                self.history.reports.append(Report(self._now(), ticket, receipt, record))
            return receipts

        store.ledger.finish = watched  # type: ignore[method-assign]


def _record(row: Row | None) -> RunRecord | None:
    return None if row is None else record_of(row)


def _is_change(before: Row | None, after: Row | None) -> bool:
    if before is None or after is None:
        return True
    return any(value != before[column] for column, value in after.items() if column not in NO_CHANGES)


def _more(run: RunRecord) -> tuple[object, ...]:
    return (
        run.worker,
        run.reason,
        run.origin.value,
        run.attempts_before_replay,
        run.cancel_requested,
        run.error,
    )


def _wrap(part: Any, name: str, saw: Callable[..., None]) -> None:
    """Show each answer, with what was asked, to somebody."""
    method = getattr(part, name)

    async def watched(*arguments: Any) -> Any:
        answer = await method(*arguments)
        saw(answer, *arguments)
        return answer

    setattr(part, name, watched)
