"""Notifications: who is told, what is wrong now, and the pass that tells.

*Once.* What is told is marked as told in the transaction that enqueues the runs which deliver it. So it is
told once, on whichever node the pass runs and whenever it crashes; two passes at once come one after the
other. *From when.* An event is told from the moment at which some target asks for it. What happened before is
not told.

*Grouped.* All that came of one event within the window after the first of it is one message for each target.
Runs that deliver are ordinary runs, in the queue of their job. What happens to them is not told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fencepost.model.audit import Author
from fencepost.model.identifiers import Namespace
from fencepost.model.notification import Alarm, Collected, Item, NotifyTerms, Target


class Notifications(Protocol):
    """The targets and the alarms of a store."""

    async def put(
        self, namespace: Namespace, targets: Sequence[Target], *, author: Author | None = None
    ) -> Sequence[bool]:
        """Write targets, in place of those of the same names; returns for each whether it changed
        anything."""
        ...

    async def remove(self, namespace: Namespace, name: str, *, author: Author | None = None) -> bool:
        """Take a target away; False where there is none of that name."""
        ...

    async def all(self, namespace: Namespace) -> Sequence[Target]:
        """The targets of a namespace, by name."""
        ...

    async def everywhere(self) -> Mapping[Namespace, Sequence[Target]]:
        """Those of every namespace that has some."""
        ...

    async def alarms(self, namespace: Namespace) -> Sequence[Alarm]:
        """The alarms that are on, as far as a target asks for them, and those that are over but not yet told
        to be."""
        ...

    async def collect(self, namespace: Namespace, judged: Sequence[Item], terms: NotifyTerms) -> Collected:
        """Tell what is new. `judged` has all states that are wrong at this moment and that a target asks for.
        An alarm that is not among them has ended."""
        ...
