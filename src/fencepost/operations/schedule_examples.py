"""Examples of schedules, their ticks, expressions and calendars."""

from __future__ import annotations

from typing import Any

Example = tuple[dict[str, Any] | None, dict[str, Any]]

WORDS: dict[str, Any] = {
    "job": "backup",
    "cron": "30 2 * * *",
    "tz": "Europe/Berlin",
    "dst": {"gap": "shift", "fold": "first"},
    "overlap": "skip",
    "catch_up": {"mode": "latest", "max_lateness": "6h"},
    "spread": "5m",
    "payload": {"target": "eu"},
    "labels": {"team": "ops"},
}
TRIGGER: dict[str, Any] = {
    "v": 1,
    "kind": "cron",
    "expression": "30 2 * * *",
    "tz": "Europe/Berlin",
    "gap": "shift",
    "fold": "first",
}
SPEC: dict[str, Any] = {
    "job": "backup",
    "trigger": TRIGGER,
    "payload": {"target": "eu"},
    "overlap": "skip",
    "catch_up": {"mode": "latest", "max_lateness_s": 21600.0},
    "queue": None,
    "priority": None,
    "labels": {"team": "ops"},
    "spread": "5m",
}
DESCRIPTION = "at 02:30 every day, in Europe/Berlin"
SCHEDULE: dict[str, Any] = {
    "schedule_id": "nightly",
    "state": "active",
    "version": 3,
    "description": DESCRIPTION,
    **SPEC,
    "shard": 5,
    "planned_through": "2026-03-01T00:00:00Z",
    "updated_at": "2026-02-20T09:15:00Z",
    "frozen": False,
}
NEXT = ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z"]
CLOCKS: dict[str, Any] = {
    "tz": "Europe/Berlin",
    "at": "2026-03-29T01:00:00Z",
    "kind": "gap",
    "length_s": 3600.0,
    "wall_from": "2026-03-29T02:00:00",
    "wall_to": "2026-03-29T03:00:00",
    "fire_times": ["2026-03-29T01:00:00Z"],
    "count": 1,
    "sentence": "On 2026-03-29 the clocks in Berlin go from 02:00 to 03:00: 02:30 does not exist that day; "
    "it fires once at 03:00 (2026-03-29T01:00:00Z).",
}
POLICIES = [
    "While an earlier run is unfinished, a tick is skipped.",
    "Of late ticks the newest that is not more than 6h late runs, and stands for the others.",
]
VERSION: dict[str, Any] = {
    "version": 3,
    "in_force_from": "2026-02-20T09:15:00Z",
    "in_force_until": None,
    "tzdata": "2025b",
    "spec": SPEC,
    "changes": ['spread: nothing -> "5m"'],
    "description": DESCRIPTION,
}
DAYS: dict[str, Any] = {
    "weekend": ["SAT", "SUN"],
    "holidays": ["2026-12-25"],
    "workdays": [],
    "known_through": 2026,
}


def schedule_examples(run: dict[str, Any]) -> dict[str, Example]:
    """Examples of schedules and their ticks, around one of a run."""
    tick = {**run, "state": "planned"}
    return {
        **_written(),
        "schedules.list": (None, {"items": [SCHEDULE], "next": None}),
        "schedules.show": (
            None,
            {
                **SCHEDULE,
                "tzdata": "2025b",
                "next": NEXT,
                "next_run_at": ["2026-03-28T01:32:07Z", "2026-03-29T01:02:07Z"],
                "changes": [CLOCKS],
                "trouble": None,
                "policies": POLICIES,
            },
        ),
        "schedules.history": (None, {"items": [VERSION], "next": None}),
        "schedules.remove": (None, {"schedule_id": "nightly", "state": "removed"}),
        "schedules.trigger": ({}, {"run_key": "nightly#2026-03-01T09:15:00.123456Z#3"}),
        "schedules.skip": ({"reason": "holiday"}, {**tick, "state": "skipped", "reason": "holiday"}),
        "schedules.hold": ({"reason": "waits for the audit"}, {**tick, "held": ["operator"]}),
        "schedules.release": ({}, tick),
    }


