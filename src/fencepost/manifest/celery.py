"""`[jobs.NAME] celery = { … }`: Celery tasks as jobs."""

from __future__ import annotations

from fencepost.app.celery import celery_work
from fencepost.executors.celery import CeleryExecutor
from fencepost.manifest.table import Table

WORDS = ("task", "app", "queue", "track", "options")


def read_celery(table: Table) -> CeleryExecutor:
    """A task, and the application that it is sent by."""
    inner = table.table("celery")
    inner.only(*WORDS)
    task, app = inner.text("task"), inner.text("app")
    if not task or not app:
        missing = "app" if task else "task"
        inner.refuse(missing, 'is missing; write: celery = { task = "proj.tasks.report", app = "proj:app" }')
    with inner.blaming():
        return celery_work(
            task,
            app,
            queue=inner.text("queue"),
            track=inner.flag("track"),
            options=inner.json_object("options"),
        )
