"""Following a drain until the node leads nothing and runs nothing."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from fencepost.cli.progress import Progress
from fencepost.core.draining import DrainState, DrainWatch, seen

if TYPE_CHECKING:
    from fencepost.model.node import NodeRecord
    from fencepost.services.control import Control

LOOK_EVERY_S = 0.5


async def watch_drain(control: Control, record: NodeRecord, timeout_s: float | None) -> DrainWatch:
    """Until it is drained, has left or was taken back, or for so long; `record` is the node as it was after
    the drain was asked for."""
    watch = DrainWatch(record)
    click.echo(f"{record.node.node_id}: {load_words(record)}; waiting for it to be idle", err=True)
    with Progress(watch.load, "draining") as progress, suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            while watch.state is DrainState.DRAINING:
                await asyncio.sleep(LOOK_EVERY_S)
                watch = seen(watch, await control.fleet.get(record.node.node_id))
                progress.reached(DrainWatch(record).load - watch.load)
    return watch


def load_words(record: NodeRecord) -> str:
    """What a node has still to give up or to finish."""
    leads, running = len(record.report.leads), record.report.running
    return f"it leads {_many(leads, 'shard')} and has {_many(running, 'run')} going"


def _many(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"
