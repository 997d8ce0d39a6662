"""The limits of jobs: which runs are in the limit queue, which wait for a slot, and which are let go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fencepost.model.claiming import ScheduleFacts
from fencepost.model.clocks import StoreTime
from fencepost.model.codec import limit_to_text
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import JobSpec
from fencepost.model.limits import Limiter, LimitFacts, LimitVerdict, Waiting
from fencepost.model.run import IN_TURN, Hold
from fencepost.model.table import Row
from fencepost.model.tables import (
    LIMITS,
    RUNS,
    RUNS_HELD_BACK,
    RUNS_IN_SLOTS,
    RUNS_LIMITED,
    RUNS_LIMITED_TICKS,
    RUNS_LINED,
    RUNS_RUNNING,
)
from fencepost.ports.rows import Transaction
from fencepost.rules.allowances import Allowances
from fencepost.rules.part import groups, search
from fencepost.rules.rows import limit_if_readable, to_payload
from fencepost.rules.runs import Slot, fill_slots, with_specs

ON_LIMITS = Hold.LIMITED.value | Hold.PACED.value


async def put_limits(tx: Transaction, namespace: Namespace, specs: Iterable[JobSpec]) -> list[JobName]:
    """Let the limits be those of the specs. Where they changed, running runs count for their new slots; those
    jobs are returned, so that their waiting runs are looked at anew."""
    wanted = {spec.name: spec.limit for spec in specs}
    known = {
        row["job"]: row for row in await tx.lock(LIMITS.among((namespace, job) for job in sorted(wanted)))
    }
    terms = {job: None if limit is None else limit_to_text(limit) for job, limit in wanted.items()}
    changed = [job for job in sorted(wanted) if terms[job] != (known[job]["terms"] if job in known else None)]
    await tx.delete(LIMITS, [known[job] for job in changed if job in known])
    new = [
        {
            "namespace": namespace,
            "job": job,
            "terms": terms[job],
            "concurrency": limit.concurrency,
            "paid_until": known[job]["paid_until"] if job in known else None,
        }
        for job in changed
        if (limit := wanted[job]) is not None
    ]
    await tx.put_if_absent(LIMITS, new)
    if changed:
        await stamp_running(tx)
    return changed


async def waiting(tx: Transaction, namespace: Namespace, jobs: Sequence[JobName]) -> int:
    """How many runs wait for the limits of these jobs, and for nothing else."""
    return sum(
        await tx.count([index(namespace, job) for index in (RUNS_LINED, RUNS_LIMITED) for job in jobs])
    )


async def release(tx: Transaction, namespace: Namespace, jobs: Sequence[JobName], limit: int) -> None:
    """Make runs that wait for the limits of these jobs due, as if there were no limits: some at a time."""
    names = [(namespace, job) for job in jobs]
    found = [
        run for index in (RUNS_LINED, RUNS_LIMITED) for run in await tx.find(index.each(names), limit=limit)
    ]
    held = RUNS_HELD_BACK(namespace)
    found += await search(tx, held, lambda run: run["job"] in jobs and run["held"] & ON_LIMITS != 0, limit)
    await _let_go(tx, found[:limit])


async def _let_go(tx: Transaction, waiting: Sequence[Row]) -> None:
    keys = [RUNS.key_of(run) for run in waiting if run["held"] & ON_LIMITS]
    runs = [run for run in await tx.lock(RUNS.among(keys)) if run["held"] & ON_LIMITS]
    await tx.change(RUNS, [(run, {"held": run["held"] & ~ON_LIMITS}) for run in runs])


async def stamp_running(tx: Transaction) -> None:
    """Runs that began before their job had these limits count from now on."""
    running = await tx.find(RUNS_RUNNING())
    jobs = sorted({(run["namespace"], run["job"]) for run in running})
    terms = {LIMITS.key_of(row): limit_if_readable(row["terms"]) for row in await tx.find(LIMITS.among(jobs))}
    unreadable = {owner for owner, known in terms.items() if known is None}
    counted = [
        run
        for run in running
        if (owner := (run["namespace"], run["job"])) not in unreadable
        and (run["slot"] is not None or owner in terms)
    ]
    if not counted:
        return
    stamps: dict[tuple[str, str], str | None] = {}
    for run in await with_specs(tx, counted):
        limit = terms.get((run["namespace"], run["job"]))
        slot = None if limit is None else limit.slot_of(to_payload(run))
        if slot != run["slot"]:
            stamps[run["namespace"], run["run_key"]] = slot
    runs = [run for run in await tx.take(RUNS.among(sorted(stamps))) if run["alive_until"] is not None]
    await tx.change(RUNS, [(run, {"slot": stamps[run["namespace"], run["run_key"]]}) for run in runs])


async def release_strays(tx: Transaction, limit: int) -> None:
    """Release runs that wait for limits that their job has lost meanwhile."""
    for index, needs_slots in ((RUNS_LINED, False), (RUNS_LIMITED, True)):
        jobs = await groups(tx, index(), 2)
        known = await tx.find(LIMITS.among(jobs))
        limited = {LIMITS.key_of(one) for one in known if not needs_slots or one["concurrency"] is not None}
        strays = await tx.take(index.each(one for one in jobs if one not in limited), limit=limit)
        await tx.change(RUNS, [(run, {"held": 0}) for run in strays])


async def call_waiting(tx: Transaction, limit: int, slots: Iterable[Slot] | None = None) -> int:
    """Wake runs whose slot is free and whose wake-up was missed; returns how many. The slots are those that
    runs wait for, where the caller knows them."""
    await release_strays(tx, limit)
    schedules = await groups(tx, RUNS_LIMITED_TICKS(), 2, limit)
    runs = await tx.take(RUNS_LIMITED_TICKS.each(schedules), limit=1)
    await tx.change(RUNS, [(run, {"held": 0}) for run in runs])
    waited_for = await groups(tx, RUNS_LIMITED(), 3) if slots is None else slots
    return len(runs) + await fill_slots(tx, waited_for)


async def allowances(tx: Transaction, every: Sequence[ScheduleFacts], limiter: Limiter | None) -> Allowances:
    """What the limits of these ticks' jobs leave; those that another claimer has are closed."""
    owners = sorted({(facts.namespace, tick.job) for facts in every for tick in facts.due})
    known = frozenset(map(LIMITS.key_of, await tx.find(LIMITS.among(owners))))
    if limiter is None:
        return Allowances(await tx.now(), closed=known)
    mine = {LIMITS.key_of(row): row for row in await tx.take(LIMITS.among(sorted(known)))}
    terms = {owner: limit_if_readable(row["terms"]) for owner, row in mine.items()}
    slots = [
        (facts.namespace, tick.job, limit.slot_of(tick.payload))
        for facts in every
        for tick in facts.due
        if (limit := terms.get((facts.namespace, tick.job))) is not None
    ]
    facts = await limit_facts(tx, mine, slots)
    return Allowances(await tx.now(), limiter, dict(facts), known - facts.keys())


