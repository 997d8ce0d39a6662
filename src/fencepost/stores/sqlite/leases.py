"""Leases in SQLite, watched by the hints between the processes of the host."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.ports.signals import Topic
from fencepost.rules.leases import LeaseRules
from fencepost.stores.sqlite.rows import SqliteRows
from fencepost.stores.sqlite.signals import SqliteSignals


class SqliteLeases(LeaseRules):
    """See `ports.leases`."""

    def __init__(self, rows: SqliteRows, signals: SqliteSignals) -> None:
        super().__init__(rows)
        self._signals = signals

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        """See `ports.leases`."""
        return await self._signals.listen(Topic.LEASES, callback)

    async def close(self) -> None:
        """The store gives back what there is."""
        return
