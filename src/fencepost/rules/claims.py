"""Claims: what is due for a worker, and what it is given."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from fencepost.model.claiming import (
    ClaimRequest,
    Head,
    Judge,
    LaneLimit,
    Outlook,
    ScheduleFacts,
    nothing_due,
    parked_max,
)
from fencepost.model.clocks import StoreTime, later
from fencepost.model.freeze import ScopeKind
from fencepost.model.identifiers import Fence, JobName, Namespace, NodeId, Queue, RunKey
from fencepost.model.limits import Limiter
from fencepost.model.run import IN_TURN, Claim, Hold, RunState
from fencepost.model.table import Index, Key, Range, Ranges, Row
from fencepost.model.tables import (
    LIMITS,
    RUNS,
    RUNS_DUE_DIRECT,
    RUNS_DUE_TICKS,
    RUNS_LINED,
    RUNS_RUNNING,
    SCHEDULES,
)
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.checks import Checked
from fencepost.rules.expiry import end_expired, has_expired, in_time
from fencepost.rules.facts import (
    SCHEDULES_MAX,
    Wanted,
    any_run,
    due_schedules,
    facts_of,
    last_successes,
    late_schedules,
)
from fencepost.rules.freezes import EVERYTHING, frozen_scopes
from fencepost.rules.limits import allowances, held_by, keep_allowances, lets_go, limit_facts, pay
from fencepost.rules.lining import Standing, go_through, looked_at
from fencepost.rules.part import Part, groups, pages, reads, search, writes
from fencepost.rules.rows import limit_if_readable, to_claim, to_payload
from fencepost.rules.runs import Slot, fill_slots, is_tick, owners_of, with_specs
from fencepost.rules.verdicts import carry_out, rule

Slots: TypeAlias = Mapping[tuple[Namespace, RunKey], str]


class ClaimRules(Part):
    """The claiming part of `ports.ledger`."""

    @reads
    async def outlook(self, tx: Transaction, claim_request: ClaimRequest) -> Outlook:
        now, waiting = await tx.now(), (RUNS_DUE_DIRECT, RUNS_DUE_TICKS, RUNS_LINED)
        there = await tx.count([index(claim_request.namespace) for index in waiting], limit=1)
        walk = await open_walk(tx, claim_request, 1) if any(there) else None
        if walk is None:
            return nothing_due(now)
        queues = sorted({one.queue for one in walk} & set(claim_request.queues))
        heads: dict[str, list[Head]] = {}
        coming: list[datetime] = []
        for index in (RUNS_DUE_DIRECT, RUNS_DUE_TICKS):
            for priority, queue in await _lanes(tx, index, claim_request.namespace, queues):
                first = await _first(tx, index, claim_request, queue, priority, now)
                if first is not None and first["run_at"] <= now:
                    heads.setdefault(index.name, []).append(Head(priority, first["run_at"], queue))
                    first = await _first(tx, index, claim_request, queue, priority, now, coming=True)
                coming += [] if first is None else [first["run_at"]]
        lined, next_ones = await lined_heads(tx, claim_request, queues, now)
        directs, ticks = (tuple(heads.get(one.name, ())) for one in (RUNS_DUE_DIRECT, RUNS_DUE_TICKS))
        return Outlook(now, directs, ticks, lined, min([*coming, *next_ones], default=None))

    @writes
    async def claim_direct(self, tx: Transaction, claim_request: ClaimRequest, limit: int) -> Sequence[Claim]:
        walk = await open_walk(tx, claim_request, limit)
        now = await tx.now()
        claims: list[Claim] = []
        for lane_limit in walk or ():
            most = min(lane_limit.most, limit - len(claims))
            if lane_limit.queue in claim_request.queues and most > 0:
                picked = await _take_direct(tx, claim_request, lane_limit, most, now)
                claims += await _start(tx, picked, claim_request, now, {})
        return claims

    async def claim_lined(self, claim_request: ClaimRequest, limit: int, limiter: Limiter) -> Sequence[Claim]:
        claims, full = await self._claim_lined(claim_request, limit, limiter)
        await self._call(full)
        return claims

    async def claim_ticks(
        self, claim_request: ClaimRequest, limit: int, judge: Judge, limiter: Limiter | None = None
    ) -> Sequence[Claim]:
        claims, full = await self._claim_ticks(claim_request, limit, judge, limiter)
        await self._call(full)
        return claims

    async def _call(self, slots: Collection[Slot]) -> None:
        """Look at slots again, when all can see which runs wait for them: a run that ended meanwhile did
        not."""
        if slots:
            await self._fill(slots)

    @writes
    async def _fill(self, tx: Transaction, slots: Collection[Slot]) -> None:
        if await fill_slots(tx, slots):
            tx.hint(Topic.RUNS)

    async def _open_lines(
        self, tx: Checked, claim_request: ClaimRequest, limit: int
    ) -> tuple[Sequence[LaneLimit], dict[tuple[Namespace, JobName], Row]]:
        """The lanes to be walked, and the limits that let a run go and that no other claimer has."""
        walk = await open_walk(tx, claim_request, limit) or []
        known, now = await limits_of(tx, claim_request) if walk else [], await tx.now()
        named = [(row["namespace"], row["job"]) for row in known if lets_go(row, now)]
        # The caller has heard of a single one; of several, those without a limit queue are left to others.
        if len(named) > 1:
            lines = {(*one, lane_limit.queue) for one in named for lane_limit in walk}
            heads = await tx.find(RUNS_LINED.each(sorted(lines)), limit=1)
            named = sorted({(run["namespace"], run["job"]) for run in heads})
        taken, now = await tx.take(LIMITS.among(named)), await tx.now()
        return walk, {(row["namespace"], row["job"]): row for row in taken if lets_go(row, now)}

    @writes
    async def _claim_lined(
        self, tx: Checked, claim_request: ClaimRequest, limit: int, limiter: Limiter
    ) -> tuple[list[Claim], Collection[Slot]]:
        walk, limits = await self._open_lines(tx, claim_request, limit)
        if not limits:
            return [], ()
        namespace, queues = claim_request.namespace, sorted({one.queue for one in walk})
        known = ((row["job"], limit_if_readable(row["terms"])) for row in limits.values())
        terms = {job: one for job, one in known if one is not None}
        # Without keys a job has one slot, and the number that may go is known before its queue is read.
        keyed = any(one.key is not None for one in terms.values())
        facts = {} if keyed else await limit_facts(tx, limits, [(namespace, job, "") for job in terms])
        lines = [(namespace, job, queue) for job in terms for queue in queues]
        # One limit queue is one query; several are found first, and taken then.
        wanted = RUNS_LINED(*lines[0]) if len(lines) == 1 else RUNS_LINED.each(lines)
        taken = await _take_free(tx, wanted, looked_at(walk, limit, facts.values()))
        taken = await in_time(tx, taken)
        rows = {run["run_key"]: run for run in (await with_specs(tx, taken) if keyed else taken)}
        slots = {
            key: terms[run["job"]].slot_of(to_payload(run)) if keyed else "" for key, run in rows.items()
        }
        if keyed:
            facts = await limit_facts(tx, limits, [(namespace, rows[key]["job"], slots[key]) for key in rows])
        books, now = {job: one for (_, job), one in facts.items()}, await tx.now()
        standing = [_standing(run, slots[key]) for key, run in rows.items()]
        passage = go_through(books, standing, walk, limit, now, limiter)
        await tx.change(RUNS, [(rows[key], {"held": 0}) for key in passage.due])
        await tx.change(RUNS, [(rows[one.run_key], held_by(rows[one.run_key], one)) for one in passage.waits])
        await pay(tx, limits.values(), {(namespace, job): one for job, one in passage.paid.items()})
        begun = {(namespace, one.run_key): one.slot for one in passage.begun}
        claims = await self._begin(tx, [rows[key] for _, key in begun], claim_request, now, begun)
        return claims, {(namespace, *one) for one in passage.full}

    async def _begin(
        self, tx: Checked, runs: Sequence[Row], claim_request: ClaimRequest, now: StoreTime, slots: Slots
    ) -> list[Claim]:
        return await _start(tx, runs, claim_request, now, slots)

    @writes
    async def _claim_ticks(
        self,
        tx: Transaction,
        claim_request: ClaimRequest,
        limit: int,
        judge: Judge,
        limiter: Limiter | None,
        schedules: Sequence[Key] | None = None,
    ) -> tuple[list[Claim], Collection[Slot]]:
        """Of these schedules, or of the first that have due ticks."""
        walk = await open_walk(tx, claim_request, limit) or ()
        now, wanted = await tx.now(), wants(claim_request, walk)
        if schedules is None:
            schedules = await due_schedules(tx, claim_request, walk, wanted)
        every = await _gather(tx, schedules, wanted, limit, now, limit)
        if not every:
            return [], ()
        allowed = await allowances(tx, every, limiter)
        verdicts = rule(every, now, limit, judge, allowed)
        await carry_out(tx, verdicts)
        await keep_allowances(tx, allowed)
        keys = [(one.namespace, one.run_key) for one in verdicts.starts]
        runs = {RUNS.key_of(run): run for run in await tx.lock(RUNS.among(sorted(keys)))}
        begun = [runs[key] for key in keys]
        previous: dict[tuple[str, str], datetime | None] = {
            (one.namespace, one.schedule_id): one.previous for one in verdicts.starts
        }
        return await _start(tx, begun, claim_request, allowed.now, allowed.slots, previous), allowed.full

    @writes
    async def sweep_late(self, tx: Transaction, older_than_s: float, limit: int, judge: Judge) -> int:
        now = await tx.now()
        owners = await late_schedules(tx, later(now, -older_than_s), limit)
        every, expired = await _gather(tx, owners, any_run, limit, now, 0), await end_expired(tx, limit)
        if not every:
            return expired
        verdicts = rule(every, now, 0, judge)
        await carry_out(tx, verdicts)
        return len(verdicts.ends) + len(verdicts.admits) + expired

    @reads
    async def adopt(self, tx: Transaction, worker: NodeId, known: Sequence[Fence]) -> Sequence[Claim]:
        mine = [run for run in await tx.find(RUNS_RUNNING(worker)) if run["fence"] not in known]
        return await _claims(tx, mine)


async def open_walk(tx: Transaction, claim_request: ClaimRequest, limit: int) -> list[LaneLimit] | None:
    """The lanes to be walked, without those of paused queues; None where everything is frozen."""
    scopes = await frozen_scopes(tx, claim_request.namespace)
    if EVERYTHING in scopes:
        return None
    return [one for one in claim_request.walk(limit) if (ScopeKind.QUEUE.value, one.queue) not in scopes]


def wants(claim_request: ClaimRequest, walk: Sequence[LaneLimit] | None = None) -> Wanted:
    """Whether a worker can take a run, of the queues that are walked."""
    jobs, queues = frozenset(claim_request.jobs), frozenset(claim_request.queues)
    if walk is not None:
        queues &= {lane_limit.queue for lane_limit in walk}
    return lambda run: run["job"] in jobs and run["queue"] in queues


async def _lanes(
    tx: Transaction, index: Index, namespace: Namespace, queues: Sequence[Queue]
) -> list[tuple[int, Queue]]:
    """The lanes of these queues that have runs, the most urgent first."""
    found = {queue: await groups(tx, index(namespace, queue), 1) for queue in queues}
    return sorted((priority, queue) for queue, lanes in found.items() for (priority,) in lanes)


async def _first(
    tx: Transaction,
    index: Index,
    claim_request: ClaimRequest,
    queue: Queue,
    priority: int,
    now: StoreTime,
    *,
    coming: bool = False,
) -> Row | None:
    """The first run of a lane that the worker can take, or the first of those that will be due."""
    lane, wanted = index(claim_request.namespace, queue, priority), wants(claim_request)
    found = await search(
        tx, lane.after(now) if coming else lane, lambda run: wanted(run) and not has_expired(run, now), 1
    )
    return found[0] if found else None


async def _take_direct(
    tx: Transaction, claim_request: ClaimRequest, lane_limit: LaneLimit, most: int, now: StoreTime
) -> list[Row]:
    """The first due runs of a lane; runs of limited jobs move to the limit queue of their job instead."""
    lane = RUNS_DUE_DIRECT(claim_request.namespace, lane_limit.queue, lane_limit.priority).through(now)
    wanted, picked = wants(claim_request), list[Row]()
    async for page in pages(tx, lane, most):
        due = [run for run in page if wanted(run) and not has_expired(run, now)]
        jobs = sorted({(run["namespace"], run["job"]) for run in due})
        limited = {row["job"] for row in await tx.find(LIMITS.among(jobs))} if due else set()
        while due and len(picked) < most:
            met, due = due[: most - len(picked)], due[most - len(picked) :]
            met = await _of_free_schedules(tx, met)
            taken = {RUNS.key_of(one): one for one in await tx.take(RUNS.among(map(RUNS.key_of, met)))}
            free = [taken[key] for key in map(RUNS.key_of, met) if key in taken]
            free = [run for run in free if RUNS_DUE_DIRECT.has(run) and not has_expired(run, now)]
            lined = [run for run in free if run["job"] in limited]
            await tx.change(RUNS, [(run, {"held": Hold.PACED.value}) for run in lined])
            picked += [run for run in free if run["job"] not in limited]
        if len(picked) >= most:
            break
    return picked


async def _of_free_schedules(tx: Transaction, runs: Sequence[Row]) -> list[Row]:
    """The runs without those whose schedule another claimer has. A retry needs no verdict, but the fences
    of a schedule rise from claim to claim only where each claim draws them under the schedule's lock."""
    owners = owners_of(runs)
    mine = {SCHEDULES.key_of(row) for row in await tx.take(SCHEDULES.among(owners))} if owners else set()
    return [
        run for run in runs if run["schedule_id"] is None or (run["namespace"], run["schedule_id"]) in mine
    ]


