"""Whether the process lives, and whether it can serve: the only answers without a credential."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from fencepost.errors import StoreUnavailable, TurnedAway
from fencepost.model.clocks import StoreTime
from fencepost.ports.store import Store
from fencepost.services.long_poll import LongPoll

STORE_WITHIN_S = 2.0


class Readiness:
    """Whether the process can serve. The store is asked once for all callers at the same time: they need no
    credential for that, so there may be any number of them."""

    def __init__(self, store: Store, room: LongPoll) -> None:
        self._store = store
        self._room = room
        self._asking: asyncio.Task[StoreTime] | None = None

    async def check(self) -> None:
        """Return where it can serve; else raise why it cannot."""
        if self._room.closed:
            raise TurnedAway("the server is stopping")
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._store.now())
            self._asking.add_done_callback(_seen)
        try:
            async with asyncio.timeout(STORE_WITHIN_S):
                await asyncio.shield(self._asking)
        except TimeoutError:
            raise StoreUnavailable(f"no answer within {STORE_WITHIN_S:g} s") from None


def _seen(asking: asyncio.Task[StoreTime]) -> None:
    """The callers may be gone by now."""
    if not asking.cancelled():
        asking.exception()


class Health(msgspec.Struct):
    """One word."""

    status: Annotated[str, msgspec.Meta(examples=["ok"])]


@get(
    "/healthz",
    operation_id="healthz",
    summary="Whether the process lives",
    tags=["health"],
)
async def healthz() -> Response[Health]:
    """Always `ok`; the store is not asked."""
    return Response(Health("ok"), headers={"Cache-Control": "no-store"})


@get(
    "/readyz",
    operation_id="readyz",
    summary="Whether the process can serve",
    tags=["health"],
)
async def readyz(readiness: NamedDependency[SkipValidation[Readiness]]) -> Response[Health]:
    """`ready` where the store answers and the process is not about to stop, a 503 else."""
    await readiness.check()
    return Response(Health("ready"), headers={"Cache-Control": "no-store"})
