"""Following a drain until the node leads nothing and runs nothing."""

from __future__ import annotations

import math
import time
from typing import TypeAlias

import click

from fencepost.cli.calling import Caller
from fencepost.cli.progress import Progress
from fencepost.clock import SystemClock
from fencepost.core.draining import DrainState, DrainWatch, seen
from fencepost.operations.fleet import ListNodesRequest, list_nodes
from fencepost.operations.responses.fleet import FleetNode, NodePage

LOOK_EVERY_S = 0.5

Watch: TypeAlias = DrainWatch[FleetNode]


def watch_drain(caller: Caller, node: FleetNode, timeout_s: float | None) -> Watch:
    """Until it is drained, has left or was taken back, or for so long; `node` is as it was once the drain had
    been asked for."""
    watch, clock = Watch(node), SystemClock()
    until = math.inf if timeout_s is None else clock.monotonic() + timeout_s
    click.echo(f"{node.node_id}: {load_words(node)}; waiting for it to be idle", err=True)
    with Progress(watch.load, "draining") as progress:
        while watch.state is DrainState.DRAINING and (left_s := until - clock.monotonic()) > 0:
            time.sleep(min(LOOK_EVERY_S, left_s))
            watch = seen(watch, _first(caller.call(list_nodes, ListNodesRequest(node_id=node.node_id))))
            progress.reached(node.load - watch.load)
    return watch


def find_node(caller: Caller, name: str) -> FleetNode | None:
    """The live node of this id, or the only one whose id begins so."""
    return _first(caller.call(list_nodes, ListNodesRequest(name=name)))


def load_words(node: FleetNode) -> str:
    """What a node has still to give up or to finish."""
    return f"it leads {_many(node.leads, 'shard')} and has {_many(node.running, 'run')} going"


def _first(page: NodePage) -> FleetNode | None:
    return page.items[0] if page.items else None


def _many(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"
