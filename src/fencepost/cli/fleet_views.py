"""The fleet in tables for people."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fencepost.cli.output import cell, print_table, shown_span
from fencepost.core.fleet import ShardView, is_skewed, shown_shards
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Lineage, Shard
from fencepost.model.lease import OWN_LINEAGE
from fencepost.model.node import NodeRecord
from fencepost.services.fleet import FleetView

UNKNOWN = "unknown"


def print_fleet(fleet: FleetView) -> None:
    """Shards, where their leases live, and nodes."""
    print_table(
        ("SHARD", "HOLDER", "EPOCH", "EXPIRES", "TRUSTED", "LED FOR", "CHANGES", "FAILED"),
        [_shard_row(one, fleet.at) for one in fleet.shards],
    )
    _print_lineages(fleet.shards)
    click.echo()
    _print_nodes(fleet.nodes, fleet.skew_warning_s)


def print_trouble(fleet: FleetView) -> None:
    """Why something is unknown, beside the answer."""
    if fleet.trouble is not None:
        click.echo(cell(f"warning: {fleet.trouble}"), err=True)


def print_alarms(fleet: FleetView) -> None:
    """One line an alarm."""
    for one in fleet.alarms:
        click.echo(cell(f"alarm: {one.text}"))


def _shard_row(view: ShardView, now: StoreTime) -> Sequence[object]:
    led_for_s = None if view.since is None else (now - view.since).total_seconds()
    expires = UNKNOWN if view.expires_in_s is None else view.holder and shown_span(view.expires_in_s)
    return (
        view.shard,
        view.holder,
        view.epoch,
        expires,
        shown_span(view.trusted_for_s),
        shown_span(led_for_s),
        view.transitions,
        view.renewals_failed,
    )


def _print_lineages(shards: Sequence[ShardView]) -> None:
    """Where the leases of the present leaders come from; where there are several, of which shards."""
    found: dict[Lineage, list[Shard]] = {}
    for one in shards:
        if one.holder is not None and one.lineage is not None:
            found.setdefault(one.lineage, []).append(one.shard)
    for lineage, led in found.items():
        of_which = f" ({shown_shards(led)})" if len(found) > 1 else ""
        click.echo(cell(f"leases: {'in the store' if lineage == OWN_LINEAGE else lineage}{of_which}"))


def _print_nodes(nodes: Sequence[NodeRecord], skew_warning_s: float) -> None:
    if not nodes:
        click.echo("no process is alive; start one with: fencepost run TARGET")
        return
    print_table(
        ("NODE", "DOES", "LEADS", "RUNNING", "QUEUES", "SKEW", "STATE"),
        [_node_row(one, skew_warning_s) for one in nodes],
    )


def _node_row(record: NodeRecord, skew_warning_s: float) -> Sequence[object]:
    node, report = record.node, record.report
    does = [name for name, so in (("plans", node.plans), ("works", node.works)) if so]
    mark = " !" if is_skewed(record, skew_warning_s) else ""
    return (
        node.node_id,
        "+".join(does),
        len(report.leads) if node.plans else None,
        f"{report.running}/{node.concurrency}" if node.works else None,
        ",".join(node.queues),
        f"{round(record.skew_s * 1000):+d}ms{mark}",
        "draining" if record.draining else "up",
    )
