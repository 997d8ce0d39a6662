"""What is asked of the web: every page of the dashboard and every GET of the API, as it is and with what
people filter by.

A page or a reading that is added later is asked for by itself; one with a new name in its path is told a
value in `pages_web.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from benchmarks.ground import BUSY, DAILY, JOB
from fencepost.operations.catalogue import all_operations
from fencepost.web.dashboard.page import all_pages

API = "/api/v1"
Query = Mapping[str, str | int]
RUNS: tuple[Query, ...] = (
    {"state": "dead"},
    {"state": "running"},
    {"state": "missed"},
    {"schedule": BUSY},
    {"schedule": DAILY},
    {"job": JOB},
    {"job": "job-nobody"},
    {"text": "schedule-05000"},
    {"text": "nothing like it"},
    {"error": "host-7"},
    {"error": "nothing like it"},
    {"worker": "worker-3-abc"},
    {"queue": "mail"},
    {"origin": "catch_up"},
    {"since": "1d"},
    {"until": "20d"},
    {"limit": 200},
)
SCHEDULES: tuple[Query, ...] = (
    {"text": "0777"},
    {"text": "nothing like it"},
    {"state": "paused"},
    {"job": JOB},
    {"label": "team=team-7"},
    {"frozen": "true"},
    {"limit": 100},
)
DEAD: tuple[Query, ...] = ({"job": JOB}, {"error": "host-7"}, {"text": "schedule-05000"}, {"limit": 200})
LOG: tuple[Query, ...] = (
    {"subject": BUSY},
    {"by": "anna"},
    {"by": "nobody"},
    {"action": "run.replay"},
    {"limit": 200},
)
WRITTEN: Query = {"when": "30 9 * * mon-fri", "tz": "Europe/Berlin", "filled": "yes"}
PAGES: Mapping[str, tuple[Query, ...]] = {
    "/runs": (*RUNS, {"held": "true"}),
    "/schedules": SCHEDULES,
    "/matrix": ({"span": "6h"}, {"span": "7d"}, {"span": "30d"}, {"label": "team=team-7"}, {"text": "0777"}),
    "/search": ({"text": "0777"}, {"text": "nothing like it"}, {"text": "0777", "glance": "true"}),
    "/dead": DEAD,
    "/dead/replay": DEAD,
    "/log": LOG,
    "/jobs": ({"text": "job-1"}, {"queue": "default"}),
    "/leases": ({"span": "7d"}, {"shard": 3}),
    "/schedules/{schedule_id}": tuple({"span": one} for one in ("1h", "24h", "7d", "30d", "1y")),
    "/schedules/{schedule_id}/backfill": ({"since": "2d", "until": "1h", "mode": "all"},),
    "/schedules/{schedule_id}/edit": (WRITTEN,),
    "/new-schedule": ({**WRITTEN, "schedule_id": "new", "job": JOB},),
}
READINGS: Mapping[str, tuple[Query, ...]] = {
    "runs.list": (*RUNS, {"held": "true"}),
    "runs.stuck": ({"older_than_s": 60},),
    "runs.log": ({"tail": "true"},),
    "dead.list": DEAD,
    "log.list": LOG,
    "schedules.list": SCHEDULES,
    "jobs.list": ({"text": "job-1"},),
    "leases.terms": ({"shard": 3},),
    "triggers.next": ({"expression": "30 9 * * mon-fri", "tz": "Europe/Berlin", "count": 20},),
    "triggers.explain": ({"expression": "30 9 * * mon-fri", "tz": "Europe/Berlin"},),
    "audit.report": ({"schedule": BUSY, "since": "1d"}, {"schedule": DAILY, "since": "30d"}),
}
NEEDED: Mapping[str, Query] = {
    "triggers.next": {"expression": "@daily"},
    "triggers.explain": {"expression": "@daily"},
    "audit.report": {"schedule": DAILY},
}
"""What must be said where nothing else is."""


def page_urls(sample: Mapping[str, str]) -> Iterator[str]:
    """Every page, with values for its path, by itself and with what it can be narrowed by."""
    for page in all_pages():
        first: Query = {"at": sample["fire_time"]} if page.path.endswith("/why") else {}
        yield from _urls(page.path, sample, first, PAGES.get(page.path, ()))
    for key in ("dead_key", "running_key"):
        yield f"/runs/{quote(sample[key], safe='')}"
    for schedule_id in (DAILY, "schedule-00100"):
        yield f"/schedules/{schedule_id}"


def posted_forms(sample: Mapping[str, str]) -> Iterator[tuple[str, Query]]:
    """Every page that takes a form, and the form."""
    written = {**WRITTEN, "schedule_id": "new", "job": JOB, "payload": '{"batch": 100}'}
    for page in all_pages():
        if page.posted:
            (url,) = _urls(page.path, sample, {}, ())
            yield url, written


def reading_urls(sample: Mapping[str, str]) -> Iterator[str]:
    """Every GET of the API."""
    for one in all_operations():
        if one.method == "GET":
            known = {**sample, "run_key": sample["dead_key"]} if one.name == "dead.show" else sample
            yield from _urls(API + one.path, known, NEEDED.get(one.name, {}), READINGS.get(one.name, ()))


def _urls(path: str, sample: Mapping[str, str], first: Query, others: tuple[Query, ...]) -> Iterator[str]:
    values: dict[str, Any] = {name: quote(value, safe="") for name, value in sample.items()}
    for query in (first, *others):
        asked = urlencode(query)
        yield path.format(**values) + (f"?{asked}" if asked else "")
