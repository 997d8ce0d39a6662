"""What this process has seen of each lease, since when, and what it has written without knowing the
outcome.

A version that was first seen at one moment and is the same a term later has not been renewed in that term,
whatever any clock elsewhere says. `Seen` keeps the two moments to count from:

- `shown_at`, when the answer that showed the version was here. It was written before that, so a rival that
  waits a whole term from there does not come early.
- `sent_at`, when the request was sent that wrote the version. It was written after that, so a holder that
  stops a term from there does not stay too long. Of a version that this process did not write, it is when
  the request was sent that showed it.

A write whose answer does not come is kept as unsettled for as long as the version that it was decided upon
is the last one seen. When another version shows up it may be that write's, so that one counts from when the
write was sent. After that the write can no longer happen: its version has passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from fencepost.clock import Clock
from fencepost.leases.kubernetes.lease import Lease
from fencepost.model.clocks import Monotonic
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import NodeId


@dataclass(frozen=True)
class Seen:
    """One version of a lease, and since when."""

    lease: Lease
    shown_at: Monotonic
    sent_at: Monotonic

    def left_s(self, asker: NodeId | None, now: Monotonic) -> float:
        """How long the lease still has, as the asker must count: its holder from the sending, a rival from
        the showing."""
        is_own = asker is not None and asker == self.lease.holder
        return (self.sent_at if is_own else self.shown_at) + self.lease.term_s - now


@dataclass(frozen=True)
class Unsettled:
    """A write that may have happened, or may yet."""

    sent_at: Monotonic
    may_have_freed: bool


class Observations:
    """By the name of the object."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, Seen] = {}
        self._unsettled: dict[str, Unsettled] = {}

    def get(self, name: str) -> Seen | None:
        return self._seen.get(name)

    def ours(self, labels: Mapping[str, str]) -> list[Seen]:
        """All that carry the labels."""
        return [seen for seen in self._seen.values() if seen.lease.has(labels)]

    def may_be_freed(self, name: str) -> bool:
        """Whether a release of this very version is under way, for all we know."""
        return name in self._unsettled and self._unsettled[name].may_have_freed

    def writing(self, name: str, *, frees: bool = False) -> Monotonic:
        """Remember that a write is being sent now; of several without an answer, the first counts."""
        now = self._clock.monotonic()
        before = self._unsettled.get(name, Unsettled(now, may_have_freed=False))
        self._unsettled[name] = replace(before, may_have_freed=before.may_have_freed or frees)
        return now

    def wrote(self, lease: Lease, sent_at: Monotonic) -> None:
        """This version is the write that was sent then, for certain."""
        known = self._seen.get(lease.name)
        shown_at = self._clock.monotonic()
        if known is not None and lease.is_version_of(known.lease):
            self._seen[lease.name] = replace(known, sent_at=max(known.sent_at, sent_at))
        elif known is None or not lease.is_older_than(known.lease):
            self._seen[lease.name] = Seen(lease, shown_at, sent_at)
        self._unsettled.pop(lease.name, None)

    def read(self, lease: Lease, sent_at: Monotonic) -> None:
        """This version was shown to a request that was sent then."""
        known = self._seen.get(lease.name)
        if known is not None and (lease.is_version_of(known.lease) or lease.is_older_than(known.lease)):
            return
        unsettled = self._unsettled.pop(lease.name, None)
        if unsettled is not None:
            sent_at = unsettled.sent_at
        self._seen[lease.name] = Seen(lease, self._clock.monotonic(), sent_at)

    def listed(self, leases: Iterable[Lease], sent_at: Monotonic) -> None:
        """These are all that there are."""
        present = set()
        for lease in leases:
            self.read(lease, sent_at)
            present.add(lease.name)
        for name in self._seen.keys() - present:
            self.missed(name, sent_at)

    def missed(self, name: str, sent_at: Monotonic) -> None:
        """There was no such object when a request was answered that was sent then. What was seen since, or is
        just being written, may be there all the same."""
        if name in self._seen and self._seen[name].shown_at <= sent_at:
            del self._seen[name]
