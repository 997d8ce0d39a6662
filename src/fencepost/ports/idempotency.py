"""Answers to calls that carry a key of their own (`Idempotency-Key`), so that a repeated call is done once.

A key belongs to a principal in a namespace, so two principals never meet. A caller begins before it does what
was asked: of any number of calls at the same moment one is told to go ahead. When the work is done its answer
is kept, and every later call with the key gets that answer. Where the work failed in a way that may be
repeated, the key is dropped: the next call may go ahead at once. A caller that never comes back holds the key
for `hold_s`, after which it is free.

`asked_at` is the store's time of the first beginning, and stays so however often the call is begun again. A
call that writes under a key made of it therefore writes the same row each time, also where the first call had
done its work and its answer was lost. That is why dropping a key does not forget `asked_at`. `again` says
that this is not the first time. It tells a refusal because the work is done already from one of work never
done.

A fingerprint of what is asked comes with the key. The same key with another fingerprint is a mistake of the
caller, and the answer says so, whatever came of the first call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from fencepost.model.idempotency import Beginning
from fencepost.model.identifiers import Namespace


class IdempotencyKeys(Protocol):
    """The answers that are kept, by key."""

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
        """Forget keys that were first used at least `kept_s` ago, up to `limit`; returns how many."""
        ...
