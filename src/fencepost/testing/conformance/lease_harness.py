"""What the contracts of leases need: clients of an empty lease store, time that passes, and faults on
request."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from fencepost.ports.leases import LeaseStore


class LeaseHarness(Protocol):
    """A lease store under test, in which nothing was ever granted.

    Where time is a number `advance` moves it; where it is real, `advance` waits. Choose `ttl_s` as short as
    the store and the machine allow: the contracts wait for many leases to run out.
    """

    @property
    def leases(self) -> LeaseStore:
        """A client."""
        ...

    @property
    def ttl_s(self) -> float:
        """The term of a lease that is to run out. `slack_s` must be below three such terms."""
        ...

    @property
    def slack_s(self) -> float:
        """How much later than its term a lease may be noticed to have run out."""
        ...

    async def another(self) -> LeaseStore:
        """One more client, as another process would have it. The harness closes it."""
        ...

    async def advance(self, seconds: float) -> None:
        """Let so much time pass."""
        ...

    async def set_back(self, seconds: float) -> bool:
        """Set the clock back by which the store judges expiry; or move every expiry that it has written ahead
        by as much, which is the same. True if that was done. Where that clock cannot be set, do nothing and
        return False: such a store has no set-back to report."""
        ...

    def losing_answers(self) -> AbstractAsyncContextManager[None]:
        """While inside, requests of `leases` reach the store and its answers do not come back. Where nothing
        lies between a client and its store, nothing is lost."""
        ...

    def away(self) -> AbstractAsyncContextManager[None]:
        """While inside, nothing of `leases` reaches the store. Where nothing lies in between, nothing
        changes."""
        ...
