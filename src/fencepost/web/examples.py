"""Examples of calls that are the web's own: what is sent, and what is answered. The others are beside their
operations."""

from __future__ import annotations

from typing import Any

from fencepost.operations.examples import EXAMPLES as OF_OPERATIONS

CLAIMED = {
    "run_key": "resize#7",
    "job": "resize",
    "attempt": 1,
    "fence": 42,
    "epoch": 0,
    "schedule_id": None,
    "fire_time": "2026-03-01T00:00:00Z",
    "version": 0,
    "payload": {"image_id": 7},
    "previous": None,
    "after": [],
    "started_at": "2026-03-01T00:00:00.012Z",
    "timeout_s": 600.0,
    "heartbeat_every_s": 5.0,
    "alive_for_s": 30.0,
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
}
EXAMPLES: dict[str, tuple[dict[str, Any] | None, dict[str, Any]]] = {
    **OF_OPERATIONS,
    "worker.claim": (
        {"worker": "w1-5f0c9a", "jobs": ["resize"], "limit": 10, "wait_s": 20, "known": [41]},
        {"claims": [CLAIMED]},
    ),
    "worker.heartbeat": (
        {"attempt": 1, "fence": 42, "progress": 0.4, "note": "page 4 of 10"},
        {"cancel_requested": False, "alive_for_s": 30.0},
    ),
    "worker.complete": ({"attempt": 1, "fence": 42, "result": {"width": 800}}, {"receipt": "accepted"}),
    "worker.fail": (
        {"attempt": 1, "fence": 42, "error": "Busy: no GPU was free", "retry_after_s": 60},
        {"receipt": "accepted"},
    ),
}


def _health(summary: str, prose: str, word: str) -> dict[str, Any]:
    schema = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}
    content = {"application/json": {"schema": schema, "example": {"status": word}}}
    return {
        "get": {
            "operationId": f"health.{word}",
            "tags": ["health"],
            "summary": summary,
            "description": prose,
            "security": [],
            "responses": {"200": {"description": "One word.", "content": content}},
        }
    }


HEALTH_PATHS: dict[str, dict[str, Any]] = {
    "/healthz": _health("Whether the process lives", "Always `ok`; the store is not asked.", "ok"),
    "/readyz": _health(
        "Whether the process can serve",
        "`ready` where the store answers and the process is not about to stop, a 503 else.",
        "ready",
    ),
}
