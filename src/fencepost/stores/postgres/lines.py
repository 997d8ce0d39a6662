"""The lines of limited jobs in PostgreSQL.

Whoever rules on a job has locked its row in `limits`, and reads what runs with a snapshot that is younger
than the lock: two claimers never see the same last slot. A row that another has is passed over, so nobody
waits.

The end of a run frees its slot. Whoever waits for it is called by a statement of its own, after the end is
committed (`fill`): a claim that found the slot taken may hold its run at that very moment, unseen. So a
claim that has held runs for want of a slot asks once more as well, after its own commit; one of the two sees
what the other did. The reaper is the net for processes that died in between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fencepost.model.claiming import Appetite, ScheduleFacts
from fencepost.model.clocks import StoreTime
from fencepost.model.codec import limit_to_text
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import JobSpec
from fencepost.model.limits import Candidate, JobLimit, Limiter, LimitFacts, LimitRuling, Waiting
from fencepost.model.run import Claim
from fencepost.rules.allowances import Allowances, candidates_max
from fencepost.rules.lining import Standing, go_through
from fencepost.rules.rows import limit_if_readable, to_claim, to_payload
from fencepost.stores.postgres.connection import Database, clean
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Row, Session

QUERIES = load_queries(__package__, "lines.sql")
FILL_MAX = 1_000
RELEASE_MAX = 1_000

Owner: TypeAlias = tuple[Namespace, JobName]
Slot: TypeAlias = tuple[Namespace, JobName, str]


@dataclass(frozen=True, slots=True)
class Taken:
    """What a claim took from the lines, and the slots that some now wait for."""

    claims: Sequence[Claim] = ()
    full: frozenset[Slot] = frozenset()


async def take(session: Session, appetite: Appetite, limit: int, limiter: Limiter) -> Taken:
    """Lock the lines that nobody else has, and go through them."""
    walk, namespace = appetite.walk(limit), appetite.namespace
    queues = sorted({one.queue for one in walk})
    locked = await session.fetch(QUERIES["lock_lines"], namespace, sorted(appetite.jobs), queues)
    now, known = await _read(session, locked)
    if now is None:
        return Taken()
    books = {job: facts for (_, job), facts in known.items()}
    rows = await session.fetch(QUERIES["line"], namespace, list(books), queues, candidates_max(limit))
    standing = [_standing(books[row["job"]].limit, row) for row in rows]
    passage = go_through(books, standing, walk, limit, now, limiter)
    await _hold(session, [(namespace, one) for one in passage.waits])
    if passage.due:
        await session.fetch(QUERIES["free"], *_columns([(namespace, one) for one in passage.due]))
    await _pay(session, {(namespace, job): ruling for job, ruling in passage.paid.items()})
    full = frozenset((namespace, *one) for one in passage.full)
    return Taken(await _start(session, appetite, passage.begun, now), full)


async def allowances(
    session: Session, every: Sequence[ScheduleFacts], limiter: Limiter | None, now: StoreTime
) -> Allowances:
    """What the limits of these ticks' jobs leave."""
    owners = sorted({(facts.namespace, tick.job) for facts in every for tick in facts.due})
    rows = await session.fetch(QUERIES["lock_limits"], *_columns(owners))
    known = frozenset((row["namespace"], row["job"]) for row in rows)
    if limiter is None:
        return Allowances(now, closed=known)
    after, books = await _read(session, [row for row in rows if row["terms"] is not None])
    return Allowances(after or now, limiter, books, known - books.keys())


async def keep(session: Session, allowed: Allowances) -> None:
    """Write down what a judgement left of the limits, and what waits for them."""
    touched = [*((namespace, one.run_key) for namespace, one in allowed.waits), *allowed.frees]
    if touched:
        await session.fetch(QUERIES["lock_runs"], *_columns(touched))
    await _hold(session, allowed.waits)
    if allowed.frees:
        await session.fetch(QUERIES["free"], *_columns(allowed.frees))
    await _pay(session, allowed.rulings)


async def fill(database: Database, slots: Collection[Slot]) -> int:
    """Call as many of those that wait for these slots as there is place for."""
    if not slots:
        return 0
    given = sorted(slots)
    columns = [one[0] for one in given], [one[1] for one in given], [one[2] for one in given]
    return int(await database.fetch_value(QUERIES["fill"], *columns, FILL_MAX))


async def net(database: Database, limit: int) -> int:
    """Call whoever could have been called and was not."""
    await database.fetch(QUERIES["release_strays"], limit)
    await _stamp(database, await database.fetch(QUERIES["unstamped"], None, []))
    rung = int(await database.fetch_value(QUERIES["ring_ticks"], limit))
    slots = await database.fetch(QUERIES["limited_slots"], limit)
    return rung + await fill(database, {(row["namespace"], row["job"], row["slot"]) for row in slots})


