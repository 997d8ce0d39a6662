"""The JSON of the fleet: shards, nodes, alarms. The names in it are promises."""

from __future__ import annotations

from typing import Any

from fencepost.cli.desk_shapes import moment
from fencepost.core.fleet import Alarm, ShardView
from fencepost.model.node import NodeRecord
from fencepost.services.fleet import FleetView


def fleet_json(fleet: FleetView) -> dict[str, Any]:
    """Who leads, plans and works; every shard has an entry, also one that nobody has led yet."""
    return {
        "shards": [shard_json(one) for one in fleet.shards],
        "nodes": [node_json(one) for one in fleet.nodes if one.node.plans],
        "workers": [worker_json(one) for one in fleet.nodes if one.node.works],
    }


def shard_json(view: ShardView) -> dict[str, Any]:
    """A shard; null is what nobody could say."""
    return {
        "shard": view.shard,
        "holder": view.holder,
        "epoch": view.epoch,
        "expires_in_s": view.expires_in_s,
        "since": moment(view.since),
        "transitions": view.transitions,
        "renewals_failed": view.renewals_failed,
        "trusted_for_s": view.trusted_for_s,
        "lineage": view.lineage,
    }


def node_json(record: NodeRecord) -> dict[str, Any]:
    """A live node; `leads` is how many shards, `running` how many runs, as it said last."""
    return {
        "node_id": record.node.node_id,
        "host": record.node.host,
        "pid": record.node.pid,
        "started_at": moment(record.started_at),
        "alive_for_s": record.alive_for_s,
        "skew_s": record.skew_s,
        "draining": record.draining,
        "leads": len(record.report.leads),
        "running": record.report.running,
    }


def worker_json(record: NodeRecord) -> dict[str, Any]:
    """A live node that works."""
    node = record.node
    return {**node_json(record), "queues": list(node.queues), "concurrency": node.concurrency}


def alarm_json(alarm: Alarm) -> dict[str, Any]:
    """What a person should look at, with the mend, and what it is about."""
    return {
        "kind": str(alarm.kind),
        "text": alarm.text,
        "shards": list(alarm.shards),
        "nodes": list(alarm.nodes),
    }
