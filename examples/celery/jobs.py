"""The tasks of `proj` as jobs. In this folder: `fencepost run jobs:app`."""

from __future__ import annotations

from proj import app as celery

from fencepost import Cron, Fencepost, Retry

app = Fencepost()

report = app.celery_task("proj.report", celery=celery, track=True, timeout="1h", retry=Retry(max_attempts=3))
app.add_schedule(
    "report-eu", job=report, trigger=Cron("30 2 * * *", tz="Europe/Berlin"), payload={"region": "eu"}
)
