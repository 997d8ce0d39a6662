"""Workers and queues: who is alive, what they run, what waits, and what is kept from starting."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from fencepost.core.fleet import is_skewed
from fencepost.model.access import EVERYWHERE, Role
from fencepost.model.freeze import ScopeKind
from fencepost.model.node import NodeRecord
from fencepost.model.run import RunRecord
from fencepost.operations.fleet import live_nodes
from fencepost.operations.paging import CURSOR_LENGTH_MAX, sliced
from fencepost.operations.queues import all_queues
from fencepost.operations.words import PLAIN_PATTERN
from fencepost.web.dashboard import links
from fencepost.web.dashboard.page import Shown, Visit, page

NODES_SHOWN = 50
QUEUES_SHOWN = 100
RUNNING_MAX = 500
RUNS_OF_ONE = 4


class WorkerQuery(Struct, frozen=True):
    """Which nodes, and from which on."""

    text: Annotated[str, Meta(max_length=200, pattern=PLAIN_PATTERN)] = ""
    after: Annotated[str, Meta(max_length=CURSOR_LENGTH_MAX)] = ""


@page("/workers", Role.VIEWER, title="Workers", template="workers.html", section="workers", query=WorkerQuery)
async def workers_page(visit: Visit[WorkerQuery]) -> Shown:
    """Nodes, queues and freezes."""
    control = visit.control
    nodes, queues, running, freezes = await asyncio.gather(
        live_nodes(control),
        all_queues(control),
        control.store.ledger.running(control.namespace, RUNNING_MAX),
        control.store.freezes.all(control.namespace),
    )
    text = visit.query.text.strip().lower()
    wanted = [one for one in nodes if text in one.node.node_id.lower()]
    shown, following = sliced(
        wanted, lambda one: (str(one.node.node_id),), tuple[str], NODES_SHOWN, visit.query.after or None
    )
    return {
        "nodes": [
            (one, is_skewed(one, control.settings.skew_warning_s), of_node(running, one)) for one in shown
        ],
        "nodes_total": len(nodes),
        "room": sum(one.node.concurrency for one in nodes if one.node.works and not one.draining),
        "running": sum(one.report.running for one in nodes),
        "queues": queues[:QUEUES_SHOWN],
        "queues_left": max(len(queues) - QUEUES_SHOWN, 0),
        "weighted": bool(control.settings.weights),
        "orphans": orphans(running, nodes),
        "freezes": [one for one in freezes if one.scope.kind is not ScopeKind.QUEUE],
        "whole_fleet": visit.may("admin") and visit.principal.namespace == EVERYWHERE,
        "next_url": None
        if following is None
        else links.with_query("/workers", {"text": visit.query.text, "after": following}),
        "first_url": "/workers" if visit.query.after or text else None,
    }


def of_node(running: Sequence[RunRecord], node: NodeRecord) -> Mapping[str, object]:
    """Some of what it runs in this namespace, and how many more there are."""
    found = [one for one in running if one.worker == node.node.node_id]
    return {"runs": found[:RUNS_OF_ONE], "more": max(len(found) - RUNS_OF_ONE, 0)}


def orphans(running: Sequence[RunRecord], nodes: Sequence[NodeRecord]) -> list[RunRecord]:
    """What runs on nobody who is alive: done by workers outside, or about to be rescued."""
    alive = {one.node.node_id for one in nodes}
    return [one for one in running if one.worker not in alive][:RUNS_OF_ONE]
