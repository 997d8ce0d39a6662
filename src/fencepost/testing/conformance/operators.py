"""Small things that behaviours about verdicts and operators begin with: an author, a verdict, an entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fencepost.core.verdict import judge
from fencepost.model.audit import Author, Entry, LogFilter
from fencepost.model.claiming import Admit, ScheduleFacts, Verdict, Wait
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, NodeId, RunKey
from fencepost.model.run import Claim, Hold
from fencepost.testing.conformance.builders import ALICE, MANY, NS, Witness, claim_request, read
from fencepost.testing.conformance.harness import StoreHarness

ANNA = Author("anna", "cli on web-3", "the target is down")
BEN = Author("ben", "dashboard")


async def decide(harness: StoreHarness, *verdicts: Verdict, worker: NodeId = ALICE) -> list[Claim]:
    """Claim ticks under a judge with these verdicts about the one schedule that has any."""
    asked: list[ScheduleFacts] = []

    def decided(facts: ScheduleFacts, now: StoreTime, room: int) -> Sequence[Verdict]:
        asked.append(facts)
        return verdicts

    claimed = await harness.store.ledger.claim_ticks(claim_request(worker), MANY, decided)
    assert len(asked) == 1, asked
    return list(claimed)


async def claim_judged(harness: StoreHarness, limit: int = MANY, worker: NodeId = ALICE) -> list[Claim]:
    """Claim ticks under the real judge."""
    return list(await harness.store.ledger.claim_ticks(claim_request(worker), limit, judge))


async def facts_of(harness: StoreHarness) -> ScheduleFacts:
    """What a judge gets to see of the one schedule that has due ticks."""
    witness = Witness()
    await harness.store.ledger.claim_ticks(claim_request(), MANY, witness)
    (facts,) = witness.facts
    return facts


async def is_asked(harness: StoreHarness) -> bool:
    """Whether a judge gets to see anything."""
    witness = Witness()
    await harness.store.ledger.claim_ticks(claim_request(), MANY, witness)
    return bool(witness.facts)


async def admit(harness: StoreHarness, *keys: RunKey) -> None:
    """Make ticks catch-up runs."""
    await decide(harness, *(Admit(key) for key in keys))


async def park(harness: StoreHarness, *keys: RunKey) -> None:
    """Have ticks wait for their turn."""
    await decide(harness, *(Wait(key, "waits behind another") for key in keys))


async def holds(harness: StoreHarness, *keys: RunKey) -> list[Hold]:
    """What holds these runs."""
    return [(await read(harness, key)).held for key in keys]


async def is_anything_due(harness: StoreHarness) -> bool:
    """Whether a worker finds anything to do now."""
    outlook = await harness.store.ledger.outlook(claim_request())
    return outlook.direct is not None or outlook.tick is not None


async def entries(harness: StoreHarness, namespace: Namespace = NS, **wanted: Any) -> list[Entry]:
    """The entries of the audit log that are asked for, newest first."""
    return list(await harness.store.audit_log.list(namespace, LogFilter(**wanted)))
