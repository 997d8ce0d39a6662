"""Who may plan: the ledger's own record of each shard's leader, and into how many shards it is cut.

A lease store says who *should* lead; the ledger decides whose plans count. A new leader registers its grant
before its first plan. The grant's number must be larger than that of every earlier grant of the same lineage.
The ledger returns an epoch, which is larger than every epoch before it, whatever the lineage. So the epochs
that plans are compared with never fall. That holds also where a lease store was restored, was replaced, or
has failed over to a copy that had forgotten a grant: then the epoch is the ledger's own next number instead
of the grant's.

For people, the ledger keeps terms: one for every epoch that was given to a holder, written in the transaction
that gave it. A ledger from before this record begins with the leaders of the moment of its migration. Beside
the terms are the refusals. A write under an old epoch changed nothing, so the refused node notes it in a call
of its own. That call may fail and is not repeated: the list is evidence and may have gaps.
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
        """From now on, accept plans of these grants of their shards, and of no others; each shard by itself.

        - A grant of the same lineage with a larger number than the last, or of another lineage, is accepted.
          Its epoch is its own number, or one more than the last epoch, whichever is larger.
        - The last grant again, by the same holder, is answered with the current epoch: the leader asks
          again because an answer was lost, or because the shards were cut anew.
        - Anything else is refused and changes nothing.

        A registration waits for a plan that is being written, and counts as one more transition.
        """
        ...

    async def all(self) -> Sequence[LeaderRecord]:
        """The last leader of every shard that ever had one, by shard."""
        ...

    async def shards(self) -> int:
        """The number of shards into which the schedules are cut at this moment."""
        ...

    async def reshard(self, shards: int, namespace: Namespace, author: Author) -> Resharding:
        """Change the number of shards while nodes run.

        In one transaction, while no plan is being written: every epoch rises by one, so that writes on their
        way from leaders of the old cut are refused, and every schedule and its cursors move to their new
        shard. A schedule that is created meanwhile comes entirely before or entirely after. Listeners for
        `leases` are told, and the entry is written in the namespace's log. The same number changes nothing.
        """
        ...

    async def terms(self, shard: Shard | None, before: int | None, limit: int) -> Sequence[Term]:
        """Who led when, of one shard or of all, the latest first; `before` goes on from the number of an
        earlier page."""
        ...

    async def note_refusal(self, shard: Shard, epoch: Epoch, holder: NodeId) -> None:
        """Note that a write of this holder under this epoch was refused; the store adds who leads by then."""
        ...

    async def refusals(self, before: int | None, limit: int) -> Sequence[Refusal]:
        """Writes that were refused, the latest first."""
        ...

    async def high_water(self) -> HighWater:
        """How far the ledger has come. A number in it may not be durable yet; every write that is
        acknowledged afterwards makes it so."""
        ...

    async def mark_older(self, why: str) -> None:
        """Mark the ledger as restored from a backup: a node has seen it farther than it is. The first reason
        stays until `restore`."""
        ...

    async def restore(self, namespace: Namespace, author: Author) -> HighWater:
        """The ledger was restored from a backup: begin its next incarnation, past all numbers given out.

        In one transaction: the sequence of fences and the epoch of every shard are lifted (see
        `model.high_water.lifted`), the incarnation is a new one, the mark of `mark_older` is gone, and the
        entry is written in the namespace's log.
        """
        ...

    async def trim(self, terms_max: int, refusals_max: int) -> int:
        """Keep the latest terms and refusals, up to these numbers; returns how many were removed. The terms
        of the present leaders always stay."""
        ...