def _written() -> dict[str, Example]:
    paused, trouble = {**SCHEDULE, "state": "paused"}, "schedule weekly: is not active"
    return {
        "schedules.add": (
            {"schedule_id": "nightly", **WORDS},
            {**SCHEDULE, "version": 1, "warnings": []},
        ),
        "schedules.edit": (
            {"cron": "45 2 * * *", "spread": None, "dry_run": True},
            {
                **{name: value for name, value in SCHEDULE.items() if name != "spread"},
                "warnings": [],
                "preview": {
                    "changes": [
                        'trigger.expression: "30 2 * * *" -> "45 2 * * *"',
                        'spread: "5m" -> nothing',
                    ],
                    "next_before": NEXT,
                    "next_after": ["2026-03-28T01:45:00Z", "2026-03-29T01:00:00Z"],
                    "policies": POLICIES,
                },
            },
        ),
        "schedules.put": (WORDS, {**SCHEDULE, "warnings": []}),
        "schedules.apply": (
            {"schedules": [{"schedule_id": "nightly", **WORDS}], "source": "backups.toml"},
            {
                "items": [
                    {
                        "schedule_id": "nightly",
                        "change": "changed",
                        "version": 4,
                        "changes": [],
                        "trouble": None,
                    }
                ],
                "written": True,
            },
        ),
        "schedules.pause": ({"reason": "the disk is full"}, paused),
        "schedules.resume": (
            {"catch_up": True},
            {**SCHEDULE, "version": 4, "caught_up": {"from": "2026-03-01T02:00:00Z", "mode": "latest"}},
        ),
        "schedules.pause_many": (
            {"schedule_ids": ["nightly", "weekly"]},
            {
                "items": [
                    {"schedule_id": "nightly", "done": True, "trouble": None},
                    {"schedule_id": "weekly", "done": False, "trouble": trouble},
                ],
                "more": False,
            },
        ),
        "schedules.resume_many": (
            {"filter": {"label": "team=ops"}, "catch_up": False},
            {"items": [{"schedule_id": "nightly", "done": True, "trouble": None}], "more": False},
        ),
    }


def expression_examples() -> dict[str, Example]:
    """Examples of what an expression means."""
    return {
        "triggers.next": (
            None,
            {
                "description": DESCRIPTION,
                "zones": ["Europe/Berlin"],
                "times": NEXT,
                "changes": [CLOCKS],
            },
        ),
        "triggers.explain": (
            None,
            {
                "description": DESCRIPTION,
                "tz": "Europe/Berlin",
                "zones": ["Europe/Berlin"],
                "policy": {"gap": "shift", "fold": "first", "chosen": ["gap", "fold"]},
                "next": NEXT,
                "previous": "2026-03-27T01:30:00Z",
                "changes": [CLOCKS],
                "warnings": [],
                "tzdata": "2025b",
                "trigger": TRIGGER,
            },
        ),
    }


def calendar_examples() -> dict[str, Example]:
    """Examples of calendars."""
    calendar = {
        "name": "de",
        "revision": 2,
        **DAYS,
        "updated_at": "2026-02-20T09:15:00Z",
        "schedules": ["closing"],
    }
    none: dict[str, list[str]] = {"holidays": [], "workdays": []}
    return {
        "calendars.list": (None, {"items": [calendar], "next": None}),
        "calendars.show": (None, calendar),
        "calendars.set": (
            {"holidays": ["2026-12-25"], "dry_run": True},
            {
                "name": "de",
                "revision": 3,
                "written": False,
                "changed": True,
                **DAYS,
                "added": {**none, "holidays": ["2026-12-25"]},
                "removed": none,
                "schedules": ["closing"],
            },
        ),
        "calendars.remove": (None, {"name": "de", "removed": True}),
    }
