"""What a contract needs: an open, empty store, and control of its clock."""

from __future__ import annotations

from typing import Protocol

from fencepost.model.clocks import StoreTime
from fencepost.ports.store import Store


class StoreHarness(Protocol):
    """A store under test. Its time stands still but for `advance`."""

    @property
    def store(self) -> Store:
        """The store, open and empty."""
        ...

    @property
    def shards(self) -> int:
        """How many shards the store was set up with."""
        ...

    @property
    def now(self) -> StoreTime:
        """What the store's clock shows."""
        ...

    async def advance(self, seconds: float) -> None:
        """Move the store's clock."""
        ...

    async def set_back(self, seconds: float) -> None:
        """Set the store's clock back."""
        ...
