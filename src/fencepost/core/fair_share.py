"""Fair shares: how a planner serves many namespaces, so that a busy one makes no other late.

The same planners write the ticks of all namespaces into the same store. Two rules keep one namespace from
taking the time of the others. The backfiller follows them too, for backfills in the place of schedules.
- A planner plans the schedules of a window in turn, one of each namespace after the other. Where a window is
  full, the next windows leave out the namespaces that had more than their share of it, until the others
  are done (`passed_over`).
- A namespace has a limit of planned runs per second, with a reserve for a while (`Allowance`). Runs beyond
  it are not lost: their cursors stay where they are, and are planned as the allowance fills again.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Protocol, TypeVar

from fencepost.model.clocks import Monotonic, elapsed_s
from fencepost.model.identifiers import Namespace

KEPT_MAX = 10_000


class Owned(Protocol):
    """What a namespace owns: the cursor of a schedule, a backfill."""

    @property
    def namespace(self) -> Namespace: ...


T = TypeVar("T", bound=Owned)


def in_turn(found: Iterable[T]) -> Iterator[T]:
    """One of each namespace, then the next of each; those of one namespace as they came."""
    by_namespace: dict[Namespace, list[T]] = {}
    for one in found:
        by_namespace.setdefault(one.namespace, []).append(one)
    ranks = zip_longest(*by_namespace.values())
    return (one for one in chain.from_iterable(ranks) if one is not None)


def passed_over(before: frozenset[Namespace], window: Sequence[Owned], limit: int) -> frozenset[Namespace]:
    """The namespaces that the next window leaves out, after this one left out `before`. None once the others
    are done."""
    if len(window) < limit:
        return frozenset()
    counts = Counter(one.namespace for one in window)
    return before | {name for name, count in counts.items() if count > limit / (len(counts) + 1)}


@dataclass(slots=True)
class _Bucket:
    level: float
    at: Monotonic


class Allowance:
    """A number of runs per second for each namespace, and a reserve that fills while it is not used. The
    namespaces that were asked about last are remembered; a forgotten one begins with a full reserve."""

    def __init__(self, reserve_s: float) -> None:
        self._reserve_s = reserve_s
        self._buckets: OrderedDict[Namespace, _Bucket] = OrderedDict()

    def most(self, per_s: float) -> int:
        """How many runs a namespace may have at a time, with a full reserve."""
        return int(self._full(per_s))

    def left(self, namespace: Namespace, per_s: float, now: Monotonic) -> int:
        """How many it may have at this moment."""
        full = self._full(per_s)
        bucket = self._buckets.pop(namespace, None) or _Bucket(full, now)
        bucket.level = min(full, bucket.level + elapsed_s(bucket.at, now) * per_s)
        bucket.at = now
        self._buckets[namespace] = bucket
        if len(self._buckets) > KEPT_MAX:
            self._buckets.popitem(last=False)
        return int(bucket.level)

    def spend(self, namespace: Namespace, count: int) -> None:
        """Note that the namespace has taken `count`, after `left` said how many it may take."""
        self._buckets[namespace].level -= count

    def give_back(self, namespace: Namespace, count: int) -> None:
        """Return `count` that were taken and not used; a forgotten namespace has a full reserve already."""
        if namespace in self._buckets:
            self._buckets[namespace].level += count

    def _full(self, per_s: float) -> float:
        return max(per_s * self._reserve_s, 1.0)
