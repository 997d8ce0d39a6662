"""How often a caller may ask: a bucket for each, which fills at a steady rate up to its limit.

Callers without a credential are counted by their address, and by its /64 where it is one of version 6: one
host has all of that.

Buckets are kept for the callers that asked last, up to a number; a forgotten caller begins with a full one.
With more strangers than buckets, that is the only limit.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import IPv6Address

from fencepost.clock import Clock
from fencepost.model.clocks import Monotonic, elapsed_s

BUCKETS_MAX = 10_000


@dataclass(slots=True)
class Bucket:
    """How much the bucket held, and when that was."""

    level: float
    at: Monotonic


class Limiter:
    """Buckets by key."""

    def __init__(self, clock: Clock, per_s: float, burst: float, buckets_max: int = BUCKETS_MAX) -> None:
        assert per_s > 0
        assert burst >= 1
        self._clock = clock
        self._per_s = per_s
        self._burst = burst
        self._buckets_max = buckets_max
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, key: str) -> float:
        """Take one; returns 0 where there was one, else the seconds until there is."""
        bucket = self._filled(key)
        wait_s = self._wait_s(bucket)
        if wait_s == 0:
            bucket.level -= 1
        return wait_s

    def wait_s(self, key: str) -> float:
        """The seconds until one can be taken; none is taken."""
        return self._wait_s(self._filled(key)) if key in self._buckets else 0.0

    def __len__(self) -> int:
        return len(self._buckets)

    def _wait_s(self, bucket: Bucket) -> float:
        return max(0.0, (1 - bucket.level) / self._per_s)

    def _filled(self, key: str) -> Bucket:
        now = self._clock.monotonic()
        bucket = self._buckets.pop(key, None) or Bucket(self._burst, now)
        bucket.level = min(self._burst, bucket.level + elapsed_s(bucket.at, now) * self._per_s)
        bucket.at = now
        self._buckets[key] = bucket
        while len(self._buckets) > self._buckets_max:
            self._buckets.popitem(last=False)
        return bucket


def network_of(client: str) -> str:
    """The network with which an address is counted."""
    try:
        address = IPv6Address(client) if ":" in client else None
    except ValueError:
        return client
    if address is None:
        return client
    mapped = address.ipv4_mapped
    return str(mapped) if mapped is not None else f"{address.packed[:8].hex()}/64"
