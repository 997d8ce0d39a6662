"""One example of each operation: the body that is sent, where there is one, and what is answered."""

from __future__ import annotations

from typing import Any

from fencepost.operations.account_examples import account_examples
from fencepost.operations.desk_examples import desk_examples
from fencepost.operations.fleet_examples import access_examples, fleet_examples
from fencepost.operations.schedule_examples import calendar_examples, expression_examples, schedule_examples

Example = tuple[dict[str, Any] | None, dict[str, Any]]

RUN: dict[str, Any] = {
    "run_key": "invoices#2026-03-01T00:00:00Z#3",
    "schedule_id": "invoices",
    "job": "send_invoices",
    "fire_time": "2026-03-01T00:00:00Z",
    "version": 3,
    "state": "succeeded",
    "reason": None,
    "attempt": 1,
    "fence": 42,
    "epoch": 7,
    "run_at": "2026-03-01T00:00:00Z",
    "started_at": "2026-03-01T00:00:00.012000Z",
    "finished_at": "2026-03-01T00:00:01.730000Z",
    "worker": "web-3-4711",
    "error": None,
    "queue": "default",
    "priority": 2,
    "payload": {"region": "eu"},
    "progress": None,
    "note": None,
    "progress_at": None,
    "origin": "live",
    "held": [],
    "met": None,
    "begun_at": "2026-03-01T00:00:00.012000Z",
    "late_s": 0.012,
    "created_at": "2026-02-28T23:59:00Z",
    "updated_at": "2026-03-01T00:00:01.730000Z",
    "backfill_id": None,
    "expires_at": None,
}
ATTEMPT: dict[str, Any] = {
    "attempt": 1,
    "fence": 41,
    "worker": "web-3-4711",
    "started_at": "2026-03-01T00:00:00.012000Z",
    "finished_at": "2026-03-01T00:00:00.350000Z",
    "outcome": "failed",
    "error": "ConnectionError: connection refused",
    "detail": None,
    "output": None,
}
EFFECT: dict[str, Any] = {
    "attempt": 2,
    "effect": "invoice 4711, 99.00 EUR",
    "digest": "a9fc262e1b9c30b3105bf4455d8987f20616199e2444e9810f39c314319d6776",
    "differs": False,
}
SUCCESSOR: dict[str, Any] = {
    "run_key": "mail#after#invoices#2026-03-01T00:00:00Z#3",
    "job": "mail",
    "state": "succeeded",
}
EXAMPLES: dict[str, Example] = {
    "runs.list": (None, {"items": [RUN], "next": None}),
    "runs.show": (
        None,
        {
            **RUN,
            "attempt": 2,
            "attempts": [ATTEMPT],
            "effects": [EFFECT],
            "after": [],
            "then": [SUCCESSOR],
        },
    ),
    "runs.log": (
        None,
        {
            "items": [
                {"attempt": 1, "line": 0, "at": "2026-03-01T00:00:01Z", "lines": ["12 sent", "24 sent"]}
            ],
            "next": "WzEsMV0",
        },
    ),
    "runs.cancel": ({"reason": "wrong month"}, {**RUN, "state": "cancelled", "reason": "wrong month"}),
    "runs.skip": ({"reason": "sent by hand"}, {**RUN, "state": "skipped", "reason": "sent by hand"}),
    "runs.hold": ({"reason": "the bank is closed"}, {**RUN, "state": "planned", "held": ["operator"]}),
    "runs.release": ({}, {**RUN, "state": "planned"}),
    "runs.replay": (
        {"run_keys": ["invoices#2026-03-01T00:00:00Z#3"], "reason": "the mail server is back"},
        {"replayed": ["invoices#2026-03-01T00:00:00Z#3"], "left": []},
    ),
}
EXAMPLES |= account_examples(RUN, ATTEMPT)
EXAMPLES |= desk_examples() | fleet_examples() | access_examples()
EXAMPLES |= schedule_examples(RUN) | expression_examples() | calendar_examples()
