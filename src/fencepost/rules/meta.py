"""Values that the ledger keeps about itself, each under a name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fencepost.model.clocks import StoreTime
from fencepost.model.table import Row
from fencepost.model.tables import META
from fencepost.ports.rows import Transaction


async def read_meta(tx: Transaction, name: str) -> str | None:
    """What is written under a name."""
    known = await tx.find(META.at(name))
    return str(known[0]["value"]) if known else None


async def write_meta(tx: Transaction, name: str, value: str, known: Sequence[Row] = ()) -> None:
    """Write something under a name, in place of what was there; its caller may have the row's lock."""
    known = known or await tx.lock(META.at(name))
    if not known and not await tx.put_if_absent(META, [{"name": name, "value": value}]):
        known = await tx.lock(META.at(name))
    await tx.change(META, [(row, {"value": value}) for row in known])


async def forgotten_before(tx: Transaction) -> datetime | None:
    """The time before which retention may have removed ticks."""
    return await read_time(tx, "forgotten_before")


async def read_time(tx: Transaction, name: str) -> StoreTime | None:
    """The moment that is written under a name."""
    text = await read_meta(tx, name)
    return None if text is None else StoreTime(datetime.fromisoformat(text))
