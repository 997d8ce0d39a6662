"""Freezes. Nothing of a frozen scope is started; planning goes on. Lateness counts on too, and is judged at
the thaw at the latest.

A freeze of everything, or of a queue, is looked at by every claim: `outlook` shows nothing of it that is due
and claims return nothing of it, runs by hand and retries too. A freeze of a label or of a schedule marks the
schedules that it covers as `frozen`, sets `Hold.FROZEN` on all their runs that have not ended, and from then
on every run of such a schedule is written with it. A schedule that is put with a label that is frozen is
frozen from that moment.

What runs when a freeze comes is let finish; its retry is held.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fencepost.model.audit import Author
from fencepost.model.freeze import Freeze, Scope
from fencepost.model.identifiers import Namespace


class Freezes(Protocol):
    """What is frozen."""

    async def freeze(self, namespace: Namespace, scope: Scope, author: Author) -> bool:
        """Freeze a scope; False where that very scope is frozen already. A schedule that is not there can be
        frozen too, and is when it comes."""
        ...

    async def thaw(self, namespace: Namespace, scope: Scope, author: Author) -> bool:
        """End a freeze; False where there is none of that scope.

        Schedules that no other freeze covers lose their mark and their runs the hold. Listeners for `runs`
        are told."""
        ...

    async def all(self, namespace: Namespace) -> Sequence[Freeze]:
        """The freezes in force, by scope."""
        ...
