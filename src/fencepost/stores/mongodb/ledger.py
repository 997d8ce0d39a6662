"""What is done all day without transactions: claims, reports, and looks that mostly find nothing to do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any, TypeVar

from fencepost.errors import StoreUnavailable
from fencepost.model.audit import Author
from fencepost.model.claiming import ClaimRequest, Judge, LaneLimit, Outlook
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace
from fencepost.model.limits import Limiter
from fencepost.model.node import BeatResponse, Node, NodeReport
from fencepost.model.rescue import SweepTerms
from fencepost.model.run import Claim, NewRun, Outcome, Receipt
from fencepost.model.table import Key
from fencepost.model.tables import (
    EPOCHS,
    FREEZES,
    LIMITS,
    META,
    NODES,
    RUNS,
    RUNS_DUE_DIRECT,
    RUNS_DUE_TICKS,
    RUNS_LINED,
    SCHEDULES,
    SUCCESSORS,
)
from fencepost.ports.rows import Transaction
from fencepost.rules.claims import limits_of, open_walk, wants
from fencepost.rules.epochs import EpochRules
from fencepost.rules.facts import SCHEDULES_MAX, due_schedules
from fencepost.rules.nodes import NodeRules
from fencepost.rules.part import reads
from fencepost.rules.store import LedgerRules
from fencepost.stores.mongodb.batched import BatchedRows, NewRows
from fencepost.stores.mongodb.each import EachRows, Overtaken, Together
from fencepost.stores.mongodb.read_batch import ReadBatch
from fencepost.stores.mongodb.rows import MongoRows
from fencepost.stores.mongodb.transaction import FENCES

T = TypeVar("T")
PARTS, PARTS_MIN = 2, 50
"""In how many parts many ticks are claimed, and how many must be wanted for it to pay."""
WOKEN_MAX = 100
"""How many ticks are called at most, where a report could not call the next ones itself."""
QUEUES_MAX, JOBS_MAX = 20, 200
"""Of how many queues the first run is looked at in one question, and of how many jobs the limits."""
FOLLOWED_MAX = 200
"""How many successors of a namespace's jobs are looked at with the time of a report."""
SWEPT = ReadBatch(keys=[META.at("swept_at")])
STANDING = ReadBatch(
    keys=[META.among([("incarnation",), ("older",), ("shards",)])],
    ranges=[(NODES.all(), None), (EPOCHS.all(), None)],
    counters=[FENCES],
)
"""What a sign of life is answered with."""


