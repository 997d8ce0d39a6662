"""Which schedules have due ticks, and what is known of them when those are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from fencepost.model.claiming import (
    FINISHED_KEPT,
    VERSIONS_SEEN,
    ClaimRequest,
    GateFacts,
    LaneLimit,
    ScheduleFacts,
    gate_question,
)
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import ScheduleId, tick_key
from fencepost.model.policies import OF_LAST_MAX
from fencepost.model.run import IN_TURN, LIVE_ORIGINS, Hold, Origin, RunState
from fencepost.model.table import Key, Range, Ranges, Row
from fencepost.model.tables import (
    BACKFILLS,
    CURSORS,
    GATES,
    RUNS,
    RUNS_BEHIND,
    RUNS_CAUGHT_UP,
    RUNS_DUE_TICKS,
    RUNS_FINISHED,
    RUNS_OPEN,
    RUNS_SUCCEEDED,
    RUNS_UNFINISHED,
    SCHEDULES,
    VERSIONS,
)
from fencepost.ports.rows import Transaction
from fencepost.rules.part import groups, pages
from fencepost.rules.plans import taken
from fencepost.rules.rows import to_facts
from fencepost.rules.runs import with_specs

DUE_MAX = 100
SCHEDULES_MAX = 200
WALK_MAX = 2_000
"""How many due ticks of a lane are looked at for the schedules that they belong to."""
TYPICAL_OF = 20

Wanted: TypeAlias = Callable[[Row], bool]


def any_run(run: Row) -> bool:
    return True


async def due_schedules(
    tx: Transaction, claim_request: ClaimRequest, walk: Sequence[LaneLimit], wanted: Wanted
) -> list[Key]:
    """The schedules of the first wanted ticks of each lane that is walked."""
    now, found = await tx.now(), dict[Key, None]()
    for lane_limit in walk:
        if lane_limit.queue in claim_request.queues:
            lane = RUNS_DUE_TICKS(claim_request.namespace, lane_limit.queue, lane_limit.priority).through(now)
            found |= dict.fromkeys(
                map(SCHEDULES.key_of, await _first_ticks(tx, lane, wanted, lane_limit.most))
            )
    return list(found)


async def late_schedules(tx: Transaction, cutoff: StoreTime, limit: int) -> list[Key]:
    """The first schedules that have ticks which are due since then, the most urgent first."""
    firsts = list[Row]()
    for lane in await groups(tx, RUNS_DUE_TICKS(), 3):
        firsts += await _first_ticks(tx, RUNS_DUE_TICKS(*lane).through(cutoff), any_run, limit)
    firsts.sort(key=lambda run: (run["priority"], run["run_at"], run["run_key"]))
    return list(dict.fromkeys(map(SCHEDULES.key_of, firsts)))[: min(limit, SCHEDULES_MAX)]


async def _first_ticks(tx: Transaction, lane: Range, wanted: Wanted, most: int) -> list[Row]:
    """The first tick of each of the first schedules of a lane; a long queue of one of them is not walked to
    its end."""
    firsts, left = dict[Key, Row](), WALK_MAX
    async for page in pages(tx, lane, most):
        met = list(filter(wanted, page))
        for run in met[:left]:
            firsts.setdefault(SCHEDULES.key_of(run), run)
        left -= len(met)
        if len(firsts) >= most or left <= 0:
            break
    return list(firsts.values())[:most]


async def facts_of(
    tx: Transaction, schedules: Sequence[Row], wanted: Wanted, now: StoreTime, parked: int
) -> list[ScheduleFacts]:
    """The facts of schedules whose locks the caller has, of those that have due ticks."""
    owners = [SCHEDULES.key_of(one) for one in schedules]
    waiting = _by_owner([*await tx.find(RUNS_OPEN.each(owners)), *await tx.find(RUNS_BEHIND.each(owners))])
    due = {owner: [run for run in waiting.get(owner, ()) if run["run_at"] <= now] for owner in owners}
    seen = {
        owner: _cut([run for run in due[owner] if not run["held"] & ~IN_TURN.value and wanted(run)], parked)
        for owner in owners
    }
    owners = [owner for owner in owners if seen[owner]]
    unplanned = await _unplanned(tx, [one for one in schedules if seen[SCHEDULES.key_of(one)]], now)
    previous = await last_successes(tx, owners)
    ticks = _by_owner(await _with_terms(tx, [run for owner in owners for run in seen[owner]]))
    unfinished = _by_owner(await tx.find(RUNS_UNFINISHED.each(owners)))
    finished = await _ended_since(tx, {owner: seen[owner] for owner in owners})
    gates = {GATES.key_of(row): row for row in await tx.find(GATES.among(owners))}
    found = []
    for owner in owners:
        row = {
            **dict(zip(GATES.key, owner, strict=True)),
            "newest_due": max(run["fire_time"] for run in due[owner] if not run["held"] & Hold.OPERATOR),
            "previous": previous.get(owner),
            "unplanned": unplanned.get(owner, ()),
        }
        begun = sorted(unfinished.get(owner, ()), key=_place)
        facts = to_facts(row, ticks[owner], begun, finished.get(owner, ()), GateFacts())
        gate = await _gate_facts(tx, gates.get(owner), waiting[owner], facts)
        found.append(replace(facts, gate=gate))
    return found


def _by_owner(runs: Iterable[Row]) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = {}
    for run in runs:
        found.setdefault(SCHEDULES.key_of(run), []).append(run)
    return found


async def last_successes(
    tx: Transaction, schedules: Iterable[tuple[str, str]]
) -> Mapping[tuple[str, str], datetime]:
    """The fire time of each schedule's last successful run, where there is one."""
    runs = await tx.find(RUNS_SUCCEEDED.each(schedules), limit=1, reverse=True)
    return {(run["namespace"], run["schedule_id"]): run["fire_time"] for run in runs}


