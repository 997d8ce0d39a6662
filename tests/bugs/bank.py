"""The bank: every bug that we know how to plant."""

from __future__ import annotations

from tests.bugs import brokers, chains, effects, fences, heartbeats, leases, mongodb, queues, stores, ticks
from tests.bugs.bug import Bug, bugs_of

AREAS = (leases, fences, ticks, heartbeats, queues, stores, mongodb, effects, brokers, chains)
BANK: tuple[Bug, ...] = tuple(one for area in AREAS for one in bugs_of(area))
BY_NAME = {one.name: one for one in BANK}
