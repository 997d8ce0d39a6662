"""How runs are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from fencepost.core.lifecycle import observed
from fencepost.model.chain import Chain
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, RunKey, ScheduleId
from fencepost.model.missed import MissedRange
from fencepost.model.run import Attempt, RunFilter, RunList, RunRecord, RunState
from fencepost.model.table import Range, Row
from fencepost.model.tables import (
    ATTEMPTS,
    ATTEMPTS_TAKEN_AWAY,
    MISSED_RANGES,
    RUNS,
    RUNS_BY_SCHEDULE,
    RUNS_BY_TIME,
    RUNS_DEAD,
    RUNS_FINISHED,
    RUNS_HELD,
    RUNS_RUNNING,
)
from fencepost.ports.rows import Transaction
from fencepost.rules.facts import typical_run_s
from fencepost.rules.meta import forgotten_before
from fencepost.rules.part import Part, pages, reads
from fencepost.rules.rows import to_attempt, to_missed_range
from fencepost.rules.runs import shown
from fencepost.rules.successors import read_chain

TAKEN_AWAY_READ_MAX = 100
"""How many attempts that were taken away are searched for one whose run has not been replayed since."""


class ReadingRules(Part):
    """The readers' part of `ports.ledger`."""

    @reads
    async def get(self, tx: Transaction, namespace: Namespace, run_key: RunKey) -> RunRecord | None:
        runs = await shown(tx, await tx.find(RUNS.at(namespace, run_key)))
        return runs[0] if runs else None

    @reads
    async def get_many(
        self, tx: Transaction, namespace: Namespace, run_keys: Sequence[RunKey]
    ) -> Mapping[RunKey, RunRecord]:
        rows = await tx.find(RUNS.among((namespace, run_key) for run_key in run_keys))
        return {run.run_key: run for run in await shown(tx, rows)}

    @reads
    async def attempts(self, tx: Transaction, namespace: Namespace, run_key: RunKey) -> Sequence[Attempt]:
        rows = await tx.find(ATTEMPTS.all(namespace, run_key))
        return [to_attempt(row) for row in rows]

    @reads
    async def chain(self, tx: Transaction, namespace: Namespace, run_key: RunKey) -> Chain:
        return await read_chain(tx, namespace, run_key)

    @reads
    async def list(self, tx: Transaction, namespace: Namespace, filter: RunFilter) -> RunList:
        now = await tx.now()
        left, found, place = filter.searched_max, list[Row](), None
        async for page in pages(tx, _within(namespace, filter), filter.limit, reverse=True):
            found += [run for run in page[:left] if _matches(run, filter, now)]
            if len(found) >= filter.limit:
                break
            if len(page) >= left:
                place = page[left - 1]["fire_time"], page[left - 1]["run_key"]
                break
            left -= len(page)
        return RunList(await shown(tx, found[: filter.limit], now), place)

    @reads
    async def ticks(
        self,
        tx: Transaction,
        namespace: Namespace,
        schedule_id: ScheduleId,
        since: datetime,
        until: datetime,
        after: tuple[datetime, RunKey] | None,
        limit: int,
    ) -> Sequence[RunRecord]:
        where = RUNS_BY_SCHEDULE(namespace, schedule_id).through(until)
        place = (since,) if after is None or after[0] <= since else after
        return await shown(tx, await tx.find(where.after(*place), limit=limit))

    @reads
    async def ended(
        self,
        tx: Transaction,
        namespace: Namespace,
        schedule_id: ScheduleId,
        since: datetime,
        until: datetime,
        limit: int,
    ) -> Sequence[RunRecord]:
        where = RUNS_FINISHED(namespace, schedule_id).after(since).through(until)
        return await shown(tx, await tx.find(where, limit=limit, reverse=True))

    @reads
    async def taken_away(self, tx: Transaction, namespace: Namespace) -> tuple[Attempt, RunRecord] | None:
        found = await tx.find(ATTEMPTS_TAKEN_AWAY(namespace), limit=TAKEN_AWAY_READ_MAX, reverse=True)
        keys = dict.fromkeys(RUNS.key_of(one) for one in found)
        runs = {RUNS.key_of(run): run for run in await tx.find(RUNS.among(sorted(keys)))} if keys else {}
        for one in found:
            run = runs.get(RUNS.key_of(one))
            if run is not None and one["fence"] < run["fence"]:
                return to_attempt(one), (await shown(tx, [run]))[0]
        return None

    @reads
    async def missed_ranges(
        self,
        tx: Transaction,
        namespace: Namespace,
        schedule_id: ScheduleId,
        since: datetime,
        until: datetime,
    ) -> Sequence[MissedRange]:
        rows = await tx.find(MISSED_RANGES.all(namespace, schedule_id))
        ranges = sorted(map(to_missed_range, rows), key=lambda one: (one.first, one.version))
        return [one for one in ranges if one.last > since and one.first <= until]

    @reads
    async def running(self, tx: Transaction, namespace: Namespace, limit: int) -> Sequence[RunRecord]:
        runs = [run for run in await tx.find(RUNS_RUNNING()) if run["namespace"] == namespace]
        runs.sort(key=lambda run: (run["alive_until"], run["run_key"]))
        return await shown(tx, runs[:limit])

    @reads
    async def typical_run_s(
        self, tx: Transaction, namespace: Namespace, schedule_id: ScheduleId
    ) -> float | None:
        return (await typical_run_s(tx, [(namespace, schedule_id)])).get((namespace, schedule_id))

    @reads
    async def forgotten_before(self, tx: Transaction) -> datetime | None:
        return await forgotten_before(tx)


def _within(namespace: Namespace, wanted: RunFilter) -> Range:
    """Where a list looks; `since` is inclusive, `until` is not."""
    if wanted.schedule_id is not None:
        where = RUNS_BY_SCHEDULE(namespace, wanted.schedule_id)
    elif wanted.state is RunState.DEAD:
        where = RUNS_DEAD(namespace)
    elif wanted.held:
        where = RUNS_HELD(namespace)
    else:
        where = RUNS_BY_TIME(namespace)
    if wanted.since is not None:
        where = where.since(wanted.since)
    if wanted.after is not None and (wanted.until is None or wanted.after[0] < wanted.until):
        return where.before(*wanted.after)
    return where if wanted.until is None else where.before(wanted.until)


def _matches(run: Row, wanted: RunFilter, now: StoreTime) -> bool:
    """Whether a run, as shown, is asked for."""
    state = observed(RunState(run["state"]), run["run_at"], now)
    return (
        (wanted.job is None or run["job"] == wanted.job)
        and (wanted.state is None or state is wanted.state)
        and (wanted.origin is None or run["origin"] == wanted.origin)
        and (wanted.error is None or (run["error"] is not None and wanted.error in run["error"]))
        and (wanted.backfill_id is None or run["backfill_id"] == wanted.backfill_id)
        and (wanted.held is None or bool(run["held"]) is wanted.held)
        and (wanted.text is None or wanted.text in run["run_key"])
        and (wanted.worker is None or run["worker"] == wanted.worker)
        and (wanted.queue is None or run["queue"] == wanted.queue)
        and (not wanted.states or state in wanted.states)
    )
