"""The application with what runs beside its answers: live streams, and workers that wait for work."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from fencepost.clock import SystemClock
from fencepost.config import Settings
from fencepost.ports.store import Store
from fencepost.services.fleet import LeaseReader
from fencepost.services.long_poll import LongPoll
from fencepost.web.application import build_application
from fencepost.web.auth import Doorkeeper
from fencepost.web.live.hub import Hub, Pace
from fencepost.web.serving import Serving


class RunningWeb:
    """One store, served in one event loop."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        leases: LeaseReader | None = None,
        dice: Callable[[], float] = random.random,
        doorkeeper: Doorkeeper | None = None,
        pace: Pace | None = None,
    ) -> None:
        self._signals = store.signals
        self._room = LongPoll()
        self._serving = Serving(store, settings, self._room, leases, dice)
        doorkeeper = doorkeeper or Doorkeeper(store, settings)
        self._hub = Hub(store, doorkeeper.still_good_of, SystemClock(), pace)
        self._telling: asyncio.Task[None] | None = None
        self.application = build_application(self._serving, doorkeeper, self._hub)

    async def start(self) -> asyncio.Task[None]:
        """Begin; the task that tells the streams goes on until `close`."""
        await self._room.open(self._signals)
        self._telling = asyncio.create_task(self._hub.run())
        return self._telling

    def close(self) -> None:
        """End live streams and those who wait, and begin no search."""
        if self._telling is not None:
            self._telling.cancel()
        self._hub.close()
        self._room.close()
        self._serving.offload.close()
        self._serving.offload_short.close()

    async def closed(self) -> None:
        """After `close`, until nothing runs any more; what ended the streams before that is raised."""
        if self._telling is None:
            return
        await asyncio.wait({self._telling})
        if not self._telling.cancelled():
            self._telling.result()
