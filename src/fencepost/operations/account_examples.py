"""Examples of what is asked about runs, jobs and the past of a schedule, and of what is answered."""

from __future__ import annotations

from typing import Any

Example = tuple[dict[str, Any] | None, dict[str, Any]]

KEY = "invoices#2026-03-01T00:00:00Z#3"
FAILED = "ConnectionError: connection refused"
STATES = ("planned", "ready", "running", "succeeded", "dead", "skipped", "missed", "cancelled", "withdrawn")
KINDS = (
    "missing",
    "doubled",
    "unexpected",
    "miscounted",
    "uncertain",
    "overdue",
    "stale",
    "differing",
    "late",
)

ACCOUNT: dict[str, Any] = {
    "schedule_id": "invoices",
    "since": "2026-02-28T23:59:59.999999Z",
    "until": "2026-03-02T00:00:00Z",
    "forgotten_before": None,
    "expected": 25,
    "accounted": 24,
    "succeeded": 24,
    "run_completeness": 0.96,
    "run_accounted": 0.96,
    "success_share": 0.96,
    "states": {**dict.fromkeys(STATES, 0), "succeeded": 24},
    "counts": {**dict.fromkeys(KINDS, 0), "missing": 1},
    "findings": [
        {
            "kind": "missing",
            "fire_time": "2026-03-01T00:00:00Z",
            "version": 3,
            "run_keys": [KEY],
            "words": "version 3 asks for it, and nothing accounts for it",
        }
    ],
    "cut": False,
    "notes": [],
}
REPORT: dict[str, Any] = {
    **{name: ACCOUNT[name] for name in ("since", "until", "expected", "accounted", "succeeded")},
    **{name: ACCOUNT[name] for name in ("run_completeness", "run_accounted", "success_share", "counts")},
    "faults": 1,
    "repaired": [],
    "schedules": [ACCOUNT],
}
STORY: dict[str, Any] = {
    "schedule_id": "invoices",
    "fire_time": "2026-03-01T00:00:00Z",
    "verdict": "skipped",
    "sentences": ["It was skipped: the run of 2026-02-28T23:00:00Z had not ended."],
    "mends": ["To run it all the same: fencepost runs replay 'invoices#2026-03-01T00:00:00Z#3'"],
    "run_keys": [KEY],
}
JOB: dict[str, Any] = {
    "job": "resize",
    "description": "takes image_id, width (optional); up to 5 attempts, a retry after at most 5m",
    "queue": "media",
    "priority": 2,
    "retry": {
        "max_attempts": 5,
        "base_s": 5.0,
        "cap_s": 300.0,
        "deadline_s": None,
        "only": [],
        "never": [],
        "budget": 0.2,
        "backoff": "exponential",
        "max_doublings": None,
    },
    "timeout_s": None,
    "progress_deadline_s": None,
    "delivery": "at_least_once",
    "external": False,
    "message": None,
    "parameters": [
        {"name": "image_id", "required": True, "kind": "integer"},
        {"name": "width", "required": False, "kind": "integer"},
    ],
    "open_payload": False,
    "limit": {"concurrency": 4, "key": None, "rate": "100/m"},
    "after": [],
    "after_on": "success",
}
ENTRY: dict[str, Any] = {
    "number": 4711,
    "at": "2026-03-01T09:30:00Z",
    "author": "anna",
    "credential": "t3f9c2a1b8d7e6f50",
    "source": "api from 192.0.2.7",
    "reason": "the mail server is back",
    "action": "run.replay",
    "subject": KEY,
    "before": {"state": "dead"},
    "after": {"state": "ready"},
    "changes": ['state: "dead" -> "ready"'],
}


def account_examples(run: dict[str, Any], attempt: dict[str, Any]) -> dict[str, Example]:
    """By the names of the operations, of one run and one attempt."""
    dead = {**run, "state": "dead", "error": FAILED}
    stuck = {**run, "state": "running", "finished_at": None, "why": "its worker is silent", "age_s": 5400.0}
    replayed = {"replayed": [KEY], "left": [], "would_replay": [], "duration_s": 0.0}
    cancelled = {"run_key": KEY, "fate": "cancelled", "state": "cancelled", "why": None}
    return {
        "runs.cancel_many": ({"run_keys": [KEY], "reason": "wrong month"}, {"items": [cancelled]}),
        "runs.stuck": (None, {"items": [stuck], "next": None}),
        "runs.why": (None, STORY),
        "schedules.why": (None, STORY),
        "dead.list": (None, {"items": [dead], "next": None}),
        "dead.show": (None, {**dead, "attempts": [attempt], "effects": [], "after": [], "then": []}),
        "dead.replay": (
            {"choice": {"job": "send_invoices", "since": "2d"}, "every_s": 6.0, "reason": "the mail is back"},
            replayed,
        ),
        "jobs.list": (None, {"items": [JOB], "next": None}),
        "jobs.show": (None, JOB),
        "jobs.enqueue": (
            {"key": "resize-7", "payload": {"image_id": 7}},
            {"run_key": "resize#resize-7", "new": True},
        ),
        "audit.report": (None, REPORT),
        "audit.repair": ({"schedule": "invoices", "reason": "rows were lost"}, {**REPORT, "repaired": [KEY]}),
        "audit.keys": (
            {"run_keys": [KEY], "schedule": "invoices", "since": "7d"},
            {
                "since": "2026-02-28T00:00:00Z",
                "until": "2026-03-07T00:00:00Z",
                "forgotten_before": None,
                "items": [{"run_key": KEY, "verdict": "without_run", "words": "its run is dead"}],
            },
        ),
        "log.list": (None, {"items": [ENTRY], "next": "WzQ3MTFd"}),
    }
