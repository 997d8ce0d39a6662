"""Claiming in PostgreSQL: what is due goes to the first that locks it.

A direct run is claimed by one statement, lane by lane; those of limited jobs get into the lines of their
jobs, from which the rules take them. A tick is judged, and the verdict depends on the other runs of its
schedule, so its claim is a transaction: lock the schedules, read the facts with a snapshot that is
younger than the locks, ask the judge, write. Every call that started or ended a tick of the
schedule before held the same lock, so the facts are complete; one that comes later waits or passes on.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

from fencepost.model.claiming import ClaimRequest, Judge, LaneLimit, Outlook
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Fence, JobName, Namespace, NodeId
from fencepost.model.limits import Limiter
from fencepost.model.run import Claim
from fencepost.model.table import Row
from fencepost.model.tables import LIMITS, SCHEDULES
from fencepost.rules.allowances import Allowances
from fencepost.rules.checks import Checked
from fencepost.rules.claims import Slots
from fencepost.rules.expiry import end_expired
from fencepost.rules.facts import SCHEDULES_MAX, last_successes, late_schedules
from fencepost.rules.rows import to_claim, to_outlook
from fencepost.rules.runs import Slot, owners_of
from fencepost.rules.verdicts import Started, Verdicts
from fencepost.stores.postgres.facts import Judged, judge_locked
from fencepost.stores.postgres.part import PostgresPart
from fencepost.stores.postgres.rows import PostgresRowTransaction
from fencepost.stores.postgres.verdicts import carry_out, start
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "claims.sql")
WALK_PER_SCHEDULE, WALK_MIN = 4, 200
SWEEPS_MAX = 20
"""How often a claim walks on where it met runs of limited jobs."""


class PostgresClaims(PostgresPart):
    """The claiming part of `ports.ledger`."""

    async def outlook(self, claim_request: ClaimRequest) -> Outlook:
        row = await self._database.fetch_one(
            QUERIES["outlook"], *_wanted(claim_request), claim_request.namespace
        )
        assert row is not None
        return to_outlook(row)

    async def claim_direct(self, claim_request: ClaimRequest, limit: int) -> Sequence[Claim]:
        claims: list[Claim] = []
        queues, priorities, mosts = _lane_limits(claim_request, limit)
        for _ in range(SWEEPS_MAX):
            rows = await self._database.fetch(
                QUERIES["claim_direct"],
                queues,
                list(claim_request.jobs),
                limit - len(claims),
                claim_request.worker,
                claim_request.alive_for_s,
                claim_request.namespace,
                priorities,
                mosts,
            )
            begun = [row for row in rows if row["run_key"] is not None]
            claims += [to_claim(row, row["previous"]) for row in begun]
            for row in begun:
                mosts[row["number"] - 1] -= 1
            if not rows[0]["lined"] or len(claims) >= limit:
                break
        return claims

    async def _open_lines(
        self, tx: Checked, claim_request: ClaimRequest, limit: int
    ) -> tuple[Sequence[LaneLimit], dict[tuple[Namespace, JobName], Row]]:
        walk = claim_request.walk(limit)
        terms = claim_request.namespace, list(claim_request.jobs), sorted({one.queue for one in walk})
        found = await cast("PostgresRowTransaction", tx.inner).fetch(QUERIES["open_lines"], *terms)
        rows = tx.own(LIMITS, [dict(row) for row in found])
        queues = rows[0]["queues"] if rows else ()
        return [one for one in walk if one.queue in queues], {LIMITS.key_of(row): row for row in rows}

    async def _begin(
        self, tx: Checked, runs: Sequence[Row], claim_request: ClaimRequest, now: StoreTime, slots: Slots
    ) -> list[Claim]:
        before = await last_successes(tx, owners_of(runs))
        keys = [(run["namespace"], run["schedule_id"], run["run_key"]) for run in runs]
        starts = [Started(*key, before.get(key[:2])) for key in keys]
        judged = Judged(Verdicts(starts), Allowances(now, slots=dict(slots)))
        return await start(cast("PostgresRowTransaction", tx.inner), judged, claim_request)

    async def claim_ticks(
        self, claim_request: ClaimRequest, limit: int, judge: Judge, limiter: Limiter | None = None
    ) -> Sequence[Claim]:
        most, wanted = min(limit, SCHEDULES_MAX), _wanted(claim_request)
        queues, priorities, mosts = _lane_limits(claim_request, most)
        walk = WALK_PER_SCHEDULE * most + WALK_MIN
        due = queues, list(claim_request.jobs), most, claim_request.namespace, walk, priorities, mosts

        async def claim(tx: PostgresRowTransaction) -> tuple[list[Claim], Judged]:
            rows = await tx.fetch(QUERIES["lock_due"], *due)
            locked = [(row["namespace"], row["schedule_id"]) for row in rows]
            judged = await judge_locked(tx, locked, wanted, limit, judge, limiter)
            await carry_out(tx, judged)
            return await start(tx, judged, claim_request), judged

        claims, judged = await self._rows.write(claim)
        await self._call(judged.slots)
        return claims

    async def sweep_late(self, older_than_s: float, limit: int, judge: Judge) -> int:
        async def sweep(tx: PostgresRowTransaction) -> tuple[int, Judged]:
            late = await late_schedules(tx, later(await tx.now(), -older_than_s), limit)
            locked = [(row["namespace"], row["schedule_id"]) for row in await tx.take(SCHEDULES.among(late))]
            judged = await judge_locked(tx, locked, (None, None), 0, judge)
            return await carry_out(tx, judged) + await end_expired(Checked(tx), limit), judged

        ended, judged = await self._rows.write(sweep)
        await self._call(judged.slots)
        return ended

    async def _fill(self, slots: Collection[Slot]) -> None:
        columns = [[slot[place] for slot in slots] for place in range(3)]
        await self._database.fetch(QUERIES["fill_slots"], *columns)

    async def adopt(self, worker: NodeId, known: Sequence[Fence]) -> Sequence[Claim]:
        """What is found is taken for granted, so it has to survive the loss of the primary."""
        found = await super().adopt(worker, known)
        if found:
            await self._database.confirm()
        return found


def _wanted(claim_request: ClaimRequest) -> tuple[list[str], list[str]]:
    return sorted(set(claim_request.queues)), list(claim_request.jobs)


def _lane_limits(claim_request: ClaimRequest, limit: int) -> tuple[list[str], list[int], list[int]]:
    walk = claim_request.walk(limit)
    return [one.queue for one in walk], [one.priority for one in walk], [one.most for one in walk]
