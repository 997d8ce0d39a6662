"""`fencepost status`: the state of the house."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.options import Place, ask, in_store, json_option
from fencepost.cli.output import cell, print_json, print_table, shown_span

if TYPE_CHECKING:
    from fencepost.services.control import Control


@click.command()
@in_store
@json_option
def status(place: Place, as_json: bool) -> None:
    """Show the fleet, the queue, how the ticks of the last day stand, and what needs a person.

    Shards come with holder and epoch, nodes and workers with their clocks' skew.

    \b
    Example:
      fencepost status --store sqlite:///fencepost.db
    """
    found = ask(place, _status)
    if as_json:
        print_json(found)
        return
    _print_shards(found["shards"])
    click.echo()
    _print_processes(found["nodes"], found["workers"])
    click.echo()
    _print_queue(found["queue"], found["completeness"])
    _print_attention(found)


async def _status(control: Control) -> dict[str, Any]:
    from fencepost.cli.shapes import status_json

    return status_json(await control.status(), control.store.shards)


def _print_shards(shards: list[dict[str, Any]]) -> None:
    print_table(
        ("SHARD", "HOLDER", "EPOCH", "EXPIRES IN"),
        [
            (one["shard"], one["holder"], one["epoch"], one["holder"] and shown_span(one["expires_in_s"]))
            for one in shards
        ],
    )


def _print_processes(nodes: list[dict[str, Any]], workers: list[dict[str, Any]]) -> None:
    if not nodes and not workers:
        click.echo("no process is alive; start one with: fencepost run TARGET")
        return
    working = {one["node_id"]: one for one in workers}
    planning = {one["node_id"] for one in nodes}
    everyone = {one["node_id"]: one for one in (*nodes, *workers)}
    print_table(
        ("NODE", "PLANS", "WORKS", "QUEUES", "CONCURRENCY", "SKEW"),
        [
            (
                node_id,
                "yes" if node_id in planning else "no",
                "yes" if node_id in working else "no",
                ",".join(working[node_id]["queues"]) if node_id in working else None,
                working[node_id]["concurrency"] if node_id in working else None,
                f"{one['skew_s'] * 1000:+.0f}ms",
            )
            for node_id, one in everyone.items()
        ],
    )


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
