"""The fleet at one moment: asks the ledger, the lease store and the nodes; `core.fleet` compares the answers.

The leases may live elsewhere than the ledger. A lease store that does not answer does not hide the rest: its
part of the answer is unknown then, and `trouble` says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from fencepost.core.fleet import (
    Alarm,
    ShardView,
    Witnesses,
    alarms,
    elsewhere,
    hidden_names,
    shard_views,
    shown_shards,
    without_names,
)
from fencepost.errors import StoreUnavailable
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, NodeId
from fencepost.model.lease import LeaseRecord
from fencepost.model.node import NodeRecord
from fencepost.ports.store import Store

ANSWER_MAX_S = 8.0
"""Opening a lease store and reading it are one wait."""


class LeaseReader(Protocol):
    """The part of a lease store that is needed here; see `ports.leases`."""

    async def read(self) -> Sequence[LeaseRecord]:
        """The leases that are held. Raises `StoreUnavailable`."""
        ...


HIDDEN = NodeId("(another namespace)")
"""In place of the name of a node that is not shown."""


@dataclass(frozen=True)
class FleetView:
    """Shards, live nodes and alarms; `trouble` is why something of the leases is unknown, in one line.
    `narrowed`: nodes of other namespaces, and where the leases live, are not shown."""

    at: StoreTime
    shards: Sequence[ShardView]
    nodes: Sequence[NodeRecord]
    alarms: Sequence[Alarm]
    skew_warning_s: float
    trouble: str | None = None
    narrowed: bool = False


async def look(
    store: Store, leases: LeaseReader, skew_warning_s: float, only: Namespace | None = None
) -> FleetView:
    """Ask all three sources. A lease that moves between two answers looks like one that is elsewhere; so this
    asks again before it reports one. `only` is the namespace of those who see no other."""
    seen, trouble = await _ask(store, leases)
    if elsewhere(seen):
        seen, trouble = await _ask(store, leases)
    if missing := elsewhere(seen):
        trouble = _not_here(missing)
    views, found = shard_views(seen), alarms(seen, skew_warning_s)
    view = FleetView(seen.now, views, seen.nodes, found, skew_warning_s, trouble)
    return _narrowed(view, await _hidden(store, only))


async def shown_names(store: Store, only: Namespace | None) -> Callable[[NodeId], NodeId]:
    """The names of nodes as those who see one namespace get them."""
    hidden = await _hidden(store, only)
    return lambda node_id: HIDDEN if hidden(node_id) else node_id


async def _hidden(store: Store, only: Namespace | None) -> Callable[[NodeId], bool]:
    return hidden_names({} if only is None else await store.nodes.owners(), only)


def _narrowed(view: FleetView, hidden: Callable[[NodeId], bool]) -> FleetView:
    """What a namespace sees of the fleet: its own nodes, and the shards without the names of other
    leaders."""
    if not hidden(HIDDEN):
        return view
    return replace(
        view,
        shards=[
            _unnamed(one) if one.holder is not None and hidden(one.holder) else one for one in view.shards
        ],
        nodes=[one for one in view.nodes if not hidden(one.node.node_id)],
        alarms=without_names(view.alarms, hidden),
        trouble=None if view.trouble is None else "something of the leases could not be read",
        narrowed=True,
    )


def _unnamed(view: ShardView) -> ShardView:
    return replace(view, holder=HIDDEN, lineage=None)


async def _ask(store: Store, leases: LeaseReader) -> tuple[Witnesses, str | None]:
    held, trouble = await _read(leases)
    shards, leaders = await store.epochs.shards(), await store.epochs.all()
    nodes, from_future = await store.nodes.live(), await store.nodes.from_future()
    return Witnesses(await store.now(), shards, leaders, held, nodes, from_future), trouble


async def _read(leases: LeaseReader) -> tuple[Sequence[LeaseRecord] | None, str | None]:
    try:
        async with asyncio.timeout(ANSWER_MAX_S):
            return await leases.read(), None
    except TimeoutError:
        why = f"nothing within {ANSWER_MAX_S:g} s"
    except StoreUnavailable as error:
        why = str(error)
    return None, f"the lease store did not answer ({why}): when leases run out is unknown"


def _not_here(missing: Sequence[ShardView]) -> str:
    lineages = sorted({one.lineage for one in missing if one.lineage is not None})
    where = ", ".join(lineages)
    return (
        f"the leases of {shown_shards(one.shard for one in missing)} are elsewhere ({where}): when they run "
        "out is unknown; give --leases as the nodes have it"
    )