async def put(session: Session, namespace: Namespace, specs: Iterable[JobSpec]) -> list[JobName]:
    """Let the limits be those of the specs. Where they changed, what runs counts for what it now would; those
    jobs are returned, to have what waits released after the commit."""
    every = list(specs)
    limited = [(spec.name, spec.limit) for spec in every if spec.limit is not None]
    free = [spec.name for spec in every if spec.limit is None]
    gone = await session.fetch(QUERIES["drop_limits"], namespace, free)
    new = await session.fetch(
        QUERIES["put_limits"],
        namespace,
        [name for name, _ in limited],
        [limit_to_text(limit) for _, limit in limited],
        [limit.concurrency for _, limit in limited],
    )
    changed = [row["job"] for row in (*gone, *new)]
    if changed:
        await _stamp(session, await session.fetch(QUERIES["unstamped"], namespace, changed))
    return changed


async def release(database: Database, namespace: Namespace, jobs: Sequence[JobName]) -> None:
    """What waits for the limits of these jobs is looked at anew, some at a time, so that nobody waits for a
    long line. The net is for a process that dies in between, and for what comes back meanwhile."""
    if jobs:
        waiting = int(await database.fetch_value(QUERIES["waiting"], namespace, jobs))
        for _ in range(waiting // RELEASE_MAX + 1):
            await database.fetch(QUERIES["release"], namespace, jobs, RELEASE_MAX)
        await database.fetch(QUERIES["release_held"], namespace, jobs, RELEASE_MAX)


def _standing(limit: JobLimit, row: Row) -> Standing:
    lane = row["queue"], row["priority"], row["run_at"]
    slot = limit.slot_of(to_payload(row))
    return Standing(row["job"], row["run_key"], *lane, slot, row["is_tick"], row["reason"])


async def _start(
    session: Session, appetite: Appetite, begun: Sequence[Candidate], now: StoreTime
) -> Sequence[Claim]:
    if not begun:
        return []
    keys, slots = [one.run_key for one in begun], [one.slot for one in begun]
    worker = appetite.worker, appetite.alive_for_s
    rows = await session.fetch(QUERIES["start_lined"], appetite.namespace, keys, slots, *worker, now)
    return [to_claim(row, row["previous"]) for row in rows]


async def _read(session: Session, locked: Sequence[Row]) -> tuple[StoreTime | None, dict[Owner, LimitFacts]]:
    """What there is to know of these jobs, and when it was read; nothing where there are none. The limits of
    one may be readable only to a newer release."""
    readable = {
        (row["namespace"], row["job"]): (limit, row["paid_until"])
        for row in locked
        if (limit := limit_if_readable(row["terms"])) is not None
    }
    if not readable:
        return None, {}
    rows = await session.fetch(QUERIES["running"], *_columns(list(readable)))
    running: dict[Owner, dict[str, int]] = {owner: {} for owner in readable}
    for row in rows:
        if row["slot"] is not None:
            running[row["namespace"], row["job"]][row["slot"]] = row["runs"]
    books = {
        owner: LimitFacts(*owner, limit, (), running[owner], paid_until)
        for owner, (limit, paid_until) in readable.items()
    }
    return rows[0]["now"], books


async def _hold(session: Session, waits: Sequence[tuple[Namespace, Waiting]]) -> None:
    if waits:
        await session.fetch(
            QUERIES["hold"],
            [namespace for namespace, _ in waits],
            [one.run_key for _, one in waits],
            [int(one.hold) for _, one in waits],
            [one.slot for _, one in waits],
            [clean(one.reason) for _, one in waits],
        )


async def _pay(session: Session, rulings: Mapping[Owner, LimitRuling]) -> None:
    if rulings:
        await session.fetch(
            QUERIES["pay"],
            *_columns(list(rulings)),
            [one.paid_until for one in rulings.values()],
            [one.next_at for one in rulings.values()],
        )


async def _stamp(session: Session | Database, rows: Sequence[Row]) -> None:
    known = [(row, limit) for row in rows if (limit := limit_if_readable(row["terms"])) is not None]
    if known:
        await session.fetch(
            QUERIES["stamp"],
            [row["namespace"] for row, _ in known],
            [row["run_key"] for row, _ in known],
            [limit.slot_of(to_payload(row)) for row, limit in known],
        )


def _columns(owners: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [one for one, _ in owners], [other for _, other in owners]