async def _take_free(tx: Transaction, wanted: Range | Ranges, most: int) -> list[Row]:
    """The first runs of limit queues whose schedules no other claimer has; where some are left out, it looks
    on."""
    seen, limit = -1, most
    while True:
        taken = await tx.take(wanted, limit=limit)
        free = await _of_free_schedules(tx, taken)
        if len(free) == len(taken) or len(free) >= most or len(taken) == seen:
            return free
        seen, limit = len(taken), 2 * limit


async def _gather(
    tx: Transaction,
    owners: Iterable[tuple[str, str]],
    wanted: Wanted,
    limit: int,
    now: StoreTime,
    room: int,
) -> list[ScheduleFacts]:
    """The facts of the first schedules that no other claimer has locked."""
    first = list(owners)[: min(limit, SCHEDULES_MAX)]
    if not first:
        return []
    locked = {SCHEDULES.key_of(row): row for row in await tx.take(SCHEDULES.among(first))}
    mine = [locked[owner] for owner in first if owner in locked]
    return await facts_of(tx, mine, wanted, now, parked_max(room, len(first)))


async def limits_of(tx: Transaction, claim_request: ClaimRequest) -> list[Row]:
    """The limits of the jobs that the worker can do."""
    jobs = frozenset(claim_request.jobs)
    return [row for row in await tx.find(LIMITS.all(claim_request.namespace)) if row["job"] in jobs]