async def typical_run_s(
    tx: Transaction, schedules: Sequence[tuple[str, str]]
) -> Mapping[tuple[str, str], float]:
    """How long the last successes of each schedule took on average, where there are any."""
    lengths_s: dict[tuple[str, str], list[float]] = {}
    for run in await tx.find(RUNS_SUCCEEDED.each(schedules), limit=TYPICAL_OF, reverse=True):
        took_s = (run["finished_at"] - run["started_at"]).total_seconds()
        lengths_s.setdefault((run["namespace"], run["schedule_id"]), []).append(took_s)
    return {owner: sum(found) / len(found) for owner, found in lengths_s.items()}


async def _with_terms(tx: Transaction, ticks: Sequence[Row]) -> list[Row]:
    """Due ticks with their specs, and with what their backfills allow."""
    numbers = {run["backfill_id"] for run in ticks} - {None}
    backfills = await tx.find(BACKFILLS.among((one,) for one in sorted(numbers))) if numbers else []
    at_once_max = {row["backfill_id"]: row["at_once_max"] for row in backfills}
    return [
        {**run, "at_once_max": at_once_max.get(run["backfill_id"]), "is_new": run["reason"] is None}
        for run in await with_specs(tx, ticks)
    ]


async def _unplanned(
    tx: Transaction, schedules: Sequence[Row], now: StoreTime
) -> dict[Key, list[tuple[datetime, str]]]:
    """Where the newest cursors of each go on, if that moment has passed, the newest moment first, and the
    specs that say whether they fire then. A cursor that was never planned does not know when its version
    fires. A tick that was called off or is held by name is no tick to wait for."""
    versions = [
        (*SCHEDULES.key_of(one), version)
        for one in schedules
        for version in range(max(one["version"] - VERSIONS_SEEN, 0) + 1, one["version"] + 1)
    ]
    moments = {
        CURSORS.key_of(cursor): moment
        for cursor in await tx.find(CURSORS.among(versions))
        if (moment := cursor["next_fire_at"]) is not None and moment <= now and may_plan(cursor, moment)
    }
    keys = {
        (namespace, tick_key(ScheduleId(schedule_id), moment, version)): (namespace, schedule_id, version)
        for (namespace, schedule_id, version), moment in moments.items()
    }
    there = {keys[RUNS.key_of(run)] for run in await tx.find(RUNS.among(keys))} if keys else set()
    fired = await taken(tx, ((*place[:2], moment) for place, moment in moments.items()))
    open_ = [one for one in moments if one not in there and (*one[:2], moments[one]) not in fired]
    specs = {VERSIONS.key_of(row): row["spec"] for row in await tx.find(VERSIONS.among(open_))}
    found: dict[Key, list[tuple[datetime, str]]] = {}
    for one in sorted(open_, key=lambda one: moments[one], reverse=True):
        found.setdefault(one[:2], []).append((moments[one], specs[one]))
    return found


