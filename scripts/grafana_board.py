"""The Grafana board: rows of panels in plain Python, written as the JSON that Grafana imports.

Gauges that come from the ledger are the same in every process, so they are taken by `max`; counters are
summed over the processes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 24
HEIGHT = 8
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
HERE = '{job=~"$job"}'
OF_JOB = '{job=~"$job", job_id=~"$job_id"}'
OF_QUEUE = '{job=~"$job", queue=~"$queue"}'
RATE = "[$__rate_interval]"


@dataclass(frozen=True)
class Panel:
    """One panel: its queries with their legends, how it draws, and how wide it is."""

    title: str
    queries: Sequence[tuple[str, str]]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    words: str = ""
    steps: Sequence[tuple[float | None, str]] = ((None, "green"),)
    stacked: bool = False


def _stat(title: str, query: str, unit: str, steps: Sequence[tuple[float | None, str]], words: str) -> Panel:
    return Panel(title, [(query, "")], unit, "stat", 4, words, steps)


ALARM = ((None, "green"), (1.0, "red"))
BOARD: dict[str, list[Panel]] = {
    "Is everything accounted for?": [
        _stat(
            "Completeness, 24 h",
            f"min(run_completeness{HERE})",
            "percentunit",
            ((None, "red"), (0.99, "yellow"), (0.999, "green")),
            "Of the job that stands worst: the share of its expected runs that have succeeded.",
        ),
        _stat(
            "Error budget left",
            f"max(fencepost_completeness_budget_left{HERE})",
            "percentunit",
            ((None, "red"), (0.25, "yellow"), (0.5, "green")),
            "Of the last day, by the target of the house.",
        ),
        _stat("Dead letters", f"max(fencepost_dead_letters{HERE})", "short", ALARM, "fencepost dead list"),
        _stat("Gates closed", f"max(fencepost_gates_closed{HERE})", "short", ALARM, "fencepost gate list"),
        _stat("Stuck runs", f"max(fencepost_stuck_runs{HERE})", "short", ALARM, "fencepost runs stuck"),
        _stat(
            "Shards without a leader",
            f"max(fencepost_shards_unled{HERE})",
            "short",
            ALARM,
            "fencepost status",
        ),
    ],
    "Completeness": [
        Panel(
            "Completeness by job",
            [
                (f"min by (job_id) (run_completeness{OF_JOB})", "{{job_id}}"),
                (f"min by (job_id) (run_accounted{OF_JOB})", "{{job_id}}, accounted for"),
            ],
            "percentunit",
            width=12,
        ),
        Panel(
            "Burn rate",
            [(f"max by (window) (fencepost_completeness_burn_rate{HERE})", "over {{window}}")],
            width=6,
            words="1 spends exactly the budget; 14.4 over an hour pages.",
        ),
        Panel(
            "Missed, backfilled, suppressed",
            [
                (f"sum(max by (job_id) (run_expected{OF_JOB}))", "expected in 24 h"),
                (f"sum(increase(job_missed_total{OF_JOB}{RATE}))", "missed"),
                (f"sum(increase(job_backfill_total{OF_JOB}{RATE}))", "backfilled"),
                (
                    f"sum by (cause) (increase(job_duplicate_suppressed_total{HERE}{RATE}))",
                    "suppressed: {{cause}}",
                ),
            ],
            width=6,
        ),
    ],
    "Dispatch": [
        Panel(
            "Dispatch lag",
            [(f"sum by (le) (increase(scheduler_dispatch_lag_seconds_bucket{HERE}{RATE}))", "{{le}}")],
            "s",
            "heatmap",
            12,
            "How long after it was due an attempt began.",
        ),
        Panel(
            "Dispatch lag, quantiles",
            [
                (
                    (
                        f"histogram_quantile({quantile}, "
                        f"sum by (le) (rate(scheduler_dispatch_lag_seconds_bucket{HERE}{RATE})))"
                    ),
                    words,
                )
                for quantile, words in ((0.5, "half"), (0.95, "19 in 20"), (0.99, "99 in 100"))
            ],
            "s",
            width=6,
        ),
        Panel(
            "Dispatches by result",
            [(f"sum by (result) (rate(scheduler_dispatch_total{OF_JOB}{RATE}))", "{{result}}")],
            "ops",
            width=6,
            stacked=True,
        ),
    ],
    "Runs": [
        Panel(
            "Runs by status",
            [(f"sum by (status) (rate(job_run_total{OF_JOB}{RATE}))", "{{status}}")],
            "ops",
            stacked=True,
        ),
        Panel(
            "Duration, 95 in 100",
            [
                (
                    (
                        "histogram_quantile(0.95, "
                        f"sum by (job_id, le) (rate(job_run_duration_seconds_bucket{OF_JOB}{RATE})))"
                    ),
                    "{{job_id}}",
                )
            ],
            "s",
        ),
        Panel(
            "Attempts by what became of the run",
            [(f"sum by (state) (rate(fencepost_attempts_total{OF_JOB}{RATE}))", "{{state}}")],
            "ops",
            stacked=True,
        ),
    ],
    "Queues": [
        Panel(
            "Due and waiting",
            [
                (f"max by (queue) (fencepost_queue_depth{OF_QUEUE})", "{{queue}}"),
                (f"max by (queue) (fencepost_queue_waiting{OF_QUEUE})", "{{queue}}, for limits"),
            ],
        ),
        Panel(
            "Oldest due run",
            [(f"max by (queue) (fencepost_queue_oldest_seconds{OF_QUEUE})", "{{queue}}")],
            "s",
        ),
        Panel("Running", [(f"max by (queue) (fencepost_queue_running{OF_QUEUE})", "{{queue}}")]),
    ],
    "Leases": [
        Panel(
            "Shards led",
            [
                (f"fencepost_shards_led{HERE}", "{{instance}}"),
                (f"max(fencepost_shards{HERE})", "all"),
            ],
        ),
        Panel(
            "Gained and lost",
            [
                (
                    f"sum by (direction) (increase(fencepost_lease_transitions_total{HERE}{RATE}))",
                    "{{direction}}",
                )
            ],
        ),
        Panel(
            "Refusals",
            [
                (
                    f"sum by (instance) (increase(fencepost_lease_renewal_failures_total{HERE}{RATE}))",
                    "renewals: {{instance}}",
                ),
                (f"sum(increase(fencepost_plans_refused_total{HERE}{RATE}))", "stale plans"),
            ],
        ),
    ],
    "Nodes": [
        Panel("Live nodes", [(f"max by (role) (fencepost_nodes{HERE})", "{{role}}s")], width=6),
        Panel("Clock skew", [(f"fencepost_clock_skew_seconds{HERE}", "{{instance}}")], "s", width=6),
        Panel(
            "Rescues, late heartbeats, store away",
            [
                (
                    f"sum by (state) (increase(fencepost_runs_rescued_total{HERE}{RATE}))",
                    "rescued: {{state}}",
                ),
                (f"sum(increase(fencepost_heartbeats_late_total{HERE}{RATE}))", "late heartbeats"),
                (f"sum by (service) (increase(fencepost_store_failures_total{HERE}{RATE}))", "{{service}}"),
            ],
            width=6,
        ),
        Panel("Memory", [(f"process_resident_memory_bytes{HERE}", "{{instance}}")], "bytes", width=6),
    ],
    "Messages": [
        Panel(
            "Messages: sent, replied, taken",
            [
                (
                    f"sum by (answer) (increase(fencepost_messages_published_total{HERE}{RATE}))",
                    "sent: {{answer}}",
                ),
                (f"sum by (fate) (increase(fencepost_replies_total{HERE}{RATE}))", "replied: {{fate}}"),
                (f"sum by (fate) (increase(fencepost_messages_taken_total{HERE}{RATE}))", "taken: {{fate}}"),
                (f"sum(increase(fencepost_redeliveries_total{HERE}{RATE}))", "came again"),
                (f"sum(increase(fencepost_broker_failures_total{HERE}{RATE}))", "broker away"),
            ],
            width=12,
        ),
        Panel(
            "Messages that wait for a processor or an intake",
            [(f"max by (destination) (fencepost_broker_backlog{HERE})", "{{destination}}")],
            width=12,
        ),
    ],
}


def board_text() -> str:
    """The whole board, as it is imported."""
    return json.dumps(board(), indent=2, ensure_ascii=False) + "\n"


def board() -> dict[str, Any]:
    """The same as a value."""
    return {
        "uid": "fencepost",
        "title": "Fencepost",
        "description": "Every tick accounted for, exactly once. Made by `make docs`.",
        "tags": ["fencepost"],
        "schemaVersion": 38,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": list(_variables())},
        "annotations": {"list": []},
        "panels": list(_placed()),
    }


def _variables() -> Iterator[dict[str, Any]]:
    yield {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    for name, label, query in (
        ("job", "Scrape job", "label_values(fencepost_build_info, job)"),
        ("job_id", "Job", 'label_values(run_completeness{job=~"$job"}, job_id)'),
        ("queue", "Queue", 'label_values(fencepost_queue_depth{job=~"$job"}, queue)'),
    ):
        yield {
            "name": name,
            "label": label,
            "type": "query",
            "datasource": SOURCE,
            "query": {"query": query, "refId": name},
            "definition": query,
            "refresh": 2,
            "sort": 1,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        }


def _placed() -> Iterator[dict[str, Any]]:
    """Rows below each other, panels from left to right."""
    number, y = 1, 0
    for row, panels in BOARD.items():
        place = {"x": 0, "y": y, "w": WIDTH, "h": 1}
        yield {"id": number, "type": "row", "title": row, "collapsed": False, "gridPos": place, "panels": []}
        number, y, x = number + 1, y + 1, 0
        height = HEIGHT if panels[0].kind != "stat" else HEIGHT // 2
        for one in panels:
            yield {"id": number, "gridPos": {"x": x, "y": y, "w": one.width, "h": height}, **_drawn(one)}
            number, x = number + 1, x + one.width
        assert x == WIDTH, f"row {row} is {x} wide"
        y += height


def _drawn(one: Panel) -> dict[str, Any]:
    heat = one.kind == "heatmap"
    return {
        "type": one.kind,
        "title": one.title,
        "description": one.words,
        "datasource": SOURCE,
        "targets": [_target(at, *query, heat=heat) for at, query in enumerate(one.queries)],
        "fieldConfig": {"defaults": _defaults(one), "overrides": []},
        "options": _options(one),
    }


def _target(at: int, expression: str, legend: str, *, heat: bool) -> dict[str, Any]:
    return {
        "refId": chr(ord("A") + at),
        "datasource": SOURCE,
        "expr": expression,
        "legendFormat": legend,
        "format": "heatmap" if heat else "time_series",
    }


def _defaults(one: Panel) -> dict[str, Any]:
    steps = [{"value": value, "color": colour} for value, colour in one.steps]
    found: dict[str, Any] = {"unit": one.unit, "thresholds": {"mode": "absolute", "steps": steps}}
    if one.kind == "timeseries":
        mode = "normal" if one.stacked else "none"
        filled = 30 if one.stacked else 8
        found["custom"] = {
            "stacking": {"mode": mode},
            "fillOpacity": filled,
            "lineWidth": 1,
            "showPoints": "never",
        }
        found["min"] = None if one.title == "Clock skew" else 0
    return found


def _options(one: Panel) -> dict[str, Any]:
    match one.kind:
        case "stat":
            reduced = {"calcs": ["lastNotNull"], "fields": "", "values": False}
            return {"reduceOptions": reduced, "colorMode": "background", "graphMode": "area"}
        case "heatmap":
            return {"calculate": False, "yAxis": {"unit": one.unit}, "color": {"scheme": "Spectral"}}
        case _:
            return {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}
