"""Hints within one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fencepost.ports.signals import Topic


class MemorySignals:
    """Callbacks by topic, called soon rather than at once, as from a real store."""

    are_connected: bool = False

    def __init__(self) -> None:
        self._callbacks: dict[Topic, list[Callable[[], None]]] = {topic: [] for topic in Topic}

    async def listen(self, topic: Topic, callback: Callable[[], None]) -> Callable[[], None]:
        callbacks = self._callbacks[topic]
        callbacks.append(callback)
        return lambda: callbacks.remove(callback)

    def hint(self, topic: Topic) -> None:
        if self._callbacks[topic]:
            loop = asyncio.get_running_loop()
            for callback in self._callbacks[topic]:
                loop.call_soon(callback)
