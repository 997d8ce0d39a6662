"""What `status` shows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Due and running work, and the age of the oldest due run."""

    ready: int
    running: int
    oldest_ready_s: float | None
