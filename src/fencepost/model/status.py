"""What `status` shows."""

from __future__ import annotations

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Queue


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Due and running work, and the age of the oldest due run; what is due and waits for the limits of its
    job, and the age of the oldest of that."""

    ready: int
    running: int
    oldest_ready_s: float | None
    waiting: int = 0
    oldest_waiting_s: float | None = None


@dataclass(frozen=True, slots=True)
class QueueView:
    """One queue: what is due, what waits for the limits of its job, what runs, and how old the oldest is that
    is due or waits."""

    queue: Queue
    ready: int
    waiting: int
    running: int
    oldest_s: float | None
