"""Celery tasks as jobs, from the words people use."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from fencepost.app.words import JobWords, job_spec, own_words
from fencepost.errors import InvalidSpec, MissingExtra
from fencepost.executors.celery import CeleryExecutor, Sender, reads_results
from fencepost.model.faults import words_of
from fencepost.model.job import JobSpec
from fencepost.model.quoting import quoted

EXPECTED = 'expected a Celery application, or where it is, as in "proj:app"'
MISSING = "Celery tasks as jobs need the extra: pip install 'fencepost[celery]'"
OURS = ("connection", "ignore_result", "producer", "task_id")
"""Options of Celery that the executor sets."""


class CeleryWords(JobWords, total=False):
    """What a job says beside its task. Unlike that of other jobs, `queue` is Celery's."""

    name: str
    track: bool
    options: Mapping[str, Any]


def celery_job(task: str, celery: Any, words: CeleryWords) -> tuple[JobSpec, CeleryExecutor]:
    """The job, and the way to do it."""
    name = words.get("name", task)
    own_words(name, CeleryWords, words)
    if words.get("progress_deadline") is not None:
        raise InvalidSpec(f"job {name}: progress_deadline is not for Celery tasks; give it a timeout")
    try:
        executor = celery_work(
            task,
            celery,
            queue=words.get("queue"),
            track=words.get("track", False),
            options=words.get("options"),
        )
    except InvalidSpec as error:
        raise InvalidSpec(f"job {name}: {error}") from None
    return job_spec(name, {word: value for word, value in words.items() if word != "queue"}), executor


def celery_work(
    task: str,
    celery: Any,
    *,
    queue: str | None = None,
    track: bool = False,
    options: Mapping[str, Any] | None = None,
) -> CeleryExecutor:
    """The doer of a task."""
    found = imported(celery) if isinstance(celery, str) else celery
    if not hasattr(found, "send_task"):
        raise InvalidSpec(f"celery {quoted(celery)}: {EXPECTED}")
    for word in OURS:
        if word in (options or {}):
            raise InvalidSpec(f"options: {word} is not yours to set; leave it out")
    if track and not reads_results(found):
        kept = quoted(found.conf.result_backend)
        remedy = "set result_backend to one that every process can read, such as redis://host"
        raise InvalidSpec(f"track: Celery's result_backend is {kept}; {remedy}")
    said = {**(options or {}), **({} if queue is None else {"queue": queue})}
    return CeleryExecutor(Sender(found), task, options=said, track=track)


def imported(path: str) -> Any:
    """What stands at module:name; modules of the current folder are found, as by the command `celery`."""
    module, _, name = path.partition(":")
    if not module or not name:
        raise InvalidSpec(f"celery {quoted(path)}: {EXPECTED}")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = getattr(import_module(module), name, None)
    except ModuleNotFoundError as error:
        if error.name == "celery":
            raise MissingExtra(MISSING) from None
        raise InvalidSpec(f"celery {quoted(path)}: no module {error.name}, looked for in {folder}") from error
    except Exception as error:
        raise InvalidSpec(f"celery {quoted(path)}: {words_of(error)}") from error
    if found is None:
        raise InvalidSpec(f"celery {quoted(path)}: {module} has no {name}; {EXPECTED}")
    return found