class MongoLedger(LedgerRules):
    """See `ports.ledger`."""

    def __init__(self, rows: MongoRows) -> None:
        super().__init__(rows)
        self._mongo_rows, self._each_rows = rows, EachRows(rows)
        self._each = LedgerRules(self._each_rows)
        self._looking = LedgerRules(EachRows(rows, may_only_look=True))
        self._many_wait = self._found_single = False

    async def outlook(self, claim_request: ClaimRequest) -> Outlook:
        waiting = (RUNS_DUE_DIRECT, RUNS_DUE_TICKS, RUNS_LINED)
        first = [(index(claim_request.namespace), 1) for index in waiting]
        batch = ReadBatch(ranges=[*first, (FREEZES.all(claim_request.namespace), None)])
        return await LedgerRules(BatchedRows(self._mongo_rows, batch)).outlook(claim_request)

    async def enqueue(
        self, namespace: Namespace, runs: Sequence[NewRun], *, author: Author | None = None
    ) -> Sequence[bool]:
        new = NewRows(self._mongo_rows, RUNS.among((namespace, run.run_key) for run in runs))
        return await LedgerRules(new).enqueue(namespace, runs, author=author)

    async def claim_ticks(
        self, claim_request: ClaimRequest, limit: int, judge: Judge, limiter: Limiter | None = None
    ) -> Sequence[Claim]:
        """Where many wait, in parts side by side: one is judged here while the server looks for the other."""
        if self._many_wait and limit >= PARTS_MIN:
            claims = await self._claim_parts(claim_request, limit, judge, limiter)
        else:
            claims = await super().claim_ticks(claim_request, limit, judge, limiter)
        self._many_wait = len(claims) >= min(limit, SCHEDULES_MAX)
        return claims

    async def _claim_parts(
        self, claim_request: ClaimRequest, limit: int, judge: Judge, limiter: Limiter | None
    ) -> Sequence[Claim]:
        """No two have a schedule in common. Where one fails, what the others were given is adopted as after a
        lost answer, and the next claim is in one part."""
        self._many_wait = False
        parts = await self._parts(claim_request, limit)
        most = [len(range(limit)[number :: len(parts)]) for number in range(len(parts))]
        each = [
            self._claim_ticks(claim_request, room, judge, limiter, one)
            for room, one in zip(most, parts, strict=True)
        ]
        given = [_granted(one) for one in await asyncio.gather(*each, return_exceptions=True)]
        await self._call({slot for _, full in given for slot in full})
        turns = zip_longest(*(claims for claims, _ in given))
        return [claim for some in turns for claim in some if claim is not None]

    @reads
    async def _parts(self, tx: Transaction, claim_request: ClaimRequest, limit: int) -> list[list[Key]]:
        """The first schedules of which ticks are due, in parts where there are enough of one lane. Limits
        would be in the way of those who claim at once."""
        walk = await open_walk(tx, claim_request, limit) or ()
        if len(walk) == 1 and not await limits_of(tx, claim_request):
            found = await _first_schedules(tx, claim_request, walk[0], limit)
            if len(found) == limit:
                return [found[number::PARTS] for number in range(PARTS)]
        return [(await due_schedules(tx, claim_request, walk, wants(claim_request, walk)))[:limit]]

    async def claim_direct(self, claim_request: ClaimRequest, limit: int) -> Sequence[Claim]:
        claims = await self._claim_direct(claim_request, limit)
        if limit == 1:
            self._found_single = bool(claims)
        return claims

    async def _claim_direct(self, claim_request: ClaimRequest, limit: int) -> Sequence[Claim]:
        """A single run is begun as soon as can be: its fence is drawn while the server looks for it. Where
        the last look for one was in vain that would be another."""
        rows = BatchedRows(
            self._each_rows, _before(claim_request, limit), draws_fence=limit == 1 and self._found_single
        )
        try:
            return await LedgerRules(rows).claim_direct(claim_request, limit)
        except Together:
            return await super().claim_direct(claim_request, limit)
        except Overtaken as some:
            mine = [one for one in some.result if (one.namespace, one.run_key) not in some.keys]
            return mine or await super().claim_direct(claim_request, limit)

    async def finish(self, outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
        # What follows is asked about with the time: mostly nothing does.
        namespaces = sorted({one.ticket.namespace for one in outcomes})
        follow = ReadBatch(ranges=[(SUCCESSORS.all(one), FOLLOWED_MAX) for one in namespaces])
        rows = BatchedRows(self._each_rows, follow)
        try:
            return await LedgerRules(rows).finish(outcomes)
        except Together:
            return await super().finish(outcomes)
        except Overtaken as some:
            lost = {place for place, one in enumerate(outcomes) if _run_of(one) in some.keys}
            again = iter(await super().finish([outcomes[place] for place in sorted(lost)]))
            if some.keys.difference(map(_run_of, outcomes)):  # Those whose turn it is now.
                await super().unpark(WOKEN_MAX)
            return [next(again) if place in lost else one for place, one in enumerate(some.result)]

    async def sweep_late(self, older_than_s: float, limit: int, judge: Judge) -> int:
        """Mostly the late ticks only wait for a worker: to lock their schedules would keep it from them."""
        with suppress(Together, Overtaken):
            return await self._looking.sweep_late(older_than_s, limit, judge)
        return await super().sweep_late(older_than_s, limit, judge)

    async def unpark(self, limit: int) -> int:
        """A run in its own transaction may be in the way of those beside it; a transaction passes by."""
        with suppress(Together, Overtaken, StoreUnavailable):
            return await self._each.unpark(limit)
        return await super().unpark(limit)

    async def _note_sweep(self, terms: SweepTerms) -> tuple[StoreTime, float | None]:
        with suppress(Together, Overtaken):
            return await LedgerRules(BatchedRows(self._each_rows, SWEPT))._note_sweep(terms)
        return await super()._note_sweep(terms)


class MongoNodes(NodeRules):
    """See `ports.nodes`."""

    def __init__(self, rows: MongoRows) -> None:
        super().__init__(rows)
        self._each = NodeRules(BatchedRows(EachRows(rows), STANDING))
        self._standing = EpochRules(rows)
        self._given = rows.given
        self._fence = self._epochs = 0

    async def beat(self, node: Node, report: NodeReport, alive_for_s: float) -> BeatResponse:
        """A primary that was just elected may not know yet all that a majority has, and shows less of it than
        the one before. It knows once it has acknowledged a write. So where the ledger seems to have fallen,
        it is asked again after that."""
        if self._given.fallen is not None:
            await self._standing.mark_older(f"node {node.node_id} found that {self._given.fallen}")
        with suppress(Together, Overtaken):
            answer = await self._each.beat(node, report, alive_for_s)
            if not self._has_fallen(answer):
                return answer
        answer = await super().beat(node, report, alive_for_s)
        self._has_fallen(answer)
        return answer

    def _has_fallen(self, answer: BeatResponse) -> bool:
        """Whether this is less than was heard before."""
        before, now = (self._fence, self._epochs), (answer.high_water.fence, answer.high_water.epochs)
        self._fence, self._epochs = map(max, before, now)
        self._given.note(self._fence)
        return (self._fence, self._epochs) != now


def _before(claim_request: ClaimRequest, limit: int) -> ReadBatch:
    """What a claim of direct runs looks at before the runs; for a single one also the first of each queue,
    which is in the first of its lanes that has one."""
    namespace, queues = claim_request.namespace, sorted(set(claim_request.queues))
    heads = [(RUNS_DUE_DIRECT(namespace, queue), 1) for queue in queues if limit == 1][:QUEUES_MAX]
    limits = LIMITS.among((namespace, job) for job in claim_request.jobs[:JOBS_MAX])
    return ReadBatch([limits], [(FREEZES.all(namespace), None), *heads])


async def _first_schedules(tx: Any, claim_request: ClaimRequest, lane: LaneLimit, most: int) -> list[Key]:
    """Those of the first due ticks of a lane; no more of the ticks is read."""
    due = RUNS_DUE_TICKS(claim_request.namespace, lane.queue, lane.priority).through(await tx.now())
    jobs, ticks = frozenset(claim_request.jobs), await tx.find_columns(due, (*SCHEDULES.key, "job"), most)
    return list(dict.fromkeys(tuple(owner) for *owner, job in ticks if job in jobs))


def _granted(answer: T | BaseException) -> T:
    if isinstance(answer, StoreUnavailable):
        raise answer
    if isinstance(answer, BaseException):
        raise StoreUnavailable("a part of a claim failed") from answer
    return answer


def _run_of(outcome: Outcome) -> tuple[str, str]:
    return outcome.ticket.namespace, outcome.ticket.run_key
