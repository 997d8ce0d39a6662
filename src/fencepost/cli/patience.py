"""How long one call of a server is repeated: a bit longer than a server holds the key of a call that was cut
off, and no longer. Whoever waits is told so, once."""

from __future__ import annotations

import time

import click

from fencepost.clock import SystemClock
from fencepost.model.clocks import elapsed_s

LASTS_S = 75.0
PAUSE_S = 1.0
SAID_AFTER_S = 3.0


class Patience:
    """Of one call."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._clock = SystemClock()
        self._began = self._clock.monotonic()
        self._waited = 0
        self._said = False

    def wait(self, retry_after: str | None = None) -> bool:
        """Until the next try, which is at once after the first unless the server says otherwise; False where
        there is no time for one."""
        pause_s = _seconds(retry_after) if retry_after else PAUSE_S if self._waited else 0.0
        spent_s = elapsed_s(self._began, self._clock.monotonic()) + pause_s
        if spent_s > LASTS_S:
            return False
        if spent_s >= SAID_AFTER_S and not self._said:
            self._said = True
            told = f"has no answer yet; asking again for up to {LASTS_S:g} s, Ctrl-C stops it"
            click.echo(f"fencepost: --server {self._server}: {told}", err=True)
        self._waited += 1
        time.sleep(pause_s)
        return True


def _seconds(retry_after: str) -> float:
    """What the header says in seconds; a date is not worth reading for so short a time."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else PAUSE_S
