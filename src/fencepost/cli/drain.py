"""`fencepost drain`: take a node out of the work before its host is touched."""

from __future__ import annotations

from typing import Any

import click

from fencepost.cli.calling import Caller, calling
from fencepost.cli.draining import Watch, find_node, load_words, watch_drain
from fencepost.cli.faults import FINE, INTERRUPTED, NO
from fencepost.cli.options import Place, changes_store, json_option
from fencepost.cli.output import cell, print_json
from fencepost.cli.reading import read_duration
from fencepost.core.draining import DrainState
from fencepost.errors import UsageError
from fencepost.operations.fleet import ChangeNodeRequest, drain_node, undrain_node
from fencepost.operations.responses.fleet import DrainResponse, FleetNode

ABSENT = "absent"


@click.command()
@click.argument("node", metavar="NODE")
@click.option("--undo", is_flag=True, help="Let the node plan and work again.")
@click.option("--no-wait", is_flag=True, help="Only ask for it.")
@click.option("--timeout", metavar="DURATION", help="Wait for so long at most, such as 10m.")
@changes_store
@json_option
@click.pass_context
def drain(
    context: click.Context,
    node: str,
    undo: bool,
    no_wait: bool,
    timeout: str | None,
    place: Place,
    as_json: bool,
) -> None:
    """Have a node plan nothing and start nothing more, and wait until it is idle.

    NODE is the id of a node as `fencepost status` shows it, or enough of its beginning. Its shards go to
    other nodes at once, and what it runs is let finish. Then its process can be stopped without anybody
    waiting for a lease or a run. Ctrl-C ends the waiting, not the drain. A process that is started anew is a
    new node, and not drained. Exit 1 where there is no such live node, where the time was not enough, and
    where somebody took the node back meanwhile.

    \b
    Example:
      fencepost drain web-3 --reason "new kernel"
      fencepost drain web-3-4711 --no-wait
      fencepost drain web-3 --undo
    """
    timeout_s = _timeout_s(timeout, undo or no_wait)
    with calling(place) as caller:
        request = _asked(caller, node, undo)
        if request is None:
            _print_absent(node, as_json)
            context.exit(NO)
        for verb in request.undone:
            click.echo(f"warning: no other node {verb}", err=True)
        if undo or no_wait:
            _print_asked(request, undo, as_json)
            return
        watch = _watched(context, caller, request.node, timeout_s)
    _print_watched(watch, request.changed, timeout, as_json)
    context.exit(_code(watch))


def _timeout_s(timeout: str | None, never_waits: bool) -> float | None:
    if timeout is None:
        return None
    if never_waits:
        raise UsageError("--timeout: has no meaning with --no-wait or --undo")
    return read_duration("--timeout", timeout).total_seconds()


def _asked(caller: Caller, name: str, undo: bool) -> DrainResponse | None:
    """None where no such node is alive."""
    found = find_node(caller, name)
    if found is None:
        return None
    return caller.call(undrain_node if undo else drain_node, ChangeNodeRequest(node_id=found.node_id))


def _watched(context: click.Context, caller: Caller, node: FleetNode, timeout_s: float | None) -> Watch:
    try:
        return watch_drain(caller, node, timeout_s)
    except KeyboardInterrupt:
        click.echo(f"\nit goes on draining by itself; {_undo(node.node_id)}", err=True)
        context.exit(INTERRUPTED)


def _undo(node_id: str) -> str:
    return f"take it back with: fencepost drain {node_id} --undo"


def _code(watch: Watch) -> int:
    return FINE if watch.state in (DrainState.DRAINED, DrainState.LEFT) else NO


def _print_absent(name: str, as_json: bool) -> None:
    click.echo(cell(f"node {name}: no live node is called so; see: fencepost status"), err=True)
    if as_json:
        print_json(_shape(None, False, ABSENT))


def _print_asked(request: DrainResponse, undo: bool, as_json: bool) -> None:
    node, node_id = request.node, request.node.node_id
    if as_json:
        print_json(_shape(node, request.changed, "draining" if node.draining else "up"))
    elif undo:
        click.echo(f"{node_id}: plans and works again" if request.changed else f"{node_id}: was not draining")
    else:
        click.echo(f"{node_id}: draining, {load_words(node)}; {_undo(node_id)}")


def _print_watched(watch: Watch, changed: bool, timeout: str | None, as_json: bool) -> None:
    if as_json:
        gone = {"leads": 0, "running": 0} if watch.has_left else {}
        print_json(_shape(watch.record, changed, str(watch.state)) | gone)
    else:
        click.echo(f"{watch.record.node_id}: {_ending(watch, timeout)}")


def _ending(watch: Watch, timeout: str | None) -> str:
    undo = _undo(watch.record.node_id)
    match watch.state:
        case DrainState.DRAINED:
            return f"drained, it leads and runs nothing; stop it, or {undo}"
        case DrainState.LEFT:
            return "is not alive any more"
        case DrainState.UP:
            return "was taken back meanwhile"
        case DrainState.DRAINING:
            return f"not drained within {timeout}: {load_words(watch.record)}; it goes on, or {undo}"


def _shape(node: FleetNode | None, changed: bool, state: str) -> dict[str, Any]:
    return {
        "node_id": None if node is None else node.node_id,
        "changed": changed,
        "state": state,
        "leads": 0 if node is None else node.leads,
        "running": 0 if node is None else node.running,
    }
