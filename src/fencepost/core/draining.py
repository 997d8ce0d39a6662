"""A drain as other nodes see it: when they may believe that a node leads nothing and runs nothing.

A node learns of its drain from the answer to a sign of life, but it made the report in that sign of life
before. Such a report may say "nothing" of a node that is about to take something. So the first report after
the drain was asked for does not count; the node made the second one with knowledge of the drain.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from fencepost.model.dataclasses import dataclass
from fencepost.model.node import NodeRecord

REPORTS_MIN = 2


class DrainState(StrEnum):
    """How far a drain is."""

    DRAINING = "draining"
    DRAINED = "drained"
    LEFT = "left"
    """The node has stopped meanwhile, or died."""
    UP = "up"
    """An operator has undone the drain."""


class Seen(Protocol):
    """The fields of a node that are read; `reported_at` is only compared."""

    @property
    def draining(self) -> bool: ...

    @property
    def reported_at(self) -> object: ...

    @property
    def load(self) -> int:
        """How much it leads and runs."""
        ...


N = TypeVar("N", bound=Seen)


@dataclass(frozen=True)
class DrainWatch(Generic[N]):
    """The node as it was last seen, and the number of its reports since the drain was asked for."""

    record: N
    reports: int = 0
    has_left: bool = False

    @property
    def load(self) -> int:
        """How much the node has still to give up or to finish."""
        return 0 if self.has_left else self.record.load

    @property
    def state(self) -> DrainState:
        """How far it is."""
        if self.has_left:
            return DrainState.LEFT
        if not self.record.draining:
            return DrainState.UP
        is_done = self.reports >= REPORTS_MIN and self.load == 0
        return DrainState.DRAINED if is_done else DrainState.DRAINING


def seen(watch: DrainWatch[N], record: N | None) -> DrainWatch[N]:
    """The watch after one more look; the record is None where the node is not alive any more."""
    if record is None:
        return replace(watch, has_left=True)
    is_new = record.reported_at != watch.record.reported_at
    return replace(watch, record=record, reports=watch.reports + is_new)


def left_undone(drained: NodeRecord, live: Iterable[NodeRecord]) -> list[str]:
    """The roles that no node has left while this node drains: `plans`, `works`."""
    others = [one.node for one in live if one.node != drained.node and not one.draining]
    undone = {
        "plans": drained.node.plans and not any(one.plans for one in others),
        "works": drained.node.works and not any(one.works for one in others),
    }
    return [name for name, so in undone.items() if so]
