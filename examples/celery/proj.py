"""A Celery project with a beat. See docs/guides/celery.md."""

from __future__ import annotations

from celery import Celery
from celery.schedules import crontab

app = Celery("proj", broker="redis://localhost:6379/0", backend="redis://localhost:6379/1")
app.conf.task_track_started = True

app.conf.beat_schedule = {
    "heartbeat": {"task": "proj.beat", "schedule": 1.0},
    "nightly report": {
        "task": "proj.report",
        "schedule": crontab(hour=2, minute=30),
        "kwargs": {"region": "eu"},
        "options": {
            "expires": 3600,
            "fencepost": {"catch_up": "latest", "max_lateness": "6h"},
        },
    },
}


@app.task
def beat() -> None:
    print("beat", flush=True)


@app.task
def report(region: str) -> str:
    return f"the report for {region}"
