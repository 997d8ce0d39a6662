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
from fencepost.rules.rows import limit_if_readable, to_payload
from fencepost.rules.runs import fill_slot, is_tick, with_specs

ON_LIMITS = Hold.LIMITED.value | Hold.PACED.value


async def put_limits(tx: Transaction, namespace: Namespace, specs: Iterable[JobSpec]) -> None:
    """Let the limits be those of the specs. Where they changed, what waits for them is looked at anew, and
    what runs counts for what it now would."""
    for spec in sorted(specs, key=lambda one: one.name):
        known = await tx.lock(LIMITS.at(namespace, spec.name))
        terms = None if spec.limit is None else limit_to_text(spec.limit)
        if (known[0]["terms"] if known else None) == terms:
            continue
        await tx.delete(LIMITS, known)
        if spec.limit is not None:
            paid = known[0]["paid_until"] if known else None
            row = {"namespace": namespace, "job": spec.name, "terms": terms, "paid_until": paid}
            await tx.put_if_absent(LIMITS, [{**row, "concurrency": spec.limit.concurrency}])
        await _release(tx, namespace, spec.name)
        await stamp_running(tx)


async def _release(tx: Transaction, namespace: Namespace, job: JobName) -> None:
    """What waits for the limits of a job is due as if there were none."""
    alone = [*await tx.find(RUNS_LINED(namespace, job)), *await tx.find(RUNS_LIMITED(namespace, job))]
    held = [run for run in await tx.find(RUNS_HELD(namespace)) if run["job"] == job]
    keys = {RUNS.key_of(run) for run in (*alone, *held) if run["held"] & ON_LIMITS}
    runs = [run for run in await tx.lock(RUNS.among(sorted(keys))) if run["held"] & ON_LIMITS]
    await tx.change(RUNS, [(run, {"held": run["held"] & ~ON_LIMITS}) for run in runs])


async def stamp_running(tx: Transaction) -> None:
    """Runs that began before their job had these limits count from now on."""
    running = await tx.find(RUNS_RUNNING())
    jobs = sorted({(run["namespace"], run["job"]) for run in running})
    terms = {LIMITS.key_of(row): limit_if_readable(row["terms"]) for row in await tx.find(LIMITS.among(jobs))}
    counted = [run for run in running if run["slot"] is not None or (run["namespace"], run["job"]) in terms]
    if not counted:
        return
    stamps = {}
    for run in await with_specs(tx, counted):
        limit = terms.get((run["namespace"], run["job"]))
        slot = None if limit is None else limit.slot_of(to_payload(run))
        if slot != run["slot"]:
            stamps[RUNS.key_of(run)] = slot
    runs = [run for run in await tx.take(RUNS.among(sorted(stamps))) if run["alive_until"] is not None]
    await tx.change(RUNS, [(run, {"slot": stamps[RUNS.key_of(run)]}) for run in runs])


async def release_strays(tx: Transaction, limit: int) -> None:
    """A run may wait for limits that its job has lost meanwhile."""
    for index, needs_slots in ((RUNS_LINED, False), (RUNS_LIMITED, True)):
        waiting = await tx.find(index())
        if not waiting:
            continue
        jobs = sorted({(run["namespace"], run["job"]) for run in waiting})
        known = await tx.find(LIMITS.among(jobs))
        limited = {LIMITS.key_of(one) for one in known if not needs_slots or one["concurrency"] is not None}
        strays = [run for run in waiting if (run["namespace"], run["job"]) not in limited]
        runs = await tx.take(RUNS.among(map(RUNS.key_of, strays[:limit])))
        await tx.change(RUNS, [(run, {"held": 0}) for run in runs if run["held"] in (16, 32)])


async def call_waiting(tx: Transaction, limit: int) -> int:
    """The net under the bells of slots: call those that could have been called and were not; how many."""
    await release_strays(tx, limit)
    await stamp_running(tx)
    firsts: dict[tuple[str, str], Any] = {}
    for tick in await tx.find(RUNS_LIMITED_TICKS()):
        firsts.setdefault((tick["namespace"], tick["schedule_id"]), RUNS.key_of(tick))
    taken = await tx.take(RUNS.among(list(firsts.values())[:limit]))
    runs = [run for run in taken if RUNS_LIMITED_TICKS.has(run)]
    await tx.change(RUNS, [(run, {"held": 0}) for run in runs])
    waiting = [run for run in await tx.find(RUNS_LIMITED()) if not is_tick(run)]
    slots = sorted({(run["namespace"], run["job"], run["slot"]) for run in waiting})
    called, filled = len(runs), 0
    for slot in slots:
        if filled < limit:
            count = await fill_slot(tx, *slot)
            called, filled = called + count, filled + bool(count)
    return called


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
    found = {}
    for row in limits:
        terms = limit_if_readable(row["terms"])
        if terms is not None:
            owner = row["namespace"], row["job"]
            running = Counter(run["slot"] for run in await tx.find(RUNS_IN_SLOTS(*owner)))
            found[owner] = LimitFacts(*owner, terms, (), running, row["paid_until"])
    return found


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
