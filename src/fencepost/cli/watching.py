"""Following a backfill from the first run that is written to the last that ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from fencepost.cli.progress import Progress
from fencepost.core.lifecycle import ENDED

if TYPE_CHECKING:
    from fencepost.model.backfill import Backfill
    from fencepost.services.control import Control

LOOK_EVERY_S = 1.0


async def fill_and_watch(control: Control, backfill: Backfill, expected: int | None) -> Backfill:
    """Until all its runs have ended; `expected` is how many there will be, where that is known."""
    backfill = await control.backfills.fill(backfill)
    await _warn_of_nobody(control, backfill)
    total = sum(backfill.runs.values()) if expected is None else max(expected, sum(backfill.runs.values()))
    with Progress(total, "running") as progress:
        while not backfill.over:
            progress.reached(_ended(backfill))
            await asyncio.sleep(LOOK_EVERY_S)
            backfill = await control.backfills.fill(await control.backfills.get(backfill.backfill_id))
        progress.reached(_ended(backfill))
    return backfill


def _ended(backfill: Backfill) -> int:
    return sum(count for state, count in backfill.runs.items() if state in ENDED)


async def _warn_of_nobody(control: Control, backfill: Backfill) -> None:
    """Filling needs no other process; running does."""
    if not backfill.over and not any(one.node.works for one in await control.store.roster.live()):
        click.echo("no worker is alive; start one with: fencepost worker TARGET", err=True)
