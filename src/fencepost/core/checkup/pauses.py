"""A part of point 7: whether leases outlast the pauses that nodes have measured.

A node that stands still for longer than its lease loses it, and another takes over. No tick is lost by that,
but each time one node stops planning and another begins. A term of three times the longest pause leaves room
for one renewal that fails.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.core.checkup.facts import Facts
from fencepost.core.checkup.findings import Finding, Point, Severity
from fencepost.model.durations import format_duration

TTL_PER_PAUSE = 3


def pauses(facts: Facts) -> Iterator[Finding]:
    """The longest pause of the living nodes, against the term of a lease."""
    found = None if facts.ledger is None else facts.ledger.paused
    if found is None:
        return
    term = facts.limits.lease_ttl
    told = (
        f"node {found.node_id} stood still for {found.longest.total_seconds():.1f}s within the last day; "
        f"lease_ttl_s is {format_duration(term)}"
    )
    if term >= TTL_PER_PAUSE * found.longest:
        yield Finding(Point.FENCING, Severity.OK, f"{told}, at least {TTL_PER_PAUSE} times that")
        return
    least_s = -(-TTL_PER_PAUSE * found.longest.total_seconds() // 1)
    yield Finding(
        Point.FENCING,
        Severity.WARN,
        f"{told}, less than {TTL_PER_PAUSE} times that: such a node loses its leases though it lives",
        f"lease_ttl_s = {least_s:g} or more in every process; or find what stops it, such as an async job "
        "that blocks the event loop",
    )
