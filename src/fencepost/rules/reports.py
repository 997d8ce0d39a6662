"""Reports of workers and reapers about runs: heartbeats, ends, rescues; and what retention removes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fencepost.model.clocks import StoreTime, later, since
from fencepost.model.rescue import Rescue, Sweep, SweepTerms
from fencepost.model.run import (
    SNOOZED,
    STOPPED_ON_REQUEST,
    Origin,
    Outcome,
    ProgressReport,
    Pulse,
    Receipt,
    RunState,
    Ticket,
)
from fencepost.model.schedule import ScheduleState
from fencepost.model.table import Key, Row
from fencepost.model.tables import (
    ATTEMPTS,
    CURSORS,
    JOBS,
    LIMITS,
    META,
    RUN_LINKS,
    RUN_LOGS,
    RUNS,
    RUNS_DUE_TICKS,
    RUNS_ENDED,
    RUNS_EXPIRING,
    RUNS_HELD,
    RUNS_PARKED,
    RUNS_RUNNING,
    RUNS_UNFINISHED,
    SCHEDULES,
    STEPS,
    UNIQUE_RUNS,
    UNIQUE_RUNS_BY_RUN,
)
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.checks import check_outcomes
from fencepost.rules.facts import may_plan
from fencepost.rules.freezes import mark_left
from fencepost.rules.limits import call_waiting, stamp_running
from fencepost.rules.meta import forgotten_before, read_time, write_meta
from fencepost.rules.part import Part, groups, pages, reads, writes
from fencepost.rules.rows import to_expired
from fencepost.rules.runs import (
    Ended,
    Freed,
    change,
    end,
    is_of,
    is_owned,
    is_owned_in,
    keep_attempts,
    keys_of,
    unpark_first,
)


class ReportRules(Part):
    """The workers' and the reaper's part of `ports.ledger`."""

    @writes
    async def pulse(self, tx: Transaction, tickets: Sequence[Ticket], alive_for_s: float) -> Sequence[Pulse]:
        """A run whose row is locked is left out: it is in a transaction of its own, and cannot be taken
        away."""
        runs = {RUNS.key_of(run): run for run in await tx.find(keys_of(tickets))}
        owned = [one for one in tickets if is_owned_in(runs, one)]
        free = {RUNS.key_of(run): run for run in await tx.take(keys_of(owned))}
        until = later(await tx.now(), alive_for_s)
        alive = [free[(one.namespace, one.run_key)] for one in owned if is_owned_in(free, one)]
        await tx.change(RUNS, [(run, {"alive_until": until}) for run in alive])
        runs |= free
        return [
            Pulse(owned=True, cancel_requested=runs[(one.namespace, one.run_key)]["cancel_requested"])
            if is_owned_in(runs, one)
            else Pulse(owned=False)
            for one in tickets
        ]

    @writes
    async def report_progress(self, tx: Transaction, words: Sequence[ProgressReport]) -> Sequence[bool]:
        runs = {RUNS.key_of(run): run for run in await tx.take(keys_of([one.ticket for one in words]))}
        now, taken = await tx.now(), []
        for one in words:
            run = runs.get((one.ticket.namespace, one.ticket.run_key))
            taken.append(run is not None and is_owned(run, one.ticket))
            if run is not None and taken[-1]:
                said = {"progress": one.progress or run["progress"], "note": one.note or run["note"]}
                await tx.change(RUNS, [(run, {**said, "progress_at": now})])
        return taken

    @writes
    async def finish(self, tx: Transaction, outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
        freed = Freed()
        receipts = await finish(tx, freed, outcomes)
        await freed.wake_next(tx)
        return receipts

    async def expired(self, limit: int, terms: SweepTerms) -> Sweep:
        now, last_s = await self._note_sweep(terms)
        if last_s is not None:
            return Sweep(last_s=last_s)
        return await self._look(limit, now)

    @writes
    async def _note_sweep(self, tx: Transaction, terms: SweepTerms) -> tuple[StoreTime, float | None]:
        """When this sweep is, and after an absence how long ago the last one was."""
        known = await tx.lock(META.at("swept_at"))
        now, last = await tx.now(), StoreTime(datetime.fromisoformat(known[0]["value"])) if known else None
        await write_meta(tx, "swept_at", now.isoformat(), known)
        if last is None or not terms.are_broken(last, now):
            return now, None
        await _give_grace(tx, terms, last, now)
        return now, since(last, now).total_seconds()

    @reads
    async def _look(self, tx: Transaction, limit: int, now: StoreTime) -> Sweep:
        """As of the sweep: runs that expire after it, as during an absence, are left to the next one."""
        by_hand = RUNS_EXPIRING().through(now)
        looked = [RUNS_DUE_TICKS(), RUNS_RUNNING(), RUNS_UNFINISHED(), RUNS_HELD(), by_hand]
        ticks, *others = await tx.count(looked, limit=1)
        if not any(others):
            return Sweep(quiet=not ticks or not await _is_a_tick_due(tx, now))
        silent = [run for run in await tx.find(RUNS_RUNNING()) if run["alive_until"] < now]
        silent.sort(key=lambda run: (run["alive_until"], run["run_key"]))
        names = sorted({(run["namespace"], run["job"]) for run in silent[:limit]})
        specs = {JOBS.key_of(row): row["spec"] for row in await tx.find(JOBS.among(names))}
        expired = to_expired(
            {
                **run,
                "silent_for_s": since(run["alive_until"], now).total_seconds(),
                "job_spec": specs.get((run["namespace"], run["job"])),
            }
            for run in silent[:limit]
        )
        return Sweep(tuple(expired))

    @writes
    async def rescue(self, tx: Transaction, rescues: Sequence[Rescue]) -> Sequence[Receipt]:
        check_outcomes(rescues)
        runs = {RUNS.key_of(run): run for run in await tx.take(keys_of([one.ticket for one in rescues]))}
        now, freed = await tx.now(), Freed()
        silent: dict[Key, Rescue] = {}
        receipts = []
        for one in rescues:
            key = one.ticket.namespace, one.ticket.run_key
            taken = key not in silent and is_owned_in(runs, one.ticket) and runs[key]["alive_until"] < now
            receipts.append(Receipt.ACCEPTED if taken else Receipt.REFUSED)
            silent |= {key: one} if taken else {}
        await keep_attempts(tx, [Ended(runs[key], "lost", one.reason) for key, one in silent.items()])
        fences = await tx.fences(len(silent)) if silent else ()
        for (key, one), fence in zip(silent.items(), fences, strict=True):
            await _rescue(tx, freed, await change(tx, freed, runs[key], fence=fence), one)
        await freed.wake_next(tx)
        tx.hint(Topic.RUNS)
        return receipts

    @writes
    async def unpark(self, tx: Transaction, limit: int) -> int:
        woken = await unpark_first(tx, await groups(tx, RUNS_PARKED(), 2, limit))
        await mark_left(tx, limit)
        await stamp_running(tx)
        woken += await call_waiting(tx, limit)
        if woken:
            tx.hint(Topic.RUNS)
        return woken

    @writes
    async def forget(
        self, tx: Transaction, older_than_s: float, limit: int, dead_older_than_s: float | None = None
    ) -> int:
        cutoff = later(await tx.now(), -older_than_s)
        of_dead = later(await tx.now(), -max(dead_older_than_s or 0.0, older_than_s))
        old: list[Row] = []
        async for page in pages(tx, RUNS_ENDED().before(cutoff), limit):
            passed = [run for run in page if _is_forgettable(run, cutoff, of_dead)]
            old += [run for run in passed if not await _may_be_planned(tx, run)]
            if len(old) >= limit:
                break
        keys = map(RUNS.key_of, old[:limit])
        gone = [run for run in await tx.take(RUNS.among(keys)) if RUNS_ENDED.has(run)]
        for run in gone:
            await _let_go(tx, run)
        if any(run["schedule_id"] is not None for run in gone):
            before = await forgotten_before(tx)
            await write_meta(tx, "forgotten_before", max(cutoff, before or cutoff).isoformat())
        return len(gone)


async def finish(tx: Transaction, freed: Freed, outcomes: Sequence[Outcome]) -> list[Receipt]:
    """End attempts; nothing is woken yet, and successors are not enqueued."""
    check_outcomes(outcomes)
    runs = {RUNS.key_of(run): run for run in await tx.lock(keys_of([one.ticket for one in outcomes]))}
    receipts = []
    for outcome in outcomes:
        key = outcome.ticket.namespace, outcome.ticket.run_key
        run = runs.get(key)
        if run is None or not is_owned(run, outcome.ticket):
            repeated = run is not None and is_of(run, outcome.ticket)
            receipts.append(Receipt.REPEATED if repeated else Receipt.REFUSED)
            continue
        runs[key] = await _finish(tx, freed, run, outcome)
        receipts.append(Receipt.ACCEPTED)
    if any(outcome.retry_in_s is not None for outcome in outcomes):
        tx.hint(Topic.RUNS)
    return receipts


async def _finish(tx: Transaction, freed: Freed, run: Row, outcome: Outcome) -> Row:
    if outcome.snoozed:
        await keep_attempts(tx, [Ended(run, SNOOZED, outcome.reason, None, outcome.output)])
    elif outcome.error is not None or outcome.output is not None:
        result = "failed" if outcome.retry_in_s is not None else str(outcome.state)
        said = outcome.error, outcome.detail, outcome.output
        await keep_attempts(tx, [Ended(run, result, *said)])
    if outcome.retry_in_s is None:
        return await end(tx, freed, run, outcome.state, outcome.reason, outcome.error)
    if run["cancel_requested"]:
        return await end(tx, freed, run, RunState.CANCELLED, STOPPED_ON_REQUEST, outcome.error)
    if not outcome.begun:
        return await _give_back(tx, freed, run, outcome.reason)
    if outcome.snoozed:
        run = await change(tx, freed, run, attempts_before_replay=run["attempts_before_replay"] + 1)
    return await _requeue(tx, freed, run, outcome.reason, outcome.error, outcome.retry_in_s)


async def _give_back(tx: Transaction, freed: Freed, run: Row, reason: str | None) -> Row:
    """Let a run wait as before: the attempt does not count. A tick keeps the time of its verdict."""
    is_first = run["attempt"] - run["attempts_before_replay"] == 1
    first_started_at = None if is_first and run["schedule_id"] is None else run["first_started_at"]
    waits = {
        "state": RunState.READY.value,
        "worker": None,
        "alive_until": None,
        "first_started_at": first_started_at,
    }
    return await change(
        tx, freed, run, **waits, reason=reason, attempts_before_replay=run["attempts_before_replay"] + 1
    )


async def _rescue(tx: Transaction, freed: Freed, run: Row, rescue: Rescue) -> Row:
    """The new state of a run that was taken from an attempt without a sign of life."""
    if rescue.state is not RunState.READY:
        return await end(tx, freed, run, rescue.state, rescue.reason, rescue.reason)
    if run["cancel_requested"]:
        return await end(tx, freed, run, RunState.CANCELLED, STOPPED_ON_REQUEST, rescue.reason)
    return await _requeue(tx, freed, run, rescue.reason, None, rescue.retry_in_s)


async def _requeue(
    tx: Transaction, freed: Freed, run: Row, reason: str | None, error: str | None, delay_s: float
) -> Row:
    """Let a run wait for its next attempt."""
    run_at = later(await tx.now(), delay_s)
    waits = {"state": RunState.READY.value, "worker": None, "alive_until": None, "run_at": run_at}
    first = run["due_at"] or run["run_at"]
    return await change(tx, freed, run, **waits, reason=reason, error=error, due_at=first)


async def _is_a_tick_due(tx: Transaction, now: StoreTime) -> bool:
    lanes = await groups(tx, RUNS_DUE_TICKS(), 3)
    return any(tick["run_at"] <= now for tick in await tx.find(RUNS_DUE_TICKS.each(lanes), limit=1))


async def _give_grace(tx: Transaction, terms: SweepTerms, last: StoreTime, now: StoreTime) -> None:
    """Owners may have been unable to show life. Where the clock was set back, rates are asked anew too."""
    granted = await read_time(tx, "grace_until")
    await write_meta(tx, "grace_until", later(now, terms.grace_s).isoformat())
    running = await tx.take(RUNS_RUNNING())
    until = [(run, terms.grant(run["alive_until"], granted, last, now)) for run in running]
    await tx.change(RUNS, [(run, {"alive_until": one}) for run, one in until if one != run["alive_until"]])
    limits = await tx.take(LIMITS.all()) if last > now else []
    await tx.change(LIMITS, [(row, {"next_at": None}) for row in limits])


async def _may_be_planned(tx: Transaction, run: Row) -> bool:
    """Whether a cursor may still reach this tick, so that only its row prevents a second one. After a pause
    the next cursor can begin where the pause did."""
    by_hand = run["origin"] == Origin.MANUAL and run["epoch"] == 0
    if run["schedule_id"] is None or run["state"] == RunState.WITHDRAWN or by_hand:
        return False
    owner = run["namespace"], run["schedule_id"]
    cursors = await tx.find(CURSORS.all(*owner))
    if any(may_plan(cursor, run["fire_time"]) for cursor in cursors):
        return True
    (schedule,) = await tx.find(SCHEDULES.at(*owner))
    until = cursors[-1]["until"]
    return schedule["state"] == ScheduleState.PAUSED and until is not None and until < run["fire_time"]


def _is_forgettable(run: Row, cutoff: StoreTime, of_dead: StoreTime) -> bool:
    """A tick also fired that long ago, so that it cannot be planned again. Dead runs are kept for longer."""
    if run["state"] == RunState.DEAD.value and run["finished_at"] >= of_dead:
        return False
    return run["schedule_id"] is None or run["fire_time"] < cutoff


async def _let_go(tx: Transaction, run: Row) -> None:
    """Remove a tick; of a run by hand the key stays, for ever, and its name for its period."""
    key = RUNS.key_of(run)
    for table in (ATTEMPTS, STEPS, RUN_LOGS, RUN_LINKS):
        await tx.delete(table, await tx.lock(table.all(*key)))
    if run["schedule_id"] is not None:
        await tx.delete(RUNS, [run])
    else:
        empty = dict.fromkeys(("payload", "error", "progress", "note", "progress_at"))
        await tx.change(RUNS, [(run, {**empty, "stripped": True})])
        names, now = await tx.lock(UNIQUE_RUNS_BY_RUN(*key)), await tx.now()
        await tx.delete(UNIQUE_RUNS, [name for name in names if name["until"] <= now])
