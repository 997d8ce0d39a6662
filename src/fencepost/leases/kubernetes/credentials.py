"""The credentials for the API server, how long they are good, and how to load them again.

Tokens rotate: a mounted file is replaced, a plugin's token runs out. Loaded credentials are kept until they
are stale, then loaded again in the background, and used meanwhile. Callers wait for credentials that have
expired. There is one load at a time, for all callers that wait, and it goes on when they give up: a plugin
may need longer than a lease request may take, and the next caller finds the result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import field
from datetime import datetime
from typing import TypeAlias

from fencepost.clock import Clock
from fencepost.model.dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """A client's certificate chain and key, as PEM."""

    chain: bytes = field(repr=False)
    key: bytes = field(repr=False)


@dataclass(frozen=True)
class Identity:
    """What to show with each request. `stale_at` is when to look again, `expires_at` when it is worth
    nothing."""

    authorization: str | None = field(default=None, repr=False)
    certificate: Certificate | None = None
    stale_at: datetime | None = None
    expires_at: datetime | None = None


Load: TypeAlias = Callable[[], Awaitable[Identity]]


class Credentials:
    """The identity as it is now."""

    def __init__(self, load: Load, clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._identity: Identity | None = None
        self._loading: asyncio.Task[Identity] | None = None

    async def current(self) -> Identity:
        """The identity, loaded where there is none that can be used. Raises what the load raises."""
        identity = self._identity
        if identity is None or self._has_passed(identity.expires_at):
            return await asyncio.shield(self._reload())
        if self._has_passed(identity.stale_at):
            self._reload()
        return identity

    async def instead_of(self, refused: Identity) -> Identity:
        """Another one, after the API server has refused this one."""
        if self._identity is refused:
            self._identity = None
        return await self.current()

    async def close(self) -> None:
        """End a load that is under way."""
        if self._loading is not None:
            self._loading.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._loading

    def _has_passed(self, moment: datetime | None) -> bool:
        return moment is not None and self._clock.wall() >= moment

    def _reload(self) -> asyncio.Task[Identity]:
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._loaded())
            self._loading.add_done_callback(_heard)
        return self._loading

    async def _loaded(self) -> Identity:
        self._identity = await self._load()
        return self._identity


def _heard(task: asyncio.Task[Identity]) -> None:
    """A load in the background may fail without a waiting caller; the next caller that needs it gets the
    error."""
    if not task.cancelled():
        task.exception()
