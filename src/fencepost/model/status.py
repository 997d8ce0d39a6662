"""What `status` shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Queue


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Due and running work, and the age of the oldest due run; then the runs that wait for the limits of
    their job, and the age of the oldest of those."""

    ready: int
    running: int
    oldest_ready_s: float | None
    waiting: int = 0
    oldest_waiting_s: float | None = None


@dataclass(frozen=True, slots=True)
class QueueView:
    """One queue: what is due, what waits for the limits of its job, what runs, and the ages of the oldest due
    and of the oldest waiting run."""

    queue: Queue
    ready: int = 0
    waiting: int = 0
    running: int = 0
    oldest_ready_s: float | None = None
    oldest_waiting_s: float | None = None

    @property
    def oldest_s(self) -> float | None:
        """The age of the oldest that is due or waits."""
        return oldest((self.oldest_ready_s, self.oldest_waiting_s))


def depth_of(queues: Sequence[QueueView]) -> QueueDepth:
    """All queues together."""
    return QueueDepth(
        ready=sum(one.ready for one in queues),
        running=sum(one.running for one in queues),
        oldest_ready_s=oldest(one.oldest_ready_s for one in queues),
        waiting=sum(one.waiting for one in queues),
        oldest_waiting_s=oldest(one.oldest_waiting_s for one in queues),
    )


def oldest(ages_s: Iterable[float | None]) -> float | None:
    """The largest of the known ages."""
    return max((one for one in ages_s if one is not None), default=None)
