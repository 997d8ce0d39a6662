"""What is done all day without transactions: claims, reports, and looks that mostly find nothing to do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest

from fencepost.errors import StoreUnavailable
from fencepost.model.claiming import Appetite, Judge
from fencepost.model.clocks import StoreTime
from fencepost.model.limits import Limiter
from fencepost.model.node import BeatResponse, Node, NodeReport
from fencepost.model.rescue import SweepTerms
from fencepost.model.run import Claim, Outcome, Receipt
from fencepost.rules.facts import SCHEDULES_MAX
from fencepost.rules.roster import RosterRules
from fencepost.rules.store import LedgerRules
from fencepost.stores.mongodb.each import EachRows, Overtaken, Together
from fencepost.stores.mongodb.rows import MongoRows

HALVES_MIN = 50
"""How many ticks must be wanted for it to pay to claim them in halves."""
WHOLE_S = 10.0
WOKEN_MAX = 100
"""How many ticks are called at most, where a report could not call the next ones itself."""


class MongoLedger(LedgerRules):
    """See `ports.ledger`."""

    def __init__(self, rows: MongoRows) -> None:
        super().__init__(rows)
        self._each = LedgerRules(EachRows(rows))
        self._mongo = rows
        self._many_wait = False
        self._whole_until_s = 0.0

    async def claim_ticks(
        self, appetite: Appetite, limit: int, judge: Judge, limiter: Limiter | None = None
    ) -> Sequence[Claim]:
        """Where many wait, in halves side by side: one is judged here while the server looks for the other.
        Not for a while after somebody was in the way: jobs with limits are in that of each other."""
        now_s, conflicts = asyncio.get_running_loop().time(), self._mongo.conflicts
        in_halves = limit >= HALVES_MIN and self._many_wait and now_s >= self._whole_until_s
        claim = self._claim_halves if in_halves else super().claim_ticks
        claims = await claim(appetite, limit, judge, limiter)
        self._many_wait = len(claims) >= min(limit - limit % 2, SCHEDULES_MAX)
        if in_halves and self._mongo.conflicts > conflicts:
            self._whole_until_s = now_s + WHOLE_S
        return claims

    async def _claim_halves(
        self, appetite: Appetite, limit: int, judge: Judge, limiter: Limiter | None
    ) -> Sequence[Claim]:
        """The halves have no schedule in common. Where one of them fails, what the other was given is adopted
        as after a lost answer."""
        schedules = (await self._due_schedules(appetite, limit))[:limit]
        half = appetite, (limit + 1) // 2, judge, limiter
        both = (self._claim_of(schedules[number::2], *half) for number in range(2))
        given = await asyncio.gather(*both, return_exceptions=True)
        return [claim for pair in zip_longest(*map(_granted, given)) for claim in pair if claim is not None]

    async def claim_direct(self, appetite: Appetite, limit: int) -> Sequence[Claim]:
        try:
            return await self._each.claim_direct(appetite, limit)
        except Together:
            return await super().claim_direct(appetite, limit)
        except Overtaken as some:
            mine = [one for one in some.result if (one.namespace, one.run_key) not in some.keys]
            return mine or await super().claim_direct(appetite, limit)

    async def finish(self, outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
        try:
            return await self._each.finish(outcomes)
        except Together:
            return await super().finish(outcomes)
        except Overtaken as some:
            lost = {place for place, one in enumerate(outcomes) if _run_of(one) in some.keys}
            again = iter(await super().finish([outcomes[place] for place in sorted(lost)]))
            if some.keys.difference(map(_run_of, outcomes)):  # Those whose turn it is now.
                await super().unpark(WOKEN_MAX)
            return [next(again) if place in lost else one for place, one in enumerate(some.result)]

    async def unpark(self, limit: int) -> int:
        """A run in its own transaction may be in the way of those beside it; a transaction passes by."""
        with suppress(Together, Overtaken, StoreUnavailable):
            return await self._each.unpark(limit)
        return await super().unpark(limit)

    async def _note_sweep(self, terms: SweepTerms) -> tuple[StoreTime, float | None]:
        with suppress(Together, Overtaken):
            return await self._each._note_sweep(terms)
        return await super()._note_sweep(terms)


class MongoRoster(RosterRules):
    """See `ports.roster`."""

    def __init__(self, rows: MongoRows) -> None:
        super().__init__(rows)
        self._each = RosterRules(EachRows(rows))

    async def beat(self, node: Node, report: NodeReport, alive_for_s: float) -> BeatResponse:
        with suppress(Together, Overtaken):
            return await self._each.beat(node, report, alive_for_s)
        return await super().beat(node, report, alive_for_s)


def _granted(answer: Sequence[Claim] | BaseException) -> Sequence[Claim]:
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _run_of(outcome: Outcome) -> tuple[str, str]:
    return outcome.ticket.namespace, outcome.ticket.run_key
