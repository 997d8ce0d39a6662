"""How a run travelled: a line of its log for each station, from the broker's confirm to the reply.

Each station has its own number in the log, so a line that is written again stays as it is. A line that is
lost changes nothing: the ledger's record of the attempt is written before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum

from fencepost.errors import StoreUnavailable
from fencepost.model.run import Ticket
from fencepost.model.run_log import LogChunk, LogPage
from fencepost.model.text import cleaned
from fencepost.ports.store import Store

TEXT_LENGTH_MAX = 500


class Station(IntEnum):
    """Where a run has come to."""

    PUBLISHED = 1
    STARTED = 2
    REPLIED = 3


async def note_all(store: Store, station: Station, notes: Sequence[tuple[Ticket, str]]) -> None:
    """Write a line for each attempt that has come to the station."""
    pages = [
        LogPage(ticket, (LogChunk(station, station - 1, 1, cleaned(text[:TEXT_LENGTH_MAX])),))
        for ticket, text in notes
    ]
    if pages:
        with suppress(StoreUnavailable):
            await store.logbook.append(pages)
