"""The lease store that a command was pointed at."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.config import Settings
from fencepost.model.address import mask
from fencepost.model.lease import LeaseRecord
from fencepost.ports.store import Store
from fencepost.services.fleet import LeaseReader
from fencepost.wiring import open_leases

# Lease stores know more secrets than a store: of sentinels, of key files, of mechanisms.


def leases_elsewhere(settings: Settings, store: Store) -> LeaseReader | None:
    """Where leases live, if that is not the store itself."""
    return LeasesOnDemand(settings, store) if settings.leases else None


def shown_leases(settings: Settings) -> str | None:
    """The lease store's URL without its passwords; None where leases live in the store."""
    return mask(settings.leases) if settings.leases else None


class LeasesOnDemand:
    """Opened when they are read: most commands never do, and one that is away is met where that is minded."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store

    async def read(self) -> Sequence[LeaseRecord]:
        """The leases that are held. A URL that cannot be is refused, as at the start of a node."""
        leases = await open_leases(self._settings, self._store)
        try:
            return await leases.read()
        finally:
            await leases.close()
