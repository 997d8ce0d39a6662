"""The lease store that a command was pointed at."""

from __future__ import annotations

from fencepost.config import Settings
from fencepost.model.address import mask
from fencepost.wiring import leases_elsewhere

__all__ = ["leases_elsewhere", "shown_leases"]

# Lease stores know more secrets than a store: of sentinels, of key files, of mechanisms.


def shown_leases(settings: Settings) -> str | None:
    """The lease store's URL without its passwords; None where leases live in the store."""
    return mask(settings.leases) if settings.leases else None
