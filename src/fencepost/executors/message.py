"""Functions for messages: jobs whose runs an intake makes."""

from __future__ import annotations

from fencepost.errors import InvalidPayload, PermanentFailure
from fencepost.model.intake import UNREADABLE
from fencepost.model.json import JsonObject
from fencepost.ports.executor import Executor
from fencepost.ports.run import Run


class MessageFunction:
    """A function that is called with the body of a message. A run whose message could not be read dies."""

    def __init__(self, inner: Executor) -> None:
        self._inner = inner
        self.takes_run = bool(getattr(inner, "takes_run", True))
        self.queues = bool(getattr(inner, "queues", False))

    @property
    def stoppable(self) -> bool:
        return self._inner.stoppable

    def check(self, payload: JsonObject) -> None:
        if UNREADABLE in payload:
            raise InvalidPayload(f"{UNREADABLE}: stands for a message that could not be read")
        self._inner.check(payload)

    async def execute(self, run: Run) -> str | None:
        if UNREADABLE in run.payload:
            raise PermanentFailure(f"the message could not be read: {run.payload[UNREADABLE]}")
        return await self._inner.execute(run)
