"""When a caller's transaction is over, told by looks at its connection every few milliseconds.

There is one watcher a connection, however much is asked of it. It looks from another thread; a connection
that is busy just then is in its transaction, one that was closed meanwhile is in none. A watcher that has
waited long enough tells all the same: what it tells are hints.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any

from fencepost.ports.signals import Topic

LOOK_EVERY_S, LOOKS_MAX = 0.01, 3_000
BUSY_ELSEWHERE = "ThreadingViolationError"


class Watchers:
    """The connections that are watched, and what is to be told when their transactions are over."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._hints: dict[int, dict[Topic, Callable[[Topic], None]]] = {}

    def tell_after(self, driver: Any, topic: Topic, hint: Callable[[Topic], None]) -> None:
        """Give the hint once the transaction that is open on the connection is over."""
        with self._lock:
            waiting = self._hints.get(id(driver))
            if waiting is not None:
                waiting[topic] = hint
                return
            self._hints[id(driver)] = {topic: hint}
        # The thread keeps the connection, so that its id is not given to another as long as it is watched.
        Thread(target=self._watch, args=(driver,), name="fencepost-hint", daemon=True).start()

    def _watch(self, driver: Any) -> None:
        pause = Event()
        for _ in range(LOOKS_MAX):
            if (hints := self._taken(driver)) is not None:
                break
            pause.wait(LOOK_EVERY_S)
        else:
            hints = self._taken(driver, whatever=True) or {}
        for topic, hint in hints.items():
            hint(topic)

    def _taken(self, driver: Any, whatever: bool = False) -> dict[Topic, Callable[[Topic], None]] | None:
        """What is to be told now. The look is under the lock: who asks meanwhile gets a watcher anew."""
        with self._lock:
            return self._hints.pop(id(driver)) if whatever or not _is_in_transaction(driver) else None


def _is_in_transaction(driver: Any) -> bool:
    """apsw refuses to answer while it is busy in another thread."""
    try:
        return bool(driver.in_transaction)
    except Exception as error:
        return type(error).__name__ == BUSY_ELSEWHERE
