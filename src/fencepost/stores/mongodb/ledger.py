"""The ledger: what workers do all day is done without transactions."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.claiming import Appetite
from fencepost.model.run import Claim, Outcome, Receipt
from fencepost.rules.store import LedgerRules
from fencepost.stores.mongodb.each import EachRows, Overtaken, Together
from fencepost.stores.mongodb.rows import MongoRows


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
            return [next(again) if place in lost else one for place, one in enumerate(some.result)]


def _run_of(outcome: Outcome) -> tuple[str, str]:
    return outcome.ticket.namespace, outcome.ticket.run_key
