"""Leases: no node plans a shard on a lease that it no longer has, or under an epoch that the ledger had not
registered for it and that shard, unless it could not know."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from tests.history.findings import ROUNDING_S, Kind, Looked, bounded
from tests.history.model import History, Violation

NEEDS = frozenset({"plans_sent", "registrations"})
NOT_HELD = Kind("leases", "planned without the lease")
UNREGISTERED = Kind("leases", "planned under an epoch that is not its own")
KINDS = (NOT_HELD, UNREGISTERED)


@bounded
def check(history: History, looked: Looked) -> Iterator[Violation]:
    """See the module."""
    registered: dict[tuple[int, int, str], datetime] = {}
    for entry in history.registrations:
        registered.setdefault((entry.shard, entry.epoch, entry.holder), entry.at)
    slack = timedelta(seconds=history.statement_s + ROUNDING_S)
    for one in history.plans_sent:
        looked["plans sent"] += 1
        if one.excused:
            continue
        what = f"{one.node}, shard {one.shard}, epoch {one.epoch}, {one.at}"
        if not one.held:
            yield NOT_HELD.found(what)
        since = registered.get((one.shard, one.epoch, one.node))
        if since is None or one.at < since - slack:
            yield UNREGISTERED.found(what)
