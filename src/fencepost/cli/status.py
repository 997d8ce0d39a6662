"""`fencepost status`: the state of the house."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.options import Place, ask, in_stores, json_option
from fencepost.cli.output import cell, print_json, shown_span

if TYPE_CHECKING:
    from fencepost.services.control import Status


@click.command()
@in_stores
@json_option
def status(place: Place, as_json: bool) -> None:
    """Show the fleet, the queue, how the ticks of the last day stand, and what needs a person.

    A shard comes with who leads it under which epoch, in how long its lease EXPIRES by the lease store and
    stops being TRUSTED by its leader, how long that one has LED it, how many CHANGES of leader there were,
    and how many of its renewals FAILED. Nodes come with what they lead and run, and their clocks' skew,
    marked with ! where it is too large. Give --leases as the nodes have it; where the lease store does not
    answer, the rest is shown all the same.

    \b
    Example:
      fencepost status --store sqlite:///fencepost.db
      fencepost status --leases etcd://etcd-1:2379 --json
    """
    settings = place.settings()
    found = ask(place, lambda control: control.status(settings.skew_warning_s))
    from fencepost.cli.fleet_views import print_trouble
    from fencepost.cli.leases import shown_leases
    from fencepost.cli.shapes import status_json

    print_trouble(found.fleet)
    shape = status_json(found, shown_leases(settings))
    if as_json:
        print_json(shape)
    else:
        _print(found, shape)


def _print(found: Status, shape: dict[str, Any]) -> None:
    from fencepost.cli.fleet_views import print_alarms, print_fleet

    print_fleet(found.fleet)
    click.echo()
    _print_queue(shape["queue"], shape["completeness"])
    print_alarms(found.fleet)
    _print_attention(shape)


def _print_queue(queue: dict[str, Any], completeness: dict[str, Any]) -> None:
    oldest = shown_span(queue["oldest_ready_s"])
    waiting = f", the oldest for {oldest}" if oldest else ""
    click.echo(f"queue: {queue['ready']} ready{waiting}, {queue['running']} running")
    counts = [f"{count} {state}" for state, count in completeness["states"].items() if count]
    share = f"{completeness['accounted']:.2%}"
    click.echo(f"last 24h: {completeness['due']} due, {share} ended ({', '.join(counts) or 'none'})")


def _print_attention(found: dict[str, Any]) -> None:
    """What nobody but a person can go on with, and the command that shows it."""
    for one in found["freezes"]:
        what = "everything" if one["kind"] == "all" else f"{one['kind']} {one['value']}"
        why = f": {one['reason']}" if one["reason"] else ""
        click.echo(cell(f"frozen: {what}, since {one['since']} by {one['author']}{why}"))
    for one in found["gates"]:
        click.echo(cell(f"gate closed: {one['schedule_id']}, {one['held']} held: {one['reason']}"))
    attention = found["attention"]
    for name, command in (("dead", "dead list"), ("held", "runs list --held")):
        if attention[name]:
            more = " or more" if attention[name] >= attention["counted_max"] else ""
            click.echo(f"{name}: {attention[name]}{more} runs; see: fencepost {command}")
