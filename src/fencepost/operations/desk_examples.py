"""Examples of what operators do: queues, freezes, gates, backfills."""

from __future__ import annotations

from typing import Any

Example = tuple[dict[str, Any] | None, dict[str, Any]]

QUEUE: dict[str, Any] = {
    "queue": "mail",
    "ready": 12,
    "waiting": 3,
    "running": 4,
    "oldest_s": 1.5,
    "workers": 2,
    "paused": True,
    "paused_since": "2026-03-01T00:00:00Z",
    "paused_by": "anna",
    "reason": "the relay is down",
    "weight": 3,
}
FREEZE: dict[str, Any] = {
    "kind": "label",
    "value": "team=billing",
    "since": "2026-03-01T00:00:00Z",
    "author": "anna",
    "source": "cli on web-3",
    "reason": "the bank is down",
}
GATE: dict[str, Any] = {
    "schedule_id": "invoices",
    "closed_at": "2026-03-01T00:00:00Z",
    "reason": "120 late ticks wait, more than 100",
    "held": 120,
    "oldest": "2026-02-28T22:00:00Z",
    "newest": "2026-02-28T23:59:00Z",
    "run_s": 60.0,
    "load_s": 7200.0,
    "at_once": 4,
    "lasts_s": 1800.0,
}
TARGET: dict[str, Any] = {
    "name": "ops",
    "kind": "webhook",
    "to": "https://hooks.example.org/…",
    "events": ["dead", "missed"],
    "jobs": ["invoices*"],
    "schedules": [],
    "signed": True,
    "from_code": False,
}
RANGE: dict[str, Any] = {
    "schedule_id": "invoices",
    "since": "2026-02-28T23:59:59.999999Z",
    "until": "2026-03-08T00:00:00Z",
    "mode": "missing",
    "at_once_max": 4,
    "every_s": 6.0,
}
BACKFILL: dict[str, Any] = {
    "backfill_id": 3,
    **RANGE,
    "state": "filled",
    "filled_through": "2026-03-08T00:00:00Z",
    "created_at": "2026-03-09T08:00:00Z",
    "over": False,
    "runs": {"ready": 2, "running": 1, "succeeded": 4},
}
ESTIMATE: dict[str, Any] = {
    **RANGE,
    "fire_times": 8,
    "accounted": 1,
    "states": {"missing": 7, "succeeded": 1},
    "to_run": 7,
    "forgotten_before": None,
    "run_s": 60.0,
    "duration_s": 120.0,
    "warnings": [],
}
ASKED: dict[str, Any] = {
    "schedule_id": "invoices",
    "since": "2026-03-01T00:00:00Z",
    "until": "2026-03-08T00:00:00Z",
    "at_once_max": 4,
    "every_s": 6.0,
}


def desk_examples() -> dict[str, Example]:
    """By the operations' names."""
    frozen = {"kind": "label", "value": "team=billing", "changed": True, "schedules": 7}
    reason = {"reason": "the bank is down"}
    return {
        "notify.list": (None, {"items": [TARGET], "next": None}),
        "notify.put": (
            {
                "kind": "webhook",
                "url": "https://hooks.example.org/fencepost",
                "secret": "secret:hooks",
                "events": ["dead", "missed"],
                "jobs": ["invoices*"],
            },
            TARGET,
        ),
        "notify.remove": (None, {"name": "ops", "removed": True}),
        "notify.test": (
            {},
            {"name": "ops", "run_key": "fencepost.notify#ops:test:0198c0a4-5d2e-7000-8000-2f1c6a1b9e10"},
        ),
        "queues.list": (None, {"items": [QUEUE], "next": None}),
        "queues.pause": (
            {"reason": "the relay is down"},
            {"queue": "mail", "paused": True, "changed": True},
        ),
        "queues.resume": ({}, {"queue": "mail", "paused": False, "changed": True}),
        "freezes.list": (None, {"items": [FREEZE], "next": None}),
        "freezes.freeze": ({"kind": "label", "value": "team=billing", **reason}, frozen),
        "freezes.thaw": ({"kind": "label", "value": "team=billing"}, frozen),
        "gates.list": (None, {"items": [GATE], "next": None}),
        "gates.open": ({}, {"schedule_id": "invoices", "decision": "open", "released": 120}),
        "gates.latest": ({}, {"schedule_id": "invoices", "decision": "latest", "released": 1}),
        "gates.drop": (
            {"reason": "nobody reads last week's"},
            {"schedule_id": "invoices", "decision": "drop", "released": 0},
        ),
        "backfills.estimate": (ASKED, ESTIMATE),
        "backfills.start": (
            {**ASKED, "reason": "the mail server was down"},
            {**BACKFILL, "state": "active", "filled_through": RANGE["since"], "runs": {}},
        ),
        "backfills.list": (None, {"items": [BACKFILL], "next": None}),
        "backfills.show": (None, BACKFILL),
        "backfills.fill": ({}, BACKFILL),
        "backfills.cancel": ({"reason": "the wrong week"}, {**BACKFILL, "state": "cancelled"}),
    }
