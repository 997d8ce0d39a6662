"""Notifications: who is told, what is wrong now, and the pass that tells.

*Once.* What is told is marked as told in the transaction that enqueues the runs which deliver it. So it is
told once, whoever collects and wherever a crash comes; two that collect at once come one after the other.

*From when.* An event is told from the moment on at which some target asks for it. What happened before is
not told.

*Grouped.* What came of one event within the window after the first of it is one message for each target.
Runs that deliver are ordinary runs, in the queue of their job. What becomes of them is told to nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fencepost.model.audit import Author
from fencepost.model.identifiers import Namespace
from fencepost.model.notification import Alarm, Collected, Item, NotifyTerms, Target


class Notifications(Protocol):
    """Who is told of what."""

    async def put(
        self, namespace: Namespace, targets: Sequence[Target], *, author: Author | None = None
    ) -> Sequence[bool]:
        """Write targets, in place of those of the same names; whether each is news."""
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
        """What is wrong, as far as a target asks for it, and what is over and not told to be."""
        ...

    async def collect(self, namespace: Namespace, judged: Sequence[Item], terms: NotifyTerms) -> Collected:
        """Tell what is new. `judged` are the states that are wrong at this moment: all of those that a target
        asks for. An alarm that is not among them has ended."""
        ...
