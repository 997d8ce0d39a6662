"""Passes on to the next layer what a layer took from a request."""

from __future__ import annotations

from typing import Any

from litestar.types import HTTPReceiveMessage, Receive


class Again:
    """A `receive` that gives a message once more, and then what comes."""

    def __init__(self, message: Any, receive: Receive) -> None:
        self._message = message
        self._receive = receive

    async def __call__(self) -> HTTPReceiveMessage:
        message, self._message = self._message, None
        received: Any = await self._receive() if message is None else message
        return received  # type: ignore[no-any-return]
