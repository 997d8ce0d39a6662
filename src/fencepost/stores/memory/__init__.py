"""The store in memory: the reference for what the others must do, for tests and the simulator."""

from __future__ import annotations

from fencepost.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
