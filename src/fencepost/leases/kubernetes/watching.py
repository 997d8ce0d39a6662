"""The watch: one stream of events for all who want hints, and for the observations.

It lists, then streams from the version of the list, and goes on from the last version that it heard when
the stream ends in good order, as it does every few minutes; bookmarks keep that version young. Whatever else
ends it, a version that the server has forgotten (410) or a broken connection, begins it all again. There is
a pause in both cases: something between us and the server may end streams as soon as they begin. Whoever
listens is called once after each connection, because nobody knows what happened before it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from fencepost.clock import Clock
from fencepost.errors import LeaseStoreUnavailable
from fencepost.leases.kubernetes.api import Api
from fencepost.leases.kubernetes.lease import lease_in
from fencepost.leases.kubernetes.shelf import Shelf

STREAM_S = 120
SILENCE_MAX_S = STREAM_S + 15.0
BACKOFF_MIN_S, BACKOFF_MAX_S = 0.5, 30.0


class Watch:
    """Runs while somebody listens."""

    def __init__(self, api: Api, shelf: Shelf, clock: Clock) -> None:
        self._api = api
        self._shelf = shelf
        self._clock = clock
        self._callbacks: dict[object, Callable[[], None]] = {}
        self._task: asyncio.Task[None] | None = None
        self._backoff_s = BACKOFF_MIN_S

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back until the returned function is called."""
        key = object()
        self._callbacks[key] = callback
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="kubernetes-watch")

        def stop() -> None:
            self._callbacks.pop(key, None)
            if not self._callbacks and self._task is not None:
                self._task.cancel()
                self._task = None

        return stop

    async def close(self) -> None:
        self._callbacks.clear()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        while True:
            try:
                version = await self._shelf.refresh()
                while True:
                    version = await self._stream(version)
                    await self._clock.sleep(BACKOFF_MIN_S)
            except LeaseStoreUnavailable:
                await self._clock.sleep(self._backoff_s)
                self._backoff_s = min(2 * self._backoff_s, BACKOFF_MAX_S)

    async def _stream(self, version: str) -> str:
        """Hear what happens after the version, until the stream ends; returns the last version heard."""
        parameters = {
            "watch": "1",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(STREAM_S),
            "labelSelector": self._shelf.names.selector,
        }
        async with self._api.stream(self._shelf.path, parameters, SILENCE_MAX_S) as lines:
            self._tell()
            self._backoff_s = BACKOFF_MIN_S
            async for line in lines:
                kind, body, version = _event(line)
                if kind != "BOOKMARK":
                    self._hear(kind, body)
        return version

    def _hear(self, kind: str, body: dict[str, Any]) -> None:
        lease = lease_in(body)
        self._shelf.hear(lease, is_gone=kind == "DELETED")
        if kind == "DELETED" or lease.holder is None:
            self._tell()

    def _tell(self) -> None:
        for callback in tuple(self._callbacks.values()):
            callback()


def _event(line: bytes) -> tuple[str, dict[str, Any], str]:
    """The kind, the object and its version. What ends the watch is raised."""
    try:
        event = json.loads(line)
        kind, body = event["type"], event["object"]
        if kind == "ERROR":
            raise LeaseStoreUnavailable(f"the watch broke off: {body.get('message')}")
        return kind, body, body["metadata"]["resourceVersion"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LeaseStoreUnavailable("the watch told of no event") from None
