"""Following a backfill from the first run that is written to the last that ends."""

from __future__ import annotations

import time

import click

from fencepost.cli.calling import Caller
from fencepost.cli.progress import Progress
from fencepost.core.lifecycle import ENDED
from fencepost.model.backfill import BackfillState
from fencepost.operations.backfills import (
    BackfillRequest,
    ChangeBackfillRequest,
    fill_backfill,
    show_backfill,
)
from fencepost.operations.fleet import ListNodesRequest, list_nodes
from fencepost.operations.paging import LIMIT_MAX
from fencepost.operations.responses.backfills import BackfillResponse

LOOK_EVERY_S = 1.0


def fill_and_watch(caller: Caller, backfill: BackfillResponse, expected: int | None) -> BackfillResponse:
    """Until all its runs have ended; `expected` is how many there will be, where that is known."""
    backfill = _further(caller, backfill)
    _warn_of_nobody(caller, backfill)
    total = sum(backfill.runs.values()) if expected is None else max(expected, sum(backfill.runs.values()))
    with Progress(total, "running") as progress:
        while not backfill.over:
            progress.reached(_ended(backfill))
            time.sleep(LOOK_EVERY_S)
            backfill = _further(caller, backfill)
        progress.reached(_ended(backfill))
    return backfill


def _further(caller: Caller, backfill: BackfillResponse) -> BackfillResponse:
    """As it is now; while runs are still to be written, with the next ones written."""
    if backfill.state is BackfillState.ACTIVE:
        return caller.call(fill_backfill, ChangeBackfillRequest(backfill_id=backfill.backfill_id))
    return caller.call(show_backfill, BackfillRequest(backfill_id=backfill.backfill_id))


def _ended(backfill: BackfillResponse) -> int:
    return sum(count for state, count in backfill.runs.items() if state in ENDED)


def _warn_of_nobody(caller: Caller, backfill: BackfillResponse) -> None:
    """Filling needs no other process; running does."""
    if backfill.over:
        return
    if not any(one.works for one in caller.call(list_nodes, ListNodesRequest(limit=LIMIT_MAX)).items):
        click.echo("no worker is alive; start one with: fencepost worker TARGET", err=True)
