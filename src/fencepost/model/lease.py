"""A lease: a time-bounded grant of one shard to one node, with a strictly rising epoch."""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

from fencepost.errors import InvalidSettings
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard

OWN_LINEAGE = Lineage("store")
"""The lineage of leases that live in the ledger's own store, and are lost and restored with it."""

MARGIN_MIN_S = 1.0
MARGIN_SHARE_MIN = 0.05
RENEW_DEADLINE_SHARE_MAX = 2 / 3


@dataclass(frozen=True)
class LeaseTerms:
    """How long a lease lasts and how it is kept; checked together because they only make sense together.

    `margin_s` covers the difference between two clocks' rates; `renew_deadline_s` bounds one renewal,
    `retry_period_s` (stretched by up to `jitter`) is the beat at which renewals are sent.
    """

    ttl_s: float = 10.0
    renew_deadline_s: float = 6.0
    retry_period_s: float = 4.0
    margin_s: float = 1.0
    jitter: float = 1.2

    def __post_init__(self) -> None:
        self._require(self.jitter >= 1, "jitter must be at least 1")
        self._require(
            self.renew_deadline_s <= RENEW_DEADLINE_SHARE_MAX * self.ttl_s,
            f"renew_deadline_s {self.renew_deadline_s:g} must be at most 2/3 of ttl_s {self.ttl_s:g}",
        )
        self._require(
            self.renew_deadline_s > self.retry_period_s * self.jitter,
            f"renew_deadline_s {self.renew_deadline_s:g} must exceed retry_period_s × jitter = "
            f"{self.retry_period_s * self.jitter:g}",
        )
        least = max(MARGIN_MIN_S, MARGIN_SHARE_MIN * self.ttl_s)
        self._require(
            least <= self.margin_s < self.ttl_s - self.renew_deadline_s,
            f"margin_s {self.margin_s:g} must be at least {least:g} and less than "
            f"ttl_s - renew_deadline_s = {self.ttl_s - self.renew_deadline_s:g}",
        )

    def _require(self, holds: bool, complaint: str) -> None:
        if not holds:
            raise InvalidSettings(f"lease settings: {complaint}")


@dataclass(frozen=True, slots=True)
class Granted:
    """The lease is the caller's, under this epoch.

    Epochs of one lineage rise strictly. A lease store that was made anew, restored or failed over to a copy
    that may have forgotten something has another lineage, if the store can know that.
    """

    epoch: Epoch
    lineage: Lineage = OWN_LINEAGE
    set_back_s: float = field(default=0.0, compare=False)
    """By how much the lease store's clock was set back, where the lease was from the future until this
    answer. 0 where it was not, or the store cannot see it."""


@dataclass(frozen=True, slots=True)
class HeldBy:
    """Another holder has the lease, for about `for_s` by the lease store's clock."""

    holder: NodeId
    epoch: Epoch
    expires_in_s: float


@dataclass(frozen=True, slots=True)
class Lost:
    """Too late, or the lease has another holder or epoch: nothing was changed."""


@dataclass(frozen=True, slots=True)
class Released:
    """The lease was the caller's and is free."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """No answer that can be relied on: the lease store may have done it, may still do it, or never will."""

    why: str


Acquisition: TypeAlias = Granted | HeldBy | Unknown
Renewal: TypeAlias = Granted | Lost | Unknown
Release: TypeAlias = Released | Lost | Unknown


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """A shard's lease for people to look at; a free one has no holder. A lease from the future has expired,
    whatever its remaining time is."""

    shard: Shard
    holder: NodeId | None
    epoch: Epoch
    expires_in_s: float
    from_future: bool = False
