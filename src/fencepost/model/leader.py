"""The ledger's own record of who leads a shard."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard
from fencepost.model.lease import Granted


@dataclass(frozen=True, slots=True)
class Registered:
    """The ledger accepts plans under `epoch` from now on; `instead_of` is the lineage before, where that was
    another one."""

    epoch: Epoch
    instead_of: Lineage | None = None


@dataclass(frozen=True, slots=True)
class RegistrationRefused:
    """The ledger has accepted a later grant of this lineage already."""

    known: Epoch


Registration: TypeAlias = Registered | RegistrationRefused


@dataclass(frozen=True, slots=True)
class LeaderRecord:
    """The last registered leader of a shard, under which grant, since when, and the number of changes.

    `epoch` is what plans are compared with. It is the grant's own number unless that has fallen.
    """

    shard: Shard
    epoch: Epoch
    holder: NodeId | None
    lineage: Lineage
    lease_epoch: Epoch
    since: StoreTime | None
    transitions: int


@dataclass(frozen=True, slots=True)
class Resharding:
    """How many shards there were, how many there are, and how many schedules moved to another."""

    before: int
    after: int
    moved: int


@dataclass(frozen=True, slots=True)
class Term:
    """A time for which plans of one holder were accepted for one shard, under one epoch. It ends when the
    next one begins, or the shard is cut away. Numbers rise in the order of writing."""

    number: int
    shard: Shard
    epoch: Epoch
    holder: NodeId
    lineage: Lineage
    since: StoreTime
    until: StoreTime | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A write under an epoch that was over: by whom, for which shard, and who led it by then under which
    epoch."""

    number: int
    at: StoreTime
    shard: Shard
    epoch: Epoch
    holder: NodeId
    known_epoch: Epoch
    known_holder: NodeId | None


def succeed(known: LeaderRecord | None, offered: LeaderRecord) -> LeaderRecord | None:
    """The record after this offer. None where the offer is refused; the known record where it is the same
    grant again."""
    if known is None:
        return offered
    if known.lineage == offered.lineage:
        if (known.lease_epoch, known.holder) == (offered.lease_epoch, offered.holder):
            return known
        if offered.lease_epoch <= known.lease_epoch:
            return None
    epoch = max(Epoch(known.epoch + 1), offered.lease_epoch)
    return replace(offered, epoch=epoch, transitions=known.transitions + 1)


def offer(shard: Shard, grant: Granted, holder: NodeId, now: StoreTime) -> LeaderRecord:
    """The record of a grant, as if it were the first one of its shard."""
    return LeaderRecord(shard, grant.epoch, holder, grant.lineage, grant.epoch, now, 1)


def registration(known: LeaderRecord | None, after: LeaderRecord | None) -> Registration:
    """What to answer to an offer."""
    if after is None:
        assert known is not None
        return RegistrationRefused(known.lease_epoch)
    instead = known is not None and known.lineage != after.lineage
    return Registered(after.epoch, known.lineage if known is not None and instead else None)
