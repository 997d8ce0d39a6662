"""A Celery project whose worker says in Redis what it has received, and whose beat has an entry a second."""

from __future__ import annotations

import json
import os
from typing import Any

import redis
from celery import Celery

PLACE = os.environ.get("CELERY_PROJECT_REDIS", "redis://127.0.0.1:1")
NOTES = "notes"

app = Celery("project", broker=os.environ.get("CELERY_PROJECT_BROKER", PLACE), backend=PLACE)
app.conf.update(
    beat_fencepost_namespace="project",
    broker_connection_retry_on_startup=True,
    task_track_started=True,
    worker_hijack_root_logger=False,
)
notes = redis.Redis.from_url(PLACE, socket_timeout=None)


@app.on_after_finalize.connect
def add_entries(sender: Celery, **_: Any) -> None:
    for number in range(int(os.environ.get("CELERY_PROJECT_ENTRIES", "1"))):
        sender.add_periodic_task(1.0, note.s(number), name=f"each second {number}")


def say(task: Any, **more: Any) -> None:
    """What a task was sent with."""
    headers = task.request.headers or {}
    said = {"task_id": task.request.id, "run_key": headers.get("fencepost-run-key"), **more}
    notes.rpush(NOTES, json.dumps(said))


@app.task(bind=True)
def note(self: Any, *args: Any, **kwargs: Any) -> str:
    """Say what came."""
    say(self, args=args, kwargs=kwargs)
    return f"noted {len(args)}"


@app.task(bind=True)
def fail(self: Any, words: str) -> None:
    """Fail."""
    say(self)
    raise LookupError(words)


@app.task(bind=True)
def wait(self: Any, name: str) -> str:
    """Wait until the test lets go: it pushes a word to this name."""
    say(self)
    found: Any = notes.blpop([name])
    return str(found[1], "ascii")