async def keep_allowances(tx: Transaction, allowed: Allowances) -> None:
    """Write what a verdict left of the limits, and the runs that wait for them."""
    waits = {(namespace, one.run_key): one for namespace, one in allowed.waits}
    for run in await tx.lock(RUNS.among(sorted([*waits, *allowed.frees]))):
        wait = waits.get((run["namespace"], run["run_key"]))
        await tx.change(RUNS, [(run, {"held": 0} if wait is None else held_by(run, wait))])
    await pay(tx, await tx.lock(LIMITS.among(sorted(allowed.verdicts))), allowed.verdicts)


async def limit_facts(
    tx: Transaction, limits: Mapping[tuple[Namespace, JobName], Row], slots: Iterable[Slot]
) -> Mapping[tuple[Namespace, JobName], LimitFacts]:
    """The facts of jobs whose limits are locked, and of these slots of theirs. Running runs are counted only
    where the number of them is limited."""
    counted = {owner for owner, row in limits.items() if row["concurrency"] is not None}
    asked = sorted({one for one in slots if one[:2] in counted})
    running: dict[tuple[str, str], dict[str, int]] = {}
    counts = await tx.count([RUNS_IN_SLOTS(*one) for one in asked])
    for (namespace, job, slot), count in zip(asked, counts, strict=True):
        running.setdefault((namespace, job), {})[slot] = count
    terms = {owner: limit_if_readable(row["terms"]) for owner, row in limits.items()}
    return {
        owner: LimitFacts(*owner, known, (), running.get(owner, {}), limits[owner]["paid_until"])
        for owner, known in terms.items()
        if known is not None
    }


async def pay(
    tx: Transaction, limits: Iterable[Row], verdicts: Mapping[tuple[Namespace, JobName], LimitVerdict]
) -> None:
    """Keep how far the starts have used up the rates of these limits, which are locked."""
    for row in limits:
        verdict = verdicts.get(LIMITS.key_of(row))
        if verdict is not None and (verdict.paid_until, verdict.next_at) != (
            row["paid_until"],
            row["next_at"],
        ):
            await tx.change(LIMITS, [(row, {"paid_until": verdict.paid_until, "next_at": verdict.next_at})])


def held_by(run: Row, wait: Waiting) -> dict[str, Any]:
    """The new columns of a run that has to wait for its job's limits."""
    held = run["held"] & ~IN_TURN.value | wait.hold.value
    return {"held": held, "slot": wait.slot, "reason": wait.reason}


def lets_go(limit: Row, now: StoreTime) -> bool:
    """Whether the rate lets a run go now."""
    return limit["next_at"] is None or bool(limit["next_at"] <= now)
