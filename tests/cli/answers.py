"""What servers that play a part in tests answer: a cancelled run, a new token, an empty list."""

from __future__ import annotations

from typing import Any

RUN = {
    "run_key": "invoices#2026-03-01T00:00:00Z#3",
    "schedule_id": "invoices",
    "job": "send_invoices",
    "fire_time": "2026-03-01T00:00:00Z",
    "version": 3,
    "state": "cancelled",
    "reason": "wrong month",
    "attempt": 1,
    "fence": 42,
    "epoch": 7,
    "run_at": "2026-03-01T00:00:00Z",
    "started_at": None,
    "finished_at": "2026-03-01T00:00:01.730000Z",
    "worker": None,
    "error": None,
    "queue": "default",
    "priority": 2,
    "payload": {"region": "eu"},
    "progress": None,
    "note": None,
    "progress_at": None,
    "origin": "live",
    "held": [],
    "blocked_by": None,
    "first_started_at": None,
    "late_s": 0.012,
    "created_at": "2026-02-28T23:59:00Z",
    "updated_at": "2026-03-01T00:00:01.730000Z",
    "backfill_id": None,
    "expires_at": None,
}
TOKEN = {
    "token": "fp_t3f9c2a1b8d7e6f50_x",
    "token_id": "t3f9c2a1b8d7e6f50",
    "name": "ci",
    "role": "operator",
    "namespace": "default",
    "state": "good",
    "created_at": "2026-03-01T00:00:00Z",
    "created_by": "anna",
    "expires_at": "2026-05-30T00:00:00Z",
    "last_used_at": None,
    "revoked_at": None,
    "rotated_from": None,
}
LIST: dict[str, Any] = {"items": [], "next": None}
ANSWERS: dict[str, dict[str, Any]] = {"runs.cancel": RUN, "tokens.create": TOKEN, "schedules.list": LIST}
