"""What there is to go to, in groups, each with its letter after `g`."""

from __future__ import annotations

from fencepost.model.access import Role
from fencepost.model.dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """One word of the navigation; `waiting` is what of all that waits for a person is counted beside it."""

    section: str
    words: str
    href: str
    key: str
    role: Role = Role.VIEWER
    waiting: str = ""


GROUPS: tuple[tuple[str, tuple[Place, ...]], ...] = (
    (
        "Watch",
        (
            Place("overview", "Overview", "/", "o"),
            Place("schedules", "Schedules", "/schedules", "s"),
            Place("matrix", "Matrix", "/matrix", "m"),
            Place("runs", "Runs", "/runs", "r"),
            Place("forecast", "Forecast", "/forecast", "f"),
        ),
    ),
    (
        "Needs attention",
        (
            Place("dead", "Dead letters", "/dead", "d", waiting="dead"),
            Place("gates", "Catch-up gates", "/gates", "c", waiting="gates"),
        ),
    ),
    (
        "Fleet",
        (
            Place("leases", "Leases", "/leases", "l"),
            Place("workers", "Workers", "/workers", "w"),
            Place("backfills", "Backfills", "/backfills", "b"),
            Place("jobs", "Jobs", "/jobs", "j"),
            Place("notifications", "Notifications", "/notifications", "n"),
        ),
    ),
    (
        "Admin",
        (
            Place("audit", "Audit log", "/log", "a"),
            Place("tokens", "Tokens", "/tokens", "t", Role.ADMIN),
        ),
    ),
)
