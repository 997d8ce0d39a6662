"""Examples of the fleet, its leases, and who may come in."""

from __future__ import annotations

from typing import Any

from fencepost.operations.desk_examples import FREEZE, GATE, Example

AT = "2026-03-01T00:00:00Z"
SHARD: dict[str, Any] = {
    "shard": 0,
    "holder": "web-3-4711-a1b2",
    "epoch": 7,
    "expires_in_s": 8.2,
    "since": "2026-02-27T09:00:00Z",
    "transitions": 3,
    "renewals_failed": 0,
    "trusted_for_s": 7.1,
    "lineage": "store",
    "renewed_at": "2026-03-01T00:00:00Z",
    "ttl_s": 10.0,
}
NODE: dict[str, Any] = {
    "node_id": "web-3-4711-a1b2",
    "host": "web-3",
    "pid": 4711,
    "started_at": "2026-02-27T09:00:00Z",
    "alive_for_s": 9.0,
    "skew_s": 0.012,
    "draining": False,
    "leads": 8,
    "running": 2,
    "broker": {"name": "rabbitmq", "away_s": 0.0, "waiting": 12},
}
WORKER: dict[str, Any] = {**NODE, "queues": ["default", "mail"], "concurrency": 10}
FLEET_NODE: dict[str, Any] = {
    **WORKER,
    "plans": True,
    "works": True,
    "stall_s": 0.2,
    "skewed": False,
    "reported_at": AT,
}
TERM: dict[str, Any] = {
    "number": 41,
    "shard": 0,
    "epoch": 7,
    "holder": "web-3-4711-a1b2",
    "lineage": "store",
    "since": "2026-02-27T09:00:00Z",
    "until": None,
}
REFUSAL: dict[str, Any] = {
    "number": 2,
    "at": "2026-02-27T09:00:04Z",
    "shard": 0,
    "epoch": 6,
    "holder": "web-2-1200-c3d4",
    "known_epoch": 7,
    "known_holder": "web-3-4711-a1b2",
}
TOKEN: dict[str, Any] = {
    "token_id": "t3f9c2a1b8d7e6f50",
    "name": "ci",
    "role": "operator",
    "namespace": "default",
    "state": "good",
    "created_at": AT,
    "created_by": "anna",
    "expires_at": "2026-05-30T00:00:00Z",
    "last_used_at": None,
    "revoked_at": None,
    "rotated_from": None,
}
SESSION: dict[str, Any] = {
    "session_id": "s3f9c2a1b8d7e6f50",
    "name": "anna",
    "role": "admin",
    "namespace": "*",
    "created_at": AT,
    "expires_at": "2026-03-01T12:00:00Z",
    "last_used_at": "2026-03-01T00:05:00Z",
    "opened_with": "l3f9c2a1b8d7e6f50",
    "ended_at": None,
}
LINK: dict[str, Any] = {
    "link_id": "l3f9c2a1b8d7e6f50",
    "link": "fp_l3f9c2a1b8d7e6f50_…",
    "name": "anna",
    "role": "viewer",
    "namespace": "default",
    "expires_at": "2026-03-01T00:10:00Z",
}
STATUS: dict[str, Any] = {
    "shards": [SHARD],
    "nodes": [NODE],
    "workers": [WORKER],
    "queue": {"ready": 12, "running": 4, "oldest_ready_s": 1.5, "waiting": 0, "oldest_waiting_s": None},
    "completeness": {
        "window_s": 86_400.0,
        "states": {"ready": 12, "running": 4, "succeeded": 984},
        "due": 1_000,
        "ended": 984,
        "accounted": 0.984,
        "expected": 1_000,
        "succeeded": 984,
        "complete": 0.984,
    },
    "freezes": [FREEZE],
    "gates": [GATE],
    "attention": {"dead": 1, "held": 120, "counted_max": 1_000},
    "unserved": [{"schedule_id": "old-report", "job": "old_report"}],
    "alarms": [
        {
            "kind": "cut_off",
            "text": "the lease store does not answer web-2-1200-c3d4; they lead nothing until it does",
            "shards": [],
            "nodes": ["web-2-1200-c3d4"],
        }
    ],
    "leases": {"url": None, "trouble": None},
}


def fleet_examples() -> dict[str, Example]:
    """By the operations' names."""
    drained = {"node": {**FLEET_NODE, "draining": True}, "changed": True, "undone": []}
    return {
        "status.show": (None, STATUS),
        "nodes.list": (None, {"items": [FLEET_NODE], "next": None, "at": AT}),
        "nodes.drain": ({"reason": "new kernel"}, drained),
        "nodes.undrain": ({}, {"node": FLEET_NODE, "changed": True, "undone": []}),
        "shards.reshard": (
            {"shards": 32, "reason": "twelve planners"},
            {"before": 8, "after": 32, "moved": 75, "changed": True},
        ),
        "leases.list": (None, {"items": [SHARD], "next": None, "at": AT, "url": None, "trouble": None}),
        "leases.terms": (None, {"items": [TERM], "next": None}),
        "leases.refusals": (None, {"items": [REFUSAL], "next": None}),
    }


def access_examples() -> dict[str, Example]:
    """By the operations' names. What is secret is cut short."""
    made = {"token": "fp_t3f9c2a1b8d7e6f50_…", **TOKEN}
    return {
        "whoami.show": (
            None,
            {
                "name": "ci",
                "role": "operator",
                "namespace": "default",
                "came": "token",
                "credential_id": "t3f9c2a1b8d7e6f50",
            },
        ),
        "tokens.list": (None, {"items": [TOKEN], "next": None}),
        "tokens.create": ({"name": "ci", "role": "operator", "lasts_s": 7_776_000.0}, made),
        "tokens.rotate": ({"overlap_s": 3_600.0}, {**made, "rotated_from": "t0a1b2c3d4e5f6071"}),
        "tokens.revoke": (None, {**TOKEN, "state": "revoked", "revoked_at": "2026-03-02T00:00:00Z"}),
        "links.open": ({"role": "viewer"}, LINK),
        "sessions.list": (None, {"items": [SESSION], "next": None}),
        "sessions.end": (None, {**SESSION, "ended_at": "2026-03-01T00:06:00Z"}),
    }
