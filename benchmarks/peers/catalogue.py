"""Who is measured, on what, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Peer:
    """A peer has a script `with_NAME.py`, and `NAME.txt` with what it needs."""

    name: str
    store: str = "postgresql"
    runs: int = 20_000
    """How many jobs both enqueue and drain: fewer where one of them takes a millisecond or more."""
    schedules: int = 0
    """How many are due at one instant; 0 where the peer has none, or drops what is late."""
    due_every_s: int = 1
    """They can be due at a second that this divides."""
    is_counted: bool = True
    """Whether the server can say how many transactions it has while idle."""
    python: str = ""
    """The version that it needs, where ours does not do."""
    goals: dict[str, float] = field(default_factory=dict)
    """How many times as fast as the peer we want to be."""


PEERS = (
    Peer("pgqueuer", schedules=1_000, goals={"bulk": 1.2, "drain tuned": 1.3, "drain defaults": 1.0}),
    Peer("procrastinate", runs=2_000, schedules=1_000),
    Peer("huey", store="sqlite", runs=5_000, is_counted=False),
    Peer("apscheduler", runs=1_000, schedules=1_000),
    Peer("dbos", runs=1_000),
    Peer("celery", store="redis", runs=5_000, schedules=1_000, due_every_s=60, is_counted=False),
    Peer("oban", runs=5_000, schedules=1_000, due_every_s=60, python="3.12"),
)
