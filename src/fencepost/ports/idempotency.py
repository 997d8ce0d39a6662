"""Answers to calls that carry a key of their own (`Idempotency-Key`), so that a repeated call is done once.

A key belongs to a principal in a namespace; nobody meets another's. Whoever is about to do what was asked
begins: of any number of calls at the same moment one is told to go ahead. When it is done the answer is kept,
and every later call with the key gets that. Where it failed in a way that may be repeated it is dropped: the
next call may go ahead at once. Whoever never comes back holds the key for `hold_s`, after which it is free.

`asked_at` is the store's time of the first beginning, and stays so however often the call is begun again. A
call that writes under a key made of it therefore writes the same row each time, also where the first one had
done its work and its answer was lost: that is why dropping a key does not forget it. `again` says that it is
not the first time, so that what is refused because it stands already can be told from what never was done.

A fingerprint of what is asked comes with the key. The same key with another fingerprint is somebody's
mistake, and is told so, whatever became of the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from fencepost.model.idempotency import Beginning
from fencepost.model.identifiers import Namespace


class IdempotencyKeys(Protocol):
    """What was answered to whom."""

    async def begin(
        self, namespace: Namespace, principal_id: str, key: str, fingerprint: str, hold_s: float
    ) -> Beginning:
        """Ask whether to go ahead with a call."""
        ...

    async def keep(
        self,
        namespace: Namespace,
        principal_id: str,
        key: str,
        status: int,
        body: bytes,
        headers: Mapping[str, str],
    ) -> None:
        """Keep the answer to a call that was begun. The first that is kept stays."""
        ...

    async def drop(self, namespace: Namespace, principal_id: str, key: str) -> None:
        """Let the next call go ahead at once. An answer that is kept stays."""
        ...

    async def sweep(self, kept_s: float, limit: int) -> int:
        """Forget keys that were first used so long ago, up to so many; how many."""
        ...
