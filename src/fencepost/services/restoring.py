"""Asks all sources that may know whether the ledger is older than it was."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.core.restoring import ahead, behind_guard
from fencepost.model.dataclasses import dataclass
from fencepost.model.high_water import HighWater
from fencepost.model.json import JsonObject
from fencepost.model.lease import OWN_LINEAGE
from fencepost.ports.store import Store
from fencepost.services.fleet import LeaseReader


@dataclass(frozen=True)
class RestoreCheck:
    """How far the ledger has come, and what shows that it is older than it was."""

    high_water: HighWater
    older: Sequence[str]

    def to_json(self) -> JsonObject:
        return self.high_water.to_json() | {"older": list(self.older)}


async def check(store: Store, elsewhere: LeaseReader | None, guard_fence: int | None) -> RestoreCheck:
    """`elsewhere` is where leases live, if that is not the store. The leases are read first: a lease that is
    granted at this moment is ahead of the ledger until it is registered."""
    granted = await (elsewhere or store.leases).read()
    lineage = OWN_LINEAGE if elsewhere is None else None
    leaders, found = await store.epochs.all(), await store.epochs.high_water()
    older = [] if found.older is None else [found.older]
    return RestoreCheck(found, [*older, *ahead(granted, leaders, lineage), *behind_guard(guard_fence, found)])
