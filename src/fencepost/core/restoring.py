"""Whether a ledger can be the one that a node knows, or is an older copy of it.

A ledger only goes forward: its fences and epochs never fall, and its incarnation changes only where somebody
says that it was restored from a backup (`fencepost migrate --restored`). So a node that finds less than it
has seen has met a copy. The copy would give out fences again that are in use: nobody works on it before it is
lifted past them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fencepost.model.high_water import HighWater
from fencepost.model.identifiers import Fence
from fencepost.model.leader import LeaderRecord
from fencepost.model.lease import LeaseRecord


def fallen(seen: HighWater, found: HighWater) -> str | None:
    """What tells that the ledger is older than it was; None where it can be the same, or is a later
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
    """What tells that a fence is not later than one that was given out before it was asked for."""
    return f"it gave out fence {fence}, after fence {last}" if fence <= last else None


def ahead(held: Sequence[LeaseRecord], leaders: Sequence[LeaderRecord]) -> Iterator[str]:
    """Leases whose holder led under a grant that the ledger does not know."""
    known = {one.shard: one.lease_epoch for one in leaders}
    for one in held:
        if one.holder is not None and one.epoch > known.get(one.shard, 0):
            yield (
                f"shard {one.shard} is leased under epoch {one.epoch}, and the ledger knows "
                f"{known.get(one.shard, 0)}; if a node is only starting, ask again"
            )


def behind_guard(fence: int | None, found: HighWater) -> Iterator[str]:
    """A fence that something outside has seen and the ledger has not given out yet."""
    if fence is not None and fence > found.fence:
        yield f"fence {fence} was seen, and the last of the ledger is {found.fence}"
