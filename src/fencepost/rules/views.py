"""What boards, lists and live streams read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from fencepost.model.clocks import StoreTime, later, since
from fencepost.model.freeze import ScopeKind
from fencepost.model.identifiers import JobName, Namespace, ScheduleId
from fencepost.model.run import RunRecord, RunState, lateness_s
from fencepost.model.table import Row
from fencepost.model.tables import (
    ATTEMPTS,
    ATTEMPTS_BY_TIME,
    EPOCHS,
    GATES_CLOSED,
    RUNS,
    RUNS_BY_SCHEDULE,
    RUNS_BY_TIME,
    RUNS_DEAD,
    RUNS_ENDED,
    RUNS_HELD,
    RUNS_HELD_BY_SOMEBODY,
    RUNS_RUNNING,
    SCHEDULES_BY_CHANGE,
)
from fencepost.model.views import (
    COUNTED_MAX,
    Attention,
    News,
    RunMark,
    RunNews,
    Standing,
    TrafficBucket,
    bucket_start,
    every_bucket,
    percentile,
    shown_error,
)
from fencepost.ports.rows import Transaction
from fencepost.rules.freezes import EVERYTHING, frozen_scopes
from fencepost.rules.part import Part, reads, search
from fencepost.rules.runs import WAITING, as_seen, shown
from fencepost.rules.view_rows import to_run_news


class ViewRules(Part):
    """See `ports.views`."""

    @reads
    async def strips(
        self, tx: Transaction, namespace: Namespace, schedule_ids: Sequence[ScheduleId], each: int
    ) -> Mapping[ScheduleId, Sequence[RunMark]]:
        now, found = await tx.now(), {}
        for schedule_id in schedule_ids:
            fired = RUNS_BY_SCHEDULE(namespace, schedule_id).through(now)
            runs = await tx.find(fired, limit=each, reverse=True)
            if runs:
                found[schedule_id] = [_mark(run) for run in await shown(tx, runs[::-1], now)]
        return found

    @reads
    async def traffic(
        self, tx: Transaction, namespace: Namespace, since_s: float, bucket_s: int
    ) -> Sequence[TrafficBucket]:
        now = await tx.now()
        first = bucket_start(later(now, -since_s), bucket_s)
        found: dict[datetime, list[Row]] = {}
        for run in await _fired(tx, namespace, first, now):
            found.setdefault(bucket_start(run["fire_time"], bucket_s), []).append(run)
        return every_bucket((_bucket(at, runs) for at, runs in found.items()), first, now, bucket_s)

    @reads
    async def tally_by_job(
        self, tx: Transaction, namespace: Namespace, since_s: float
    ) -> Mapping[JobName, Mapping[RunState, int]]:
        now = await tx.now()
        counts: dict[JobName, Counter[RunState]] = {}
        for run in await _fired(tx, namespace, later(now, -since_s), now):
            counts.setdefault(run["job"], Counter())[run["state"]] += 1
        return counts

    @reads
    async def overdue(self, tx: Transaction, namespace: Namespace, since_s: float, late_s: float) -> int:
        now, scopes = await tx.now(), await frozen_scopes(tx, namespace)
        if EVERYTHING in scopes:
            return 0
        fired = await _fired(tx, namespace, later(now, -since_s), now)
        free = [run for run in fired if run["state"] is RunState.READY and not run["held"]]
        open_ = [run for run in free if (ScopeKind.QUEUE.value, run["queue"]) not in scopes]
        return sum(run["run_at"] < later(now, -late_s) for run in open_)

    @reads
    async def attention(self, tx: Transaction, namespace: Namespace, most: int) -> Attention:
        wanted = RUNS_DEAD(namespace), RUNS_HELD_BY_SOMEBODY(namespace), GATES_CLOSED(namespace)
        counts = await tx.count(wanted, limit=most)
        return Attention(await tx.now(), *counts)

    @reads
    async def news(
        self, tx: Transaction, since: StoreTime, limit: int, namespaces: Sequence[Namespace]
    ) -> News:
        told = [one for one in await _told(tx, since) if one.namespace in namespaces]
        told.sort(key=lambda one: (one.namespace, one.run_key))
        told.sort(key=lambda one: one.at, reverse=True)
        leaders = await tx.find(EPOCHS.all())
        changed = [row["since"] for row in leaders if row["since"] is not None]
        standings = {one: await _standing(tx, one) for one in namespaces}
        more = len(told) > limit
        return News(await tx.now(), tuple(told[:limit]), more, standings, max(changed, default=None))


async def _fired(tx: Transaction, namespace: Namespace, first: datetime, last: StoreTime) -> list[Row]:
    """The runs as seen with a fire time from the one to the other, both included."""
    runs = await tx.find(RUNS_BY_TIME(namespace).since(first).through(last))
    return [as_seen(run, last) for run in runs]


async def _told(tx: Transaction, since: StoreTime) -> list[RunNews]:
    """What began, failed for now or ended since then."""
    ended = await tx.find(RUNS_ENDED().after(since))
    begun = [run for run in await tx.find(RUNS_RUNNING()) if run["started_at"] > since]
    attempts = {
        (one["namespace"], one["run_key"]): one for one in await tx.find(ATTEMPTS_BY_TIME().after(since))
    }
    failed = [run for run in await tx.find(RUNS.among(sorted(attempts))) if run["state"] == RunState.READY]
    news = [(run, run["finished_at"]) for run in ended] + [(run, run["started_at"]) for run in begun]
    last = await tx.find(ATTEMPTS.among(map(ATTEMPTS.key_of, failed)))
    ends = {ATTEMPTS.key_of(one): one["finished_at"] for one in last if one["finished_at"] > since}
    news += [(run, ends[key]) for run in failed if (key := ATTEMPTS.key_of(run)) in ends]
    return [to_run_news({**run, "error": shown_error(run["error"]), "at": at}) for run, at in news]


async def _standing(tx: Transaction, namespace: Namespace) -> Standing:
    now = await tx.now()
    runs = await search(tx, RUNS_BY_TIME(namespace), lambda run: run["finished_at"] is None)
    due = [
        run["run_at"] for run in runs if run["state"] in WAITING and not run["held"] and run["run_at"] <= now
    ]
    running = sum(run["state"] == RunState.RUNNING for run in runs)
    waiting = RUNS_DEAD(namespace), RUNS_HELD(namespace), GATES_CLOSED(namespace)
    dead, held, gates = await tx.count(waiting, limit=COUNTED_MAX)
    last = await tx.find(SCHEDULES_BY_CHANGE(namespace), limit=1, reverse=True)
    return Standing(
        ready=min(len(due), COUNTED_MAX),
        running=min(running, COUNTED_MAX),
        dead=dead,
        held=held,
        gates=gates,
        oldest_ready_s=since(min(due), now).total_seconds() if due else None,
        schedules_at=last[0]["updated_at"] if last else None,
    )


def _mark(run: RunRecord) -> RunMark:
    took_s = None
    if run.started_at is not None and run.finished_at is not None:
        took_s = (run.finished_at - run.started_at).total_seconds()
    return RunMark(run.run_key, run.fire_time, run.state, run.origin, run.late_s, took_s, run.attempt)


def _bucket(at: datetime, runs: Iterable[Row]) -> TrafficBucket:
    counts = Counter(run["state"] for run in runs)
    found = (lateness_s(run["state"], run["run_at"], run["started_at"]) for run in runs)
    late = sorted(one for one in found if one is not None)
    return TrafficBucket(at, counts, percentile(late, 0.5), percentile(late, 0.95), percentile(late, 1.0))
