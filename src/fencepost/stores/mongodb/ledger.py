"""What is done all day without transactions: claims, reports, and looks that mostly find nothing to do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from fencepost.errors import StoreUnavailable
from fencepost.model.claiming import Appetite
from fencepost.model.clocks import StoreTime
from fencepost.model.node import BeatResponse, Node, NodeReport
from fencepost.model.rescue import SweepTerms
from fencepost.model.run import Claim, Outcome, Receipt
from fencepost.rules.roster import RosterRules
from fencepost.rules.store import LedgerRules
from fencepost.stores.mongodb.each import EachRows, Overtaken, Together
from fencepost.stores.mongodb.rows import MongoRows

WOKEN_MAX = 100
"""How many ticks are called at most, where a report could not call the next ones itself."""


class MongoLedger(LedgerRules):
    """See `ports.ledger`."""

    def __init__(self, rows: MongoRows) -> None:
        super().__init__(rows)
        self._each = LedgerRules(EachRows(rows))

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


def _run_of(outcome: Outcome) -> tuple[str, str]:
    return outcome.ticket.namespace, outcome.ticket.run_key
