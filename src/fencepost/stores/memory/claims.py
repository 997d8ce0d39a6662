"""Claims in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from fencepost.model.claiming import Appetite, Head, Judge, Outlook, nothing_due
from fencepost.model.clocks import later
from fencepost.model.identifiers import Fence, NodeId, Queue
from fencepost.model.limits import Limiter
from fencepost.model.run import Claim, Hold, RunRecord
from fencepost.stores.memory.facts import Wanted, gather
from fencepost.stores.memory.lanes import RunRow, is_tick
from fencepost.stores.memory.lines import MemoryLines, is_all_frozen, is_paused, open_walk, turn
from fencepost.stores.verdicts import rule


class MemoryClaims(MemoryLines):
    """The claiming part of `ports.ledger`."""

    async def outlook(self, appetite: Appetite) -> Outlook:
        now = self._tables.now()
        if is_all_frozen(self._tables, appetite.namespace):
            return nothing_due(now)
        waiting = (row.record for row in self._tables.waiting.values() if row.record.held is Hold.NONE)
        wanted = [record for record in waiting if self._wants(appetite, record)]
        due = [record for record in wanted if record.run_at <= now]
        lined, later_on = self._lined(appetite, now)
        return Outlook(
            now,
            _heads(record for record in due if not is_tick(record)),
            _heads(record for record in due if is_tick(record)),
            lined,
            min([*later_on, *(record.run_at for record in wanted if record.run_at > now)], default=None),
        )

    async def claim_direct(self, appetite: Appetite, limit: int) -> Sequence[Claim]:
        if is_all_frozen(self._tables, appetite.namespace):
            return []

        def wanted(row: RunRow) -> bool:
            return not is_tick(row.record) and self._wants(appetite, row.record)

        picked: list[RunRow] = []
        for most, lane in self._lanes(self._due(wanted, self._tables.now()), appetite, limit):
            free = [row for row in lane if not self._line_up(row)]
            picked += free[: min(most, limit - len(picked))]
        return [self._start(row, appetite, self._previous(row)) for row in picked]

    async def claim_ticks(
        self, appetite: Appetite, limit: int, judge: Judge, limiter: Limiter | None = None
    ) -> Sequence[Claim]:
        if is_all_frozen(self._tables, appetite.namespace):
            return []
        now = self._tables.now()

        def wanted(row: RunRow) -> bool:
            return is_tick(row.record) and self._wants(appetite, row.record)

        lanes = self._lanes(self._due(wanted, now), appetite, limit)
        due = [row for most, lane in lanes for row in _of_first_schedules(lane, most)]
        facts = gather(self._tables, due, wanted, limit, now, limit)
        allowances = self._allowances(facts, limiter)
        rulings = rule(facts, now, limit, judge, allowances)
        self._carry_out(rulings)
        self._keep_allowances(allowances)
        keys = [(one.namespace, one.run_key) for one in rulings.starts]
        return [
            self._start(self._tables.runs[key], appetite, one.previous, allowances.slots.get(key))
            for key, one in zip(keys, rulings.starts, strict=True)
        ]

    async def sweep_late(self, older_than_s: float, limit: int, judge: Judge) -> int:
        now = self._tables.now()

        def wanted(row: RunRow) -> bool:
            return is_tick(row.record)

        late = self._due(wanted, later(now, -older_than_s))
        rulings = rule(gather(self._tables, late, wanted, limit, now, 0), now, 0, judge)
        self._carry_out(rulings)
        return len(rulings.ends) + len(rulings.admits)

    async def adopt(self, worker: NodeId, known: Sequence[Fence]) -> Sequence[Claim]:
        lost = [
            row
            for row in self._tables.running.values()
            if row.record.worker == worker and row.record.fence not in known
        ]
        return [self._claim(row, self._previous(row)) for row in lost]

    def _due(self, wanted: Wanted, by: datetime) -> list[RunRow]:
        waiting = self._tables.waiting.values()
        free = (row for row in waiting if row.record.held is Hold.NONE)
        due = [row for row in free if row.record.run_at <= by and wanted(row)]
        return sorted(due, key=turn)

    def _lanes(
        self, due: Sequence[RunRow], appetite: Appetite, limit: int
    ) -> Iterator[tuple[int, Sequence[RunRow]]]:
        """The due runs of each lane in turn, and how many of them may be taken."""
        lanes: dict[tuple[Queue, int], list[RunRow]] = {}
        for row in due:
            lanes.setdefault((row.record.queue, row.record.priority), []).append(row)
        for one in open_walk(self._tables, appetite, limit):
            yield one.most, lanes.get((one.queue, one.priority), [])

    def _line_up(self, row: RunRow) -> bool:
        """A due run of a limited job gets into the line of its job; whether it is one."""
        limited = self._tables.limit_of(row.record.namespace, row.record.job) is not None
        if limited:
            self._tables.change(row, held=Hold.PACED)
        return limited

    def _wants(self, appetite: Appetite, record: RunRecord) -> bool:
        mine = record.namespace == appetite.namespace and record.job in appetite.jobs
        return mine and record.queue in appetite.queues and not self._is_paused(record)

    def _is_paused(self, record: RunRecord) -> bool:
        return is_paused(self._tables, record.namespace, record.queue)


def _of_first_schedules(lane: Sequence[RunRow], most: int) -> list[RunRow]:
    first = list(dict.fromkeys(row.record.schedule_id for row in lane))[:most]
    return [row for row in lane if row.record.schedule_id in first]


def _heads(records: Iterable[RunRecord]) -> tuple[Head, ...]:
    """The first of each lane."""
    firsts: dict[tuple[Queue, int], Head] = {}
    for one in sorted(records, key=lambda record: (record.priority, record.run_at)):
        firsts.setdefault((one.queue, one.priority), Head(one.priority, one.run_at, one.queue))
    return tuple(firsts.values())
