"""The fleet in tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from fencepost.cli.output import cell, print_table, shown_span
from fencepost.core.fleet import shard_numbers, shown_shards
from fencepost.model.identifiers import Shard
from fencepost.model.lease import OWN_LINEAGE
from fencepost.model.times import from_utc_text
from fencepost.operations.responses.fleet import AlarmResponse, FleetNode, ShardResponse

UNKNOWN = "unknown"


def print_shards(shards: Sequence[ShardResponse], at: str) -> None:
    """Shards, as of a moment, and where the leases live. Those that stand alike share a line, which has the
    least of their times, and the longest since a renewal."""
    print_table(
        ("SHARD", "HOLDER", "EPOCH", "TERM", "RENEWED", "EXPIRES", "TRUSTED", "LED FOR", "CHANGES", "FAILED"),
        [_shard_row(alike, at) for alike in _alike(shards)],
    )
    _print_lineages(shards)


def print_nodes(nodes: Sequence[FleetNode]) -> None:
    """One line a node."""
    if not nodes:
        click.echo("no process is alive; start one with: fencepost run TARGET")
        return
    print_table(
        ("NODE", "DOES", "LEADS", "RUNNING", "QUEUES", "SKEW", "STATE"),
        [_node_row(one) for one in nodes],
    )


def print_trouble(trouble: str | None) -> None:
    """Why something is unknown, beside the answer."""
    if trouble is not None:
        click.echo(cell(f"warning: {trouble}"), err=True)


def print_alarms(alarms: Sequence[AlarmResponse]) -> None:
    """One line an alarm."""
    for one in alarms:
        click.echo(cell(f"alarm: {one.text}"))


def _alike(shards: Sequence[ShardResponse]) -> list[list[ShardResponse]]:
    """Shards that differ in nothing but their number and their times."""
    found: dict[object, list[ShardResponse]] = {}
    for one in shards:
        known = [value is None for value in (one.expires_in_s, one.trusted_for_s, one.renewed_at, one.since)]
        stands = (one.holder, one.epoch, one.transitions, one.renewals_failed, one.lineage, one.ttl_s, *known)
        found.setdefault(stands, []).append(one)
    return list(found.values())


def _shard_row(alike: Sequence[ShardResponse], at: str) -> Sequence[object]:
    one = alike[0]
    renewed = max((_since_s(view.renewed_at, at) or 0.0 for view in alike), default=0.0)
    expires = _least(view.expires_in_s for view in alike)
    return (
        shard_numbers(Shard(view.shard) for view in alike),
        one.holder,
        one.epoch,
        shown_span(one.ttl_s),
        None if one.renewed_at is None else f"{shown_span(renewed)} ago",
        UNKNOWN if expires is None else one.holder and shown_span(expires),
        shown_span(_least(view.trusted_for_s for view in alike)),
        shown_span(_least(_since_s(view.since, at) for view in alike)),
        one.transitions,
        one.renewals_failed,
    )


def _least(spans_s: Iterable[float | None]) -> float | None:
    return min((one for one in spans_s if one is not None), default=None)


def _since_s(moment: str | None, at: str) -> float | None:
    if moment is None:
        return None
    return (from_utc_text(at) - from_utc_text(moment)).total_seconds()


def _print_lineages(shards: Sequence[ShardResponse]) -> None:
    """Where the leases of the present leaders come from; where there are several, of which shards."""
    found: dict[str, list[Shard]] = {}
    for one in shards:
        if one.holder is not None and one.lineage is not None:
            found.setdefault(one.lineage, []).append(Shard(one.shard))
    for lineage, led in found.items():
        of_which = f" ({shown_shards(led)})" if len(found) > 1 else ""
        click.echo(cell(f"leases: {'in the store' if lineage == OWN_LINEAGE else lineage}{of_which}"))


def _node_row(node: FleetNode) -> Sequence[object]:
    does = [name for name, so in (("plans", node.plans), ("works", node.works)) if so]
    mark = " !" if node.skewed else ""
    return (
        node.node_id,
        "+".join(does),
        node.leads if node.plans else None,
        f"{node.running}/{node.concurrency}" if node.works else None,
        ",".join(node.queues),
        f"{round(node.skew_s * 1000):+d}ms{mark}",
        _condition(node),
    )


def _condition(node: FleetNode) -> str:
    said = "draining" if node.draining else "up"
    broker = node.broker
    if broker is None:
        return said
    return f"{said}, {broker.name} away {broker.away_s:.0f}s !" if broker.away_s else f"{said}, {broker.name}"
