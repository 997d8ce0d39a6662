"""Claims in SQLite.

The write lock of the transaction is the lock on every schedule, so no other call judges meanwhile. What is
due is found by probes, one for each lane, in the order of the lane limits; a probe is read only as far as it
is needed. Runs of limited jobs that a probe meets get into the lines of their jobs, from which the rules take
them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import apsw

from fencepost.model.claiming import ClaimRequest, Head, Judge, Outlook, nothing_due
from fencepost.model.clocks import StoreTime, later
from fencepost.model.driving import finish_now
from fencepost.model.job import LANES
from fencepost.model.limits import Limiter
from fencepost.model.run import Claim
from fencepost.ports.signals import Topic
from fencepost.rules.checks import Checked
from fencepost.rules.claims import lined_heads
from fencepost.rules.expiry import end_expired
from fencepost.rules.facts import late_schedules
from fencepost.rules.limits import allowances, keep_allowances
from fencepost.rules.rows import ORIGINS, to_payload
from fencepost.rules.runs import Slot
from fencepost.rules.store import LedgerRules
from fencepost.rules.verdicts import carry_out, rule
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.connection import take_fences
from fencepost.stores.sqlite.facts import choose, gather
from fencepost.stores.sqlite.moments import from_us, span_us, to_us
from fencepost.stores.sqlite.part import SqlitePart
from fencepost.stores.sqlite.rows import SqliteRowTransaction

QUERIES = load_queries("fencepost.stores.sqlite", "claims.sql")

LINED_MAX = 2_000
ALL = 2**31


class SqliteClaims(SqlitePart, LedgerRules):
    """The claiming part of `ports.ledger`."""

    async def outlook(self, claim_request: ClaimRequest) -> Outlook:
        return await self._database.read(partial(_outlook, claim_request))

    async def claim_direct(self, claim_request: ClaimRequest, limit: int) -> Sequence[Claim]:
        return await self._database.transact(partial(_claim_direct, claim_request, limit))

    async def claim_ticks(
        self, claim_request: ClaimRequest, limit: int, judge: Judge, limiter: Limiter | None = None
    ) -> Sequence[Claim]:
        work = partial(_claim_ticks, claim_request, limit, judge, limiter)
        claims, woken = await self._database.transact(work)
        self._hint_if(woken)
        return claims

    async def sweep_late(self, older_than_s: float, limit: int, judge: Judge) -> int:
        settled, woken = await self._database.transact(partial(_sweep_late, older_than_s, limit, judge))
        self._hint_if(woken)
        return settled

    async def _call(self, slots: Collection[Slot]) -> None:
        """Writers come one after the other, so none has missed anything."""


def _outlook(claim_request: ClaimRequest, connection: apsw.Connection, now: StoreTime) -> Outlook:
    wanted = _unpaused(claim_request, connection)
    if wanted is None:
        return nothing_due(now)
    terms = {
        "now": to_us(now),
        "namespace": wanted.namespace,
        "queues": json.dumps(wanted.queues),
        "jobs": json.dumps(wanted.jobs),
        "priorities": json.dumps(LANES),
    }
    rows = list(connection.execute(QUERIES["outlook"], terms))
    lines = lined_heads(SqliteRowTransaction(connection, now), wanted, sorted(set(wanted.queues)), now)
    lined, next_ones = finish_now(lines)
    return Outlook(
        now,
        tuple(Head(row[0], from_us(row[2]), row[1]) for row in rows if row[2] is not None),
        tuple(Head(row[0], from_us(row[3]), row[1]) for row in rows if row[3] is not None),
        lined,
        min(
            [*next_ones, *(from_us(one) for row in rows for one in row[4:] if one is not None)], default=None
        ),
    )


def _claim_direct(
    claim_request: ClaimRequest, limit: int, connection: apsw.Connection, now: StoreTime
) -> list[Claim]:
    wanted = _unpaused(claim_request, connection)
    if wanted is None:
        return []
    limited = {job for (job,) in connection.execute(QUERIES["limited_jobs"], {"namespace": wanted.namespace})}
    picked: list[int] = []
    lined: list[int] = []
    for most, lane in _walk(connection, QUERIES["due_direct"], wanted, limit, now):
        end = min(limit, len(picked) + most)
        while len(picked) < end and len(lined) < LINED_MAX and (row := next(lane, None)) is not None:
            (lined if row[3] in limited else picked).append(row[2])
    if lined:
        connection.execute(QUERIES["line_up"], {"rows": json.dumps(lined)})
    return _start(picked, claim_request, connection, now)


def _claim_ticks(
    claim_request: ClaimRequest,
    limit: int,
    judge: Judge,
    limiter: Limiter | None,
    connection: apsw.Connection,
    now: StoreTime,
) -> tuple[list[Claim], bool]:
    wanted = _unpaused(claim_request, connection)
    if wanted is None:
        return [], False
    due = _walk(connection, QUERIES["due_ticks"], wanted, limit, now)
    facts = gather(connection, choose(due, limit), now, wanted, limit)
    rows = SqliteRowTransaction(connection, now)
    tx = Checked(rows)
    allowed = finish_now(allowances(tx, facts.every, limiter))
    verdicts = rule(facts.every, now, limit, judge, allowed)
    finish_now(carry_out(tx, verdicts))
    finish_now(keep_allowances(tx, allowed))
    keys = [(one.namespace, one.run_key) for one in verdicts.starts]
    claims = _start([facts.row_ids[key] for key in keys], claim_request, connection, now)
    stamps = ({"row_id": facts.row_ids[key], "slot": slot} for key, slot in allowed.slots.items())
    connection.executemany(QUERIES["stamp"], stamps)
    return claims, Topic.RUNS in rows.hints


def _sweep_late(
    older_than_s: float,
    limit: int,
    judge: Judge,
    connection: apsw.Connection,
    now: StoreTime,
) -> tuple[int, bool]:
    rows = SqliteRowTransaction(connection, now)
    late = finish_now(late_schedules(rows, later(now, -older_than_s), limit))
    verdicts = rule(gather(connection, late, now, None, 0).every, now, 0, judge)
    finish_now(carry_out(Checked(rows), verdicts))
    expired = finish_now(end_expired(Checked(rows), limit))
    return len(verdicts.ends) + len(verdicts.admits) + expired, Topic.RUNS in rows.hints


def _unpaused(claim_request: ClaimRequest, connection: apsw.Connection) -> ClaimRequest | None:
    """The claim request without the queues that are paused; None where everything is frozen."""
    found = connection.execute(QUERIES["stopped_queues"], {"namespace": claim_request.namespace})
    stopped = frozenset(queue for (queue,) in found)
    if not stopped:
        return claim_request
    if None in stopped:
        return None
    return replace(
        claim_request,
        queues=tuple(one for one in claim_request.queues if one not in stopped),
        lane_limits=tuple(one for one in claim_request.walk(ALL) if one.queue not in stopped),
    )


def _walk(
    connection: apsw.Connection, query: str, claim_request: ClaimRequest, limit: int, now: StoreTime
) -> Iterator[tuple[int, Iterator[Any]]]:
    """The lanes in turn: how many may be taken, and the due rows by `run_at`, read as they are taken."""
    terms = {"by": to_us(now), "jobs": json.dumps(claim_request.jobs), "namespace": claim_request.namespace}
    for one in claim_request.walk(limit):
        lane = {"queue": one.queue, "priority": one.priority}
        yield one.most, iter(connection.execute(query, {**terms, **lane}))


def _start(
    picked: Sequence[int], claim_request: ClaimRequest, connection: apsw.Connection, now: StoreTime
) -> list[Claim]:
    """Begin an attempt of each picked run, under fences in the order of the picks."""
    if not picked:
        return []
    fence, now_us = take_fences(connection, len(picked)), to_us(now)
    terms = {"picked": json.dumps(picked), "fence": fence, "now": now_us}
    claims = [_to_claim(now, row) for row in connection.execute(QUERIES["picked"], terms)]
    grant = {"worker": claim_request.worker, "alive_until": now_us + span_us(claim_request.alive_for_s)}
    connection.execute(QUERIES["start"], {**terms, **grant})
    return claims


def _to_claim(now: StoreTime, row: Any) -> Claim:
    """A row of `picked`: every claim of a worker comes through here."""
    namespace, run_key, schedule_id, job, fire_time, version, attempt, fence, epoch = row[:9]
    payload, spec, run_at, previous, first_started_at, attempts_before_replay, queue, origin = row[9:]
    return Claim(
        namespace,
        run_key,
        schedule_id,
        job,
        from_us(fire_time),
        version,
        attempt,
        fence,
        epoch,
        to_payload({"payload": payload, "spec": spec}),
        from_us(run_at),
        now,
        None if previous is None else from_us(previous),
        StoreTime(from_us(first_started_at)),
        attempts_before_replay,
        queue,
        ORIGINS[origin],
    )
