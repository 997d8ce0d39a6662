"""Turns at the write lock: a connection that writes all the time keeps no other waiting.

SQLite has no queue for its write lock. By its own rule a connection that finds the lock taken looks again up
to 100 ms later. One that commits and begins again at once has taken the lock long before. So:

- A connection that waits looks every millisecond. It shows that it waits by a shared `flock` on the folder of
  the database, which ends with the process.
- A connection that has held the lock for a turn, in one transaction or in several, looks whether another
  waits before it begins again. It gives way until that one has the lock, `GIVE_WAY_MAX_S` at most: a process
  that is stopped while it waits does not stop the others.

Where the folder cannot be locked, the lock goes to the first that looks.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from threading import Event

from fencepost.clock import SystemClock
from fencepost.model.clocks import Monotonic, elapsed_s
from fencepost.stores.sqlite.opening import BUSY_TIMEOUT_MS

LOOK_EVERY_S = 0.001
TURN_S = 0.02
GIVE_WAY_MAX_S = 0.01


class Turns:
    """Those of one connection."""

    def __init__(self, path: Path) -> None:
        self._folder: int | None = None
        with suppress(OSError):
            self._folder = os.open(path.parent, os.O_RDONLY)
        self._clock = SystemClock()
        self._waits_since = self._taken_at = self._clock.monotonic()
        self._held_s = 0.0

    def close(self) -> None:
        """The connection is closed."""
        if self._folder is not None:
            os.close(self._folder)

    def wait(self, looks: int) -> bool:
        """Called by SQLite while another connection has the lock, with the count of looks: whether to look
        again."""
        if not looks:
            self._waits_since = self._clock.monotonic()
        self._lock(fcntl.LOCK_SH | fcntl.LOCK_NB)
        Event().wait(LOOK_EVERY_S)
        return self._since_s(self._waits_since) * 1_000 < BUSY_TIMEOUT_MS

    def taken(self) -> None:
        """The connection waits no more."""
        self._lock(fcntl.LOCK_UN)
        self._taken_at = self._clock.monotonic()

    def released(self) -> None:
        """The transaction has ended; after a turn the connection gives way to those that wait."""
        self._held_s += self._since_s(self._taken_at)
        if self._held_s < TURN_S:
            return
        self._held_s, began = 0.0, self._clock.monotonic()
        while self.any_waits() and self._since_s(began) < GIVE_WAY_MAX_S:
            Event().wait(LOOK_EVERY_S)

    def any_waits(self) -> bool:
        """Whether another connection waits for the lock."""
        if not self._lock(fcntl.LOCK_EX | fcntl.LOCK_NB):
            return True
        self._lock(fcntl.LOCK_UN)
        return False

    def _lock(self, operation: int) -> bool:
        """False where another connection has it; where the folder cannot be locked, none has."""
        try:
            if self._folder is not None:
                fcntl.flock(self._folder, operation)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def _since_s(self, moment: Monotonic) -> float:
        return elapsed_s(moment, self._clock.monotonic())
