"""How a run travelled: a line of its log for each station, from the broker's confirm to the reply.

Each station has its own number in the log, so a line that is written again stays as it is. A lost line
changes nothing: the ledger's record of the attempt is written before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum

from fencepost.errors import StoreUnavailable
from fencepost.model.run import Ticket
from fencepost.model.run_log import LogChunk, LogPage
from fencepost.model.text import cleaned
from fencepost.ports.store import Store

TEXT_LENGTH_MAX = 500
TOGETHER_S = 0.1
PAGES_MAX = 500
KEPT_MAX = 10_000
FAREWELL_S = 2.0


class Station(IntEnum):
    """The place that a run has reached."""

    PUBLISHED = 1
    STARTED = 2
    REPLIED = 3


class Trail:
    """The lines of one process. They are written together a moment later, so that runs do not wait for
    them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pages: list[LogPage] = []
        self._on_their_way: list[LogPage] = []
        self._writing: asyncio.Task[None] | None = None
        self._is_closed = False

    def note(self, station: Station, notes: Sequence[tuple[Ticket, str]]) -> None:
        """A line for each attempt that has reached the station. Where the store is slow the oldest are
        dropped."""
        self._pages += [
            LogPage(ticket, (LogChunk(station, station - 1, 1, cleaned(text[:TEXT_LENGTH_MAX])),))
            for ticket, text in notes
        ]
        del self._pages[:-KEPT_MAX]
        if self._writing is not None and self._writing.done():
            self._writing.result()
            self._writing = None
        if self._pages and self._writing is None and not self._is_closed:
            self._writing = asyncio.create_task(self._write_later())

    async def write(self) -> None:
        """Write what has been noted."""
        while self._pages:
            self._on_their_way, self._pages = self._pages[:PAGES_MAX], self._pages[PAGES_MAX:]
            with suppress(StoreUnavailable):
                await self._store.run_logs.append(self._on_their_way)
            self._on_their_way = []

    async def close(self) -> None:
        """Write the rest, unless that takes longer than a moment."""
        self._is_closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                if self._writing is not None:
                    self._writing.cancel()
                    await asyncio.wait({self._writing})
                    if not self._writing.cancelled():
                        self._writing.result()
                self._pages = self._on_their_way + self._pages
                await self.write()

    async def _write_later(self) -> None:
        await asyncio.sleep(TOGETHER_S)
        await self.write()
