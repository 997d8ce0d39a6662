"""Cursors, as those see them that write ticks beside the planner."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.table import Row
from fencepost.model.tables import CURSORS
from fencepost.ports.rows import Transaction


async def lock_cursors(tx: Transaction, namespace: str, schedule_id: str) -> list[Row]:
    """Before ticks are written beside the planner: what it has in flight is then written, or comes later."""
    return await tx.lock(CURSORS.all(namespace, schedule_id))


async def touch(tx: Transaction, cursors: Sequence[Row]) -> None:
    """Ticks were written beside the planner: plans of its that were made before are to be dropped."""
    open_ = [cursor for cursor in cursors if cursor["next_fire_at"] is not None]
    await tx.change(CURSORS, [(cursor, {"touched": cursor["touched"] + 1}) for cursor in open_])
