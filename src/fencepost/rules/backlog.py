"""What waits, what is held up by limits, and what runs: found without a look at what is over."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fencepost.model.clocks import StoreTime, since
from fencepost.model.identifiers import Namespace, Queue
from fencepost.model.status import QueueDepth, QueueView
from fencepost.model.table import Range, Ranges, Row
from fencepost.model.tables import (
    RUNS,
    RUNS_DUE_DIRECT,
    RUNS_DUE_TICKS,
    RUNS_LIMITED,
    RUNS_LINED,
    RUNS_RUNNING,
)
from fencepost.ports.rows import Transaction
from fencepost.rules.part import Part, groups, reads


class BacklogRules(Part):
    """How much work there is: a part of `ports.ledger`."""

    @reads
    async def depth(self, tx: Transaction, namespace: Namespace) -> QueueDepth:
        now = await tx.now()
        lanes = await due_lanes(tx, namespace)
        ready = sum(await tx.count([lane.through(now) for lane in lanes]))
        oldest = [run["run_at"] for run in await first_runs(tx, lanes, now)]
        waiting = [run["run_at"] for run in await _on_limits(tx, namespace)]
        running = len(await _running(tx, namespace))
        return QueueDepth(ready, running, _age_s(oldest, now), len(waiting), _age_s(waiting, now))

    @reads
    async def queues(self, tx: Transaction, namespace: Namespace) -> Sequence[QueueView]:
        now = await tx.now()
        lanes = await due_lanes(tx, namespace)
        counts = await tx.count([lane.through(now) for lane in lanes])
        oldest = await first_runs(tx, lanes, now)
        waiting, running = await _on_limits(tx, namespace), await _running(tx, namespace)
        ready = {Queue(run["queue"]): 0 for run in (*oldest, *waiting, *running)}
        for lane, count in zip(lanes, counts, strict=True):
            if count:
                ready[Queue(lane.equal[1])] += count
        return [
            QueueView(
                queue,
                ready[queue],
                len(_of(waiting, queue)),
                len(_of(running, queue)),
                _age_s([run["run_at"] for run in _of((*oldest, *waiting), queue)], now),
            )
            for queue in sorted(ready)
        ]


async def due_lanes(tx: Transaction, namespace: Namespace) -> list[Range]:
    """The runs that nothing holds, due or not: a range for each queue and priority."""
    indexes = RUNS_DUE_DIRECT, RUNS_DUE_TICKS
    return [index(namespace, *lane) for index in indexes for lane in await groups(tx, index(namespace), 2)]


async def first_runs(tx: Transaction, lanes: Sequence[Range], now: StoreTime) -> list[Row]:
    """The first run of each of these lanes that is due."""
    return await tx.find(Ranges(RUNS, tuple(lanes)).through(now), limit=1) if lanes else []


async def _on_limits(tx: Transaction, namespace: Namespace) -> list[Row]:
    return [*await tx.find(RUNS_LIMITED(namespace)), *await tx.find(RUNS_LINED(namespace))]


async def _running(tx: Transaction, namespace: Namespace) -> list[Row]:
    return [run for run in await tx.find(RUNS_RUNNING()) if run["namespace"] == namespace]


def _of(runs: Sequence[Row], queue: Queue) -> list[Row]:
    return [run for run in runs if run["queue"] == queue]


def _age_s(moments: Sequence[datetime], now: StoreTime) -> float | None:
    return since(min(moments), now).total_seconds() if moments else None
