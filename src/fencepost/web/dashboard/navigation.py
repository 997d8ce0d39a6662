"""What there is to go to, in groups, each with its letter after `g`; and what only a search finds."""

from __future__ import annotations

from fencepost.model.access import Role
from fencepost.model.dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A page by its name; `key` is its letter after `g`, `waiting` what is counted beside it of
    all that waits for a person."""

    section: str
    words: str
    href: str
    key: str
    role: Role = Role.VIEWER
    waiting: str = ""
    also: str = ""
    """Other words by which a search finds it."""


GROUPS: tuple[tuple[str, tuple[Place, ...]], ...] = (
    (
        "Watch",
        (
            Place("overview", "Overview", "/", "o", also="completeness, error budget, trends"),
            Place("schedules", "Schedules", "/schedules", "s", also="pause, resume"),
            Place("matrix", "Matrix", "/matrix", "m", also="outcomes over time"),
            Place("runs", "Runs", "/runs", "r", also="ledger, cancel, replay"),
            Place("forecast", "Forecast", "/forecast", "f", also="load to come"),
        ),
    ),
    (
        "Needs attention",
        (
            Place("dead", "Dead letters", "/dead", "d", waiting="dead", also="failed runs, replay"),
            Place("gates", "Catch-up gates", "/gates", "c", waiting="gates", also="held runs"),
        ),
    ),
    (
        "Fleet",
        (
            Place("leases", "Leases", "/leases", "l", also="leaders, shards, epochs"),
            Place("workers", "Workers", "/workers", "w", also="nodes, queues, freezes, drain"),
            Place("backfills", "Backfills", "/backfills", "b", also="ticks of the past"),
            Place("jobs", "Jobs", "/jobs", "j", also="enqueue"),
            Place(
                "notifications", "Notifications", "/notifications", "n", also="alerts, webhook, Slack, e-mail"
            ),
        ),
    ),
    (
        "Admin",
        (
            Place("audit", "Audit log", "/log", "a", also="who did what"),
            Place("tokens", "Tokens", "/tokens", "t", Role.ADMIN, also="access, sessions, sign-in links"),
        ),
    ),
)

ELSEWHERE: tuple[Place, ...] = (
    Place("schedules", "New schedule", "/new-schedule", "", Role.OPERATOR, also="create, add"),
    Place("dead", "Replay dead letters", "/dead/replay", "", Role.OPERATOR, also="many at once"),
)
