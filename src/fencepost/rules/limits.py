"""The limits of jobs: who stands in line, who waits for a slot, and who is let go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fencepost.model.claiming import ScheduleFacts
from fencepost.model.clocks import StoreTime
from fencepost.model.codec import limit_to_text
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import JobSpec
from fencepost.model.limits import JobLimit, Limiter, LimitFacts, LimitRuling, Waiting
from fencepost.model.run import IN_TURN, Hold
from fencepost.model.table import Row
from fencepost.model.tables import (
    LIMITS,
    RUNS,
    RUNS_HELD,
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
from fencepost.rules.runs import fill_slots, with_specs

ON_LIMITS = Hold.LIMITED.value | Hold.PACED.value


async def put_limits(tx: Transaction, namespace: Namespace, specs: Iterable[JobSpec]) -> list[JobName]:
    """Let the limits be those of the specs. Where they changed, what runs counts for what it now would; those
    jobs are returned, to have what waits for them looked at anew."""
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


async def release(tx: Transaction, namespace: Namespace, jobs: Sequence[JobName], limit: int) -> int:
    """What waits for the limits of these jobs, and for nothing else, is due as if there were none: some of it
    at a time; how many."""
    names = [(namespace, job) for job in jobs]
    waiting = [
        run for index in (RUNS_LINED, RUNS_LIMITED) for run in await tx.find(index.each(names), limit=limit)
    ][:limit]
    await _let_go(tx, waiting)
    return len(waiting)


async def release_held(tx: Transaction, namespace: Namespace, jobs: Sequence[JobName]) -> None:
    """The same for what is held for another reason too."""
    await _let_go(tx, await search(tx, RUNS_HELD(namespace), lambda run: run["job"] in jobs))


async def _let_go(tx: Transaction, waiting: Sequence[Row]) -> None:
    keys = [RUNS.key_of(run) for run in waiting if run["held"] & ON_LIMITS]
    runs = [run for run in await tx.lock(RUNS.among(keys)) if run["held"] & ON_LIMITS]
    await tx.change(RUNS, [(run, {"held": run["held"] & ~ON_LIMITS}) for run in runs])


async def stamp_running(tx: Transaction) -> None:
    """Runs that began before their job had these limits count from now on."""
    running = await tx.find(RUNS_RUNNING())
    jobs = sorted({(run["namespace"], run["job"]) for run in running})
    terms = {LIMITS.key_of(row): limit_if_readable(row["terms"]) for row in await tx.find(LIMITS.among(jobs))}
    counted = [run for run in running if run["slot"] is not None or (run["namespace"], run["job"]) in terms]
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
    """A run may wait for limits that its job has lost meanwhile."""
    for index, needs_slots in ((RUNS_LINED, False), (RUNS_LIMITED, True)):
        jobs = await groups(tx, index(), 2)
        known = await tx.find(LIMITS.among(jobs))
        limited = {LIMITS.key_of(one) for one in known if not needs_slots or one["concurrency"] is not None}
        strays = await tx.take(index.each(one for one in jobs if one not in limited), limit=limit)
        await tx.change(RUNS, [(run, {"held": 0}) for run in strays])


async def call_waiting(tx: Transaction, limit: int) -> int:
    """The net under the bells of slots: call those that could have been called and were not; how many."""
    await release_strays(tx, limit)
    schedules = await groups(tx, RUNS_LIMITED_TICKS(), 2, limit)
    runs = await tx.take(RUNS_LIMITED_TICKS.each(schedules), limit=1)
    await tx.change(RUNS, [(run, {"held": 0}) for run in runs])
    return len(runs) + await fill_slots(tx, await groups(tx, RUNS_LIMITED(), 3))


async def allowances(tx: Transaction, every: Sequence[ScheduleFacts], limiter: Limiter | None) -> Allowances:
    """What the limits of these ticks' jobs leave; those that another claimer has are closed."""
    owners = sorted({(facts.namespace, tick.job) for facts in every for tick in facts.due})
    known = frozenset(map(LIMITS.key_of, await tx.find(LIMITS.among(owners))))
    if limiter is None:
        return Allowances(await tx.now(), closed=known)
    mine = await tx.take(LIMITS.among(sorted(known)))
    facts = await limit_facts(tx, mine)
    return Allowances(await tx.now(), limiter, dict(facts), known - facts.keys())


async def keep_allowances(tx: Transaction, allowed: Allowances) -> None:
    """Write down what a judgement left of the limits, and what waits for them."""
    waits = {(namespace, one.run_key): one for namespace, one in allowed.waits}
    for run in await tx.lock(RUNS.among(sorted([*waits, *allowed.frees]))):
        wait = waits.get((run["namespace"], run["run_key"]))
        await tx.change(RUNS, [(run, {"held": 0} if wait is None else held_by(run, wait))])
    await pay(tx, allowed.rulings)


async def limit_facts(
    tx: Transaction, limits: Sequence[Row]
) -> Mapping[tuple[Namespace, JobName], LimitFacts]:
    """What there is to know of jobs whose limits are locked; those that only a newer release can read are
    left out."""
    readable = {LIMITS.key_of(row): limit_if_readable(row["terms"]) for row in limits}
    owners = [owner for owner, terms in readable.items() if terms is not None]
    running: dict[Any, Counter[str]] = {owner: Counter() for owner in owners}
    for run in await tx.find(RUNS_IN_SLOTS.each(owners)):
        running[run["namespace"], run["job"]][run["slot"]] += 1
    paid = {LIMITS.key_of(row): row["paid_until"] for row in limits}
    return {
        owner: LimitFacts(Namespace(owner[0]), JobName(owner[1]), terms, (), running[owner], paid[owner])
        for owner, terms in readable.items()
        if terms is not None
    }


async def pay(tx: Transaction, rulings: Mapping[tuple[Namespace, JobName], LimitRuling]) -> None:
    """Keep how far the starts have used up the rates."""
    for row in await tx.lock(LIMITS.among(sorted(rulings))):
        ruling = rulings[row["namespace"], row["job"]]
        await tx.change(LIMITS, [(row, {"paid_until": ruling.paid_until, "next_at": ruling.next_at})])


def held_by(run: Row, wait: Waiting) -> dict[str, Any]:
    """What a run that has to wait for its job's limits becomes."""
    held = run["held"] & ~IN_TURN.value | wait.hold.value
    return {"held": held, "slot": wait.slot, "reason": wait.reason}


def lets_go(limit: Row, now: StoreTime) -> bool:
    """Whether the rate lets one go now."""
    return limit["next_at"] is None or bool(limit["next_at"] <= now)


def slot_of(terms: JobLimit, run: Row) -> str:
    """What a run, with the spec of its version, counts for."""
    return terms.slot_of(to_payload(run))
