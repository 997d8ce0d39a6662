"""Claims of runs by hand, as a worker makes them."""

from __future__ import annotations

from fencepost.model.identifiers import NodeId
from fencepost.model.run import Claim
from fencepost.ports.store import Store
from fencepost.testing.conformance.builders import ALICE, claim_request


async def claim_as(store: Store, worker: NodeId = ALICE, alive_for_s: float = 30.0) -> Claim:
    """The only run that is due."""
    (claimed,) = await store.ledger.claim_direct(claim_request(worker, alive_for_s=alive_for_s), 1)
    return claimed
