"""Whether a ledger can be the one that a node knows, or is an older copy of it.

A ledger only goes forward: its fences and epochs never fall. Its incarnation changes only where an operator
says that it was restored from a backup (`fencepost migrate --restored`). So a node that finds less than it
has seen has met a copy. The copy would give out fences again that are in use: no node works on it before it
is lifted past them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fencepost.model.high_water import HighWater, is_lifted_since
from fencepost.model.identifiers import Fence, Lineage
from fencepost.model.leader import LeaderRecord
from fencepost.model.lease import LeaseRecord


def fallen(seen: HighWater, found: HighWater) -> str | None:
    """What shows that the ledger is older than it was; None where it can be the same, or is a later
    incarnation."""
    if found.incarnation != seen.incarnation:
        other = f"it is incarnation {found.incarnation}, and was {seen.incarnation} before"
        return other if found.number <= seen.number else None
    if found.fence < seen.fence:
        return f"its last fence is {found.fence}, and fence {seen.fence} was given out before"
    if found.epochs < seen.epochs:
        return f"its epochs have fallen, from {seen.epochs} in all to {found.epochs}"
    return None


def given_again(fence: Fence, last: Fence) -> str | None:
    """What shows that a fence is not later than one that the ledger gave out before."""
    return f"it gave out fence {fence}, after fence {last}" if fence <= last else None


def ahead(
    leases: Sequence[LeaseRecord], leaders: Sequence[LeaderRecord], lineage: Lineage | None = None
) -> Iterator[str]:
    """Leases that were granted under an epoch that the ledger does not know, whether they are held or free.

    Not compared are shards whose leader was registered under another lineage than the one given, because
    their epochs are counted apart, and shards that were lifted after their leader was registered.
    """
    known = {one.shard: one for one in leaders}
    for lease in leases:
        leader = known.get(lease.shard)
        epoch = 0 if leader is None else leader.lease_epoch
        if lease.epoch > epoch and (leader is None or _compares(leader, lineage)):
            yield (
                f"the lease of shard {lease.shard} was granted under epoch {lease.epoch}, and the ledger "
                f"knows {epoch}; if a node is only starting, ask again"
            )


def behind_guard(fence: int | None, found: HighWater) -> Iterator[str]:
    """A fence that an outside guard has seen and that the ledger has not given out yet."""
    if fence is not None and fence > found.fence:
        yield f"fence {fence} was seen, and the last of the ledger is {found.fence}"


def _compares(leader: LeaderRecord, lineage: Lineage | None) -> bool:
    is_lifted = leader.since is not None and is_lifted_since(leader.epoch, leader.since)
    return lineage in (None, leader.lineage) and not is_lifted
