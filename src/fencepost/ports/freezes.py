"""Freezes. Nothing of a frozen scope is started; planning goes on. Lateness counts on too, and is judged at
the thaw at the latest.

Every claim reads the freezes of everything, and of queues: `outlook` shows no due run of such a scope and
claims return none of it, runs by hand and retries included. A freeze of a label or of a schedule marks the
schedules that it covers as `frozen` and sets `Hold.FROZEN` on all their runs that have not ended. From then
on every run of such a schedule is written with that hold. A schedule that is put with a frozen label is
frozen from that moment.

Runs that are running when a freeze comes may finish; their retries are held.
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
        """Freeze a scope; False where that very scope is frozen already. A schedule that does not exist can
        be frozen too; the freeze takes effect when the schedule is created."""
        ...

    async def thaw(self, namespace: Namespace, scope: Scope, author: Author) -> bool:
        """End a freeze; False where there is none of that scope.

        Schedules that no other freeze covers lose their mark and their runs the hold. Listeners for `runs`
        are told."""
        ...

    async def all(self, namespace: Namespace) -> Sequence[Freeze]:
        """The freezes in force, by scope."""
        ...
