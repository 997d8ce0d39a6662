"""The ledger watch: how far this process has seen the ledger, and whether the ledger has fallen behind that.

It lives in memory only, so it notices what is restored under a running process. The process that notices
marks the ledger before it ends: every node that starts finds the mark and refuses to work, until an operator
has run `fencepost migrate --restored`.

What was read counts as seen only once a write has made it durable (`remember`), such as the write of a sign
of life. A number that a server has not made durable may fall when the server crashes, and that is no restored
backup.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from fencepost.core.restoring import fallen, given_again
from fencepost.errors import StoreReplaced, StoreUnavailable
from fencepost.model.high_water import HighWater
from fencepost.model.identifiers import Fence, NodeId
from fencepost.model.run import Claim
from fencepost.ports.store import Store

REMEDY = (
    "stop every process of this store, run: fencepost migrate --restored, then start them again "
    "(docs/guides/backup-and-restore.md)"
)


class LedgerWatch:
    """The ledger watch of one node."""

    def __init__(self, store: Store, node_id: NodeId) -> None:
        self._store = store
        self._node_id = node_id
        self._seen: HighWater | None = None
        self._last_fence = Fence(0)

    async def look(self) -> None:
        """Raises where the ledger is not the one that was seen, or is marked."""
        await self._check(await self._store.epochs.high_water())

    async def remember(self, found: HighWater) -> None:
        """The same for what was read by a write that was acknowledged; it counts as seen from now on."""
        await self._check(found)
        self._seen = found

    async def _check(self, found: HighWater) -> None:
        if self._seen is not None:
            if why := fallen(self._seen, found):
                await self._refuse(why)
            if found.incarnation != self._seen.incarnation:
                raise StoreReplaced(
                    "the ledger was restored from a backup meanwhile; start this process again"
                )
        if found.older is not None:
            raise StoreReplaced(_told(found.older))

    async def check_claims(self, claims: Sequence[Claim]) -> None:
        """Check claims before they begin: a worker makes one claim after the other, and fences rise."""
        if claims:
            if why := given_again(min(one.fence for one in claims), self._last_fence):
                await self._refuse(why)
            self._last_fence = max(one.fence for one in claims)

    async def _refuse(self, why: str) -> None:
        why = f"node {self._node_id} found that {why}"
        with suppress(StoreUnavailable):
            await self._store.epochs.mark_older(why)
        raise StoreReplaced(_told(why))


def _told(why: str) -> str:
    return f"the ledger is older than it was, as after a restored backup: {why}; {REMEDY}"
