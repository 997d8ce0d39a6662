"""Hints by a watch of the fleet's Lease objects, which also feeds the observations.

It lists, then streams from the version of the list, and goes on from the last version that it heard when
the stream ends in good order, as it does every few minutes; bookmarks keep that version young. After a
version that the server has forgotten (410) or a broken connection it lists again.
"""

from __future__ import annotations

import json
from typing import Any

from fencepost.clock import Clock
from fencepost.errors import LeaseStoreUnavailable
from fencepost.leases.hints import Hints
from fencepost.leases.kubernetes.api import Api
from fencepost.leases.kubernetes.lease import lease_in
from fencepost.leases.kubernetes.lease_objects import LeaseObjects

STREAM_S = 120
SILENCE_MAX_S = STREAM_S + 15.0
BETWEEN_S = 0.5
"""A proxy in between may end streams as soon as they begin."""


class KubernetesHints(Hints):
    """See `leases.hints`."""

    faults = (LeaseStoreUnavailable,)

    def __init__(self, api: Api, lease_objects: LeaseObjects, clock: Clock) -> None:
        super().__init__(clock)
        self._api = api
        self._shelf = lease_objects
        self._heard: str | None = None

    async def listen(self) -> None:
        version, self._heard = self._heard, None
        version = version or await self._shelf.refresh()
        parameters = {
            "watch": "1",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(STREAM_S),
            "labelSelector": self._shelf.names.selector,
        }
        async with self._api.stream(self._shelf.path, parameters, SILENCE_MAX_S) as lines:
            self.opened()
            async for line in lines:
                kind, body, version = _event(line)
                if kind != "BOOKMARK":
                    self._hear(kind, body)
        self._heard = version
        await self._clock.sleep(BETWEEN_S)

    def _hear(self, kind: str, body: dict[str, Any]) -> None:
        lease = lease_in(body)
        self._shelf.hear(lease, is_gone=kind == "DELETED")
        if kind == "DELETED" or lease.holder is None:
            self.tell()


def _event(line: bytes) -> tuple[str, dict[str, Any], str]:
    """The kind, the object and its version. An event that ends the watch is raised."""
    try:
        event = json.loads(line)
        kind, body = event["type"], event["object"]
        if kind == "ERROR":
            raise LeaseStoreUnavailable(f"the watch broke off: {body.get('message')}")
        return kind, body, body["metadata"]["resourceVersion"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LeaseStoreUnavailable("the watch told of no event") from None
