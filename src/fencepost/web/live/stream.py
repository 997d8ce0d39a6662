"""One stream: the messages of its listener, and a sign of life where there are none."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fencepost.model.access import Principal
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run_log import LogPlace
from fencepost.web.live import messages
from fencepost.web.live.hub import Hub
from fencepost.web.live.listener import Listener

HEARTBEAT_S = 15.0


async def events(
    hub: Hub,
    principal: Principal,
    last_event_id: str | None = None,
    *,
    namespace: Namespace | None = None,
    run_key: RunKey | None = None,
    place: LogPlace | None = None,
) -> AsyncIterator[bytes]:
    """The whole stream of a new listener, until it is over. Raises `TooManyStreams`."""
    listener = hub.join(
        principal,
        namespace or principal.namespace,
        resumed=last_event_id is not None,
        run_key=run_key,
        place=place,
    )
    try:
        async for message in told(listener):
            yield message
    finally:
        hub.leave(listener)


async def told(listener: Listener, heartbeat_s: float = HEARTBEAT_S) -> AsyncIterator[bytes]:
    """The messages of a listener, beginning at once so that the client knows that it was admitted."""
    yield messages.HELLO
    while (message := await listener.take(heartbeat_s)) is not None:
        yield message or messages.HEARTBEAT
