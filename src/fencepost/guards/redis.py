"""A key in Redis that refuses an older fence: one script compares and writes, and nothing runs beside it.

The key is a hash of two fields, `value` and `fence`, so that one key is one slot of a cluster. A time to live
is also how long the fence is remembered: let it be longer than any attempt can sleep. A server that fails
over may lose its last writes, the fence among them; where that matters, guard in a database.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from functools import cache
from importlib import resources
from typing import Any

from fencepost.errors import StaleFence, UsageError
from fencepost.guards.remedy import REMEDY

FENCE_MAX = 2**53
"""Numbers in the server's scripts are exact up to here."""


class FencedKey:
    """One key, over a client of yours: `redis.Redis`, `redis.asyncio.Redis`, or what has their `eval`."""

    def __init__(self, client: Any, key: str | bytes, *, ttl_s: float | None = None) -> None:
        if ttl_s is not None and not ttl_s > 0:
            raise UsageError(f"ttl_s {ttl_s!r}: expected more than 0, or None for ever")
        self.key = key
        self._client = client
        self._ttl_ms = 0 if ttl_s is None else max(round(ttl_s * 1000), 1)

    def put(self, value: str | bytes | int | float, fence: int) -> Any:
        """Write the value unless a larger fence has written; `StaleFence` where one has.

        `await` it where the client is of redis.asyncio; over one that blocks it is done when it returns.
        """
        if not 0 < fence < FENCE_MAX:
            raise UsageError(f"fence {fence}: expected a number as run.fence has it")
        answer = self._client.eval(_script(), 1, self.key, fence, value, self._ttl_ms)
        return self._later(answer, fence) if inspect.isawaitable(answer) else self._judged(answer, fence)

    def get(self) -> Any:
        """The value as the client returns it, None where there is none; to be awaited as `put` is."""
        return self._client.hget(self.key, "value")

    async def _later(self, answer: Awaitable[Any], fence: int) -> None:
        self._judged(await answer, fence)

    def _judged(self, answer: Any, fence: int) -> None:
        written, held = answer
        if not int(written):
            raise StaleFence(
                f"key {_text(self.key)}: fence {_text(held)} has written, which is larger than {fence}; "
                f"{REMEDY}"
            )


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


@cache
def _script() -> str:
    return resources.files(__package__).joinpath("put.lua").read_text("utf-8")
