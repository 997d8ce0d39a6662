"""What every loop has in common: a pass, a rest that a hint can cut short, and patience with the store."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from fencepost.errors import StoreReplaced, StoreUnavailable
from fencepost.telemetry.events import StoreMissed, emit
from fencepost.telemetry.logs import Log

PATIENCE_FIRST_S = 0.1
PATIENCE_MAX_S = 5.0


def patience_s(failures: int, at_most_s: float = PATIENCE_MAX_S) -> float:
    """How long to wait after this number of failures in a row."""
    return min(PATIENCE_FIRST_S * (1 << min(failures - 1, 10)), at_most_s)


class Wakeup:
    """A rest that ends early when it is woken."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def wake(self) -> None:
        self._event.set()

    async def rest(self, at_most_s: float) -> None:
        """Sleep until woken, at most `at_most_s`; a wake-up from before the rest counts."""
        if not self._event.is_set():
            alarm = asyncio.get_running_loop().call_later(max(at_most_s, 0), self._event.set)
            try:
                await self._event.wait()
            finally:
                alarm.cancel()
        self._event.clear()


class Service(ABC):
    """A loop over `run_once`. It waits while the store is away; any other error ends the process, also that
    the store is another one."""

    name: str
    patience_max_s = PATIENCE_MAX_S

    def __init__(self) -> None:
        self.wakeup = Wakeup()
        self.log = Log(self.name)
        self._failures = 0

    @abstractmethod
    async def run_once(self) -> float:
        """One pass; returns the number of seconds until the next one is due."""

    async def run(self) -> None:
        """Pass after pass until cancelled."""
        while True:
            await self.wakeup.rest(await self._pass())

    async def _pass(self) -> float:
        try:
            rest_s = await self.run_once()
        except StoreReplaced:
            raise
        except StoreUnavailable as error:
            return self._be_patient(error)
        if self._failures:
            self.log.info("store is back", after_failures=self._failures)
        self._failures = 0
        return rest_s

    def _be_patient(self, error: StoreUnavailable) -> float:
        self._failures += 1
        emit(StoreMissed(self.name, self._failures))
        self.log.warning("store unavailable", error=str(error), failures=self._failures)
        return patience_s(self._failures, self.patience_max_s)
