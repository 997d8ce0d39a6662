"""What can be done with queues."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.dataclasses import dataclass
from fencepost.model.freeze import Freeze, Scope, ScopeKind
from fencepost.model.identifiers import Queue
from fencepost.model.status import QueueView
from fencepost.services.desks.desk import Desk


@dataclass(frozen=True)
class QueueLine:
    """One queue, how many live workers take from it, and since when and by whom it is paused."""

    view: QueueView
    workers: int
    paused: Freeze | None


class QueueDesk(Desk):
    """The queues of one namespace."""

    async def all(self) -> Sequence[QueueLine]:
        """Every queue that has something in it, has a worker of this namespace, or is paused."""
        views = {one.queue: one for one in await self._store.ledger.queues(self._namespace)}
        nodes = [one.node for one in await self._store.roster.live()]
        mine = [one for one in nodes if one.works and one.namespace == self._namespace]
        freezes = await self._store.freezes.all(self._namespace)
        paused = {Queue(one.scope.value): one for one in freezes if one.scope.kind is ScopeKind.QUEUE}
        names = {*views, *paused, *(queue for node in mine for queue in node.queues)}
        return [
            QueueLine(
                views.get(name) or QueueView(name),
                sum(name in node.queues for node in mine),
                paused.get(name),
            )
            for name in sorted(names)
        ]

    async def pause(self, queue: Queue) -> bool:
        """Start nothing of a queue until it is resumed; False where it is paused already."""
        scope = Scope(ScopeKind.QUEUE, queue)
        return await self._store.freezes.freeze(self._namespace, scope, self._author)

    async def resume(self, queue: Queue) -> bool:
        """Start what is due of a queue again; False where it is not paused."""
        scope = Scope(ScopeKind.QUEUE, queue)
        return await self._store.freezes.thaw(self._namespace, scope, self._author)
