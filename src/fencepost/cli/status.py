"""`fencepost status`: the state of the house."""

from __future__ import annotations

import click

from fencepost.cli.calling import calling, whole
from fencepost.cli.fleet_views import print_alarms, print_nodes, print_shards, print_trouble
from fencepost.cli.options import Place, asks_stores, json_option
from fencepost.cli.output import cell, print_json, shown_span
from fencepost.operations.fleet import ListNodesRequest, list_nodes
from fencepost.operations.responses.status import CompletenessResponse, QueueDepthResponse, StatusResponse
from fencepost.operations.status import StatusRequest, show_status


@click.command()
@asks_stores
@json_option
def status(place: Place, as_json: bool) -> None:
    """Show the fleet, the queue, how the ticks of the last day stand, and what needs a person.

    A shard comes with who leads it under which epoch, how long the TERM of its lease is, when it was last
    RENEWED, in how long it EXPIRES by the lease store and stops being TRUSTED by its leader, how long that
    one has LED it, how many CHANGES of leader there were, and how many of its renewals FAILED. Shards that
    stand alike share a line, with the least of their times, and the longest since a renewal. Nodes come with
    what they lead and run, and their clocks' skew, marked with ! where it is too large. Give --leases as the
    nodes have it; where the lease store does not answer, the rest is shown all the same.

    \b
    Example:
      fencepost status --store sqlite:///fencepost.db
      fencepost status --leases etcd://etcd-1:2379 --json
    """
    with calling(place) as caller:
        found = caller.call(show_status, StatusRequest())
        print_trouble(found.leases.trouble)
        if as_json:
            print_json(found)
            return
        nodes = whole(caller, list_nodes, ListNodesRequest)
    print_shards(found.shards, nodes.at)
    click.echo()
    print_nodes(nodes.items)
    click.echo()
    _print_queue(found.queue, found.completeness)
    print_alarms(found.alarms)
    _print_attention(found)


def _print_queue(queue: QueueDepthResponse, completeness: CompletenessResponse) -> None:
    counts = [f"{queue.ready} ready{_oldest(queue.oldest_ready_s)}"]
    if queue.waiting:
        counts.append(f"{queue.waiting} waiting for limits{_oldest(queue.oldest_waiting_s)}")
    click.echo(f"queue: {', '.join(counts)}, {queue.running} running")
    counts = [f"{count} {state}" for state, count in completeness.states.items() if count]
    ran = f"{completeness.succeeded} of {completeness.expected} ran ({completeness.complete:.2%})"
    ended = f"{completeness.accounted:.2%} of {completeness.due} due ended"
    click.echo(f"last 24h: {ran}; {ended} ({', '.join(counts) or 'none'})")


def _oldest(age_s: float | None) -> str:
    oldest = shown_span(age_s)
    return f", the oldest for {oldest}" if oldest else ""


def _print_attention(found: StatusResponse) -> None:
    """What nobody but a person can go on with, and the command that shows it."""
    for one in found.unserved:
        click.echo(cell(f"schedule {one.schedule_id}: no running process has job {one.job}"))
    for freeze in found.freezes:
        why = f": {freeze.reason}" if freeze.reason else ""
        click.echo(cell(f"frozen: {freeze.scope}, since {freeze.since} by {freeze.author}{why}"))
    for gate in found.gates:
        click.echo(cell(f"gate closed: {gate.schedule_id}, {gate.held} held: {gate.reason}"))
    attention = found.attention
    for name, number, command in (
        ("dead", attention.dead, "dead list"),
        ("held", attention.held, "runs list --held"),
    ):
        if number:
            more = " or more" if number >= attention.counted_max else ""
            click.echo(f"{name}: {number}{more} runs; see: fencepost {command}")