async def lined_heads(
    tx: Transaction, claim_request: ClaimRequest, queues: Iterable[Queue], now: StoreTime
) -> tuple[tuple[Head, ...], list[datetime]]:
    """The heads of the limit queues whose rate lets a run go, and when the others will."""
    heads, next_ones = list[Head](), list[datetime]()
    for row in await limits_of(tx, claim_request):
        if limit_if_readable(row["terms"]) is None:
            continue
        firsts = [
            run
            for queue in queues
            for run in await tx.find(RUNS_LINED(row["namespace"], row["job"], queue), limit=1)
        ]
        if lets_go(row, now):
            heads += [Head(run["priority"], run["run_at"], run["queue"]) for run in firsts]
        elif firsts:
            next_ones.append(row["next_at"])
    return tuple(heads), next_ones


def _standing(run: Row, slot: str) -> Standing:
    lane = run["queue"], run["priority"], run["run_at"]
    return Standing(run["job"], run["run_key"], *lane, slot, is_tick(run), run["reason"])


async def _start(
    tx: Transaction,
    runs: Sequence[Row],
    claim_request: ClaimRequest,
    now: StoreTime,
    slots: Slots,
    previous: Mapping[tuple[str, str], datetime | None] | None = None,
) -> list[Claim]:
    """Begin an attempt of each run, at the moment at which its limits let it; the fences are in the order of
    the runs. The last successes of their schedules are looked up where they are not given."""
    if not runs:
        return []
    fences, alive_until = await tx.fences(len(runs)), later(await tx.now(), claim_request.alive_for_s)
    changes = [
        (
            run,
            {
                "state": RunState.RUNNING.value,
                "attempt": run["attempt"] + 1,
                "fence": fence,
                "worker": claim_request.worker,
                "started_at": now,
                "first_started_at": run["first_started_at"] or now,
                "alive_until": alive_until,
                "held": run["held"] & ~IN_TURN.value,
                "reason": None,
                "slot": slots.get((run["namespace"], run["run_key"])),
            },
        )
        for run, fence in zip(runs, fences, strict=True)
    ]
    return await _claims(tx, await tx.change(RUNS, changes), previous)


async def _claims(
    tx: Transaction, runs: Sequence[Row], previous: Mapping[tuple[str, str], datetime | None] | None = None
) -> list[Claim]:
    if previous is None:
        previous = await last_successes(tx, owners_of(runs))
    owned = [
        (run, previous.get((run["namespace"], run["schedule_id"]))) for run in await with_specs(tx, runs)
    ]
    return [to_claim(run, success) for run, success in owned]