def may_plan(cursor: Row, fire_time: datetime) -> bool:
    """Whether a cursor has not come by this fire time yet, and will."""
    ends_before = cursor["until"] is not None and cursor["until"] < fire_time
    return cursor["next_fire_at"] is not None and cursor["planned_through"] < fire_time and not ends_before


def _cut(seen: Sequence[Row], most: int) -> list[Row]:
    """The first of each kind, live ticks first: many parked ticks must not hide those not parked yet."""
    in_order = sorted(seen, key=_place)
    live = [run for run in in_order if run["origin"] in LIVE_ORIGINS][:DUE_MAX]
    behind = [run for run in in_order if run["origin"] not in LIVE_ORIGINS]
    free = [run for run in behind if not run["held"]][:DUE_MAX]
    parked = [run for run in behind if run["held"] == Hold.PARKED][:most]
    limited = [run for run in behind if run["held"] & (Hold.LIMITED | Hold.PACED)][:DUE_MAX]
    return [*live, *sorted([*free, *parked, *limited], key=_place)]


async def _ended_since(tx: Transaction, due: Mapping[Key, Sequence[Row]]) -> dict[Key, list[Row]]:
    """The last runs of each schedule that ended after the first of its due live ticks became due."""
    first = {
        owner: min((run["run_at"] for run in ticks if run["origin"] in LIVE_ORIGINS), default=None)
        for owner, ticks in due.items()
    }
    since = [RUNS_FINISHED(*owner).after(moment) for owner, moment in first.items() if moment is not None]
    return _by_owner(await tx.find(Ranges(RUNS, tuple(since)), limit=FINISHED_KEPT, reverse=True))


async def _gate_facts(
    tx: Transaction, gate: Row | None, waiting: Sequence[Row], facts: ScheduleFacts
) -> GateFacts:
    closed = gate is not None and gate["closed_at"] is not None
    question = None if closed else gate_question(facts.due)
    if question is None:
        return GateFacts(closed)
    count = sum(_counts_as_waiting(run, gate) for run in waiting)
    owner = facts.namespace, facts.schedule_id
    ended = await tx.find(RUNS_CAUGHT_UP(*owner), limit=OF_LAST_MAX, reverse=True)
    opened_at = None if gate is None else gate["opened_at"]
    since = [run for run in ended if opened_at is None or run["finished_at"] > opened_at]
    failed = tuple(run["state"] == RunState.DEAD for run in since)
    return GateFacts(False, min(count, question.waiting_max), failed[: question.of_last])


def _counts_as_waiting(run: Row, gate: Row | None) -> bool:
    let_through = None if gate is None else gate["let_through"]
    newer = let_through is None or run["fire_time"] > let_through
    return run["origin"] == Origin.CATCH_UP and not run["held"] & Hold.GATE and newer


def _place(run: Row) -> tuple[datetime, str]:
    return run["fire_time"], run["run_key"]
