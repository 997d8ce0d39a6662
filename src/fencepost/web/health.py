"""Whether the process lives, and whether it can serve: the only answers without a credential."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from fencepost.errors import StoreUnavailable, TurnedAway
from fencepost.ports.store import Store
from fencepost.services.waiting_room import WaitingRoom

STORE_WITHIN_S = 2.0


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
async def readyz(
    store: NamedDependency[SkipValidation[Store]],
    room: NamedDependency[SkipValidation[WaitingRoom]],
) -> Response[Health]:
    """`ready` where the store answers and the process is not about to stop, a 503 else."""
    if room.closed:
        raise TurnedAway("the server is stopping")
    try:
        async with asyncio.timeout(STORE_WITHIN_S):
            await store.now()
    except TimeoutError:
        raise StoreUnavailable(f"no answer within {STORE_WITHIN_S:g} s") from None
    return Response(Health("ready"), headers={"Cache-Control": "no-store"})
