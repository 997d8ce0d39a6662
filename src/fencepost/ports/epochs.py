"""Who may plan: the ledger's own record of each shard's leader, and into how many shards it is cut.

A lease store says who *should* lead; whose plans count is decided here. A new leader registers its grant
before its first plan. The grant's number must be larger than that of every grant of the same lineage before
it, and what the ledger gives back, the epoch, is larger than every epoch before it, whatever the lineage. So
the epochs that plans are compared with never fall, also where a lease store was restored, replaced, or has
failed over to a copy that had forgotten a grant: then the epoch is the ledger's own next number instead of
the grant's.

For people, the book remembers its terms: one for every epoch that was given to a holder, written in the
transaction that gave it. A book of before begins with the leaders of the moment at which it was migrated.
Beside them stand the refusals: a write that came under an old epoch changed nothing, so whoever was refused
says so in a call of its own. That call may fail and is not repeated: the list is a witness, not an account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fencepost.model.audit import Author
from fencepost.model.high_water import HighWater
from fencepost.model.identifiers import Epoch, Namespace, NodeId, Shard
from fencepost.model.leader import LeaderRecord, Refusal, Registration, Resharding, Term
from fencepost.model.lease import Granted


class Epochs(Protocol):
    """The ledger's side of leadership."""

    async def register(self, grants: Mapping[Shard, Granted], holder: NodeId) -> Mapping[Shard, Registration]:
        """Accept plans of these grants of their shards from now on, and of no others; each by itself.

        - A grant of the same lineage with a larger number than the last, or of another lineage, is accepted.
          Its epoch is its own number, or one more than the last epoch, whichever is larger.
        - The last grant again, by the same holder, is answered with the epoch of the moment: the leader asks
          again because an answer was lost, or because the shards were cut anew.
        - Anything else is refused and changes nothing.

        A registration waits for a plan that is being written, and counts as one more transition.
        """
        ...

    async def all(self) -> Sequence[LeaderRecord]:
        """Every shard for which somebody was ever registered, by shard."""
        ...

    async def shards(self) -> int:
        """Into how many shards the schedules are cut at this moment."""
        ...

    async def reshard(self, shards: int, namespace: Namespace, author: Author) -> Resharding:
        """Cut the schedules into so many shards instead, while nodes run.

        In one transaction: no plan is being written, every epoch rises by one, so that what leaders of the
        old cut still have on its way is refused, and every schedule and its cursors move to their new shard.
        A schedule that is created meanwhile comes entirely before or entirely after. Listeners for `leases`
        are told, and the entry is written in the namespace's log. The same number again changes nothing.
        """
        ...

    async def terms(self, shard: Shard | None, before: int | None, limit: int) -> Sequence[Term]:
        """Who led when, of one shard or of all, the latest first; `before` goes on from the number of an
        earlier page."""
        ...

    async def note_refusal(self, shard: Shard, epoch: Epoch, holder: NodeId) -> None:
        """A write of this holder under this epoch was refused; who leads by then is added."""
        ...

    async def refusals(self, before: int | None, limit: int) -> Sequence[Refusal]:
        """Writes that were refused, the latest first."""
        ...

    async def high_water(self) -> HighWater:
        """How far the ledger has come. A number in it may not be durable yet; every write that is
        acknowledged afterwards makes it so."""
        ...

    async def mark_older(self, why: str) -> None:
        """A node has seen the ledger farther than it is: it was restored from a backup. What is said first
        stays until `restore`."""
        ...

    async def restore(self, namespace: Namespace, author: Author) -> HighWater:
        """The ledger was restored from a backup: begin its next incarnation, past all that was given out.

        In one transaction: the sequence of fences and the epoch of every shard are lifted (see
        `model.high_water.lifted`), the incarnation is a new one, the mark of `mark_older` is gone, and the
        entry is written in the namespace's log.
        """
        ...

    async def trim(self, terms_max: int, refusals_max: int) -> int:
        """Keep so many of each, the latest; how many went. The present leaders' terms always stay."""
        ...
