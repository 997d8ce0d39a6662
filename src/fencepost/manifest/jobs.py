"""`[jobs.NAME]`: commands as jobs."""

from __future__ import annotations

import json
import shlex
from typing import Any

from fencepost.executors.command import CommandExecutor
from fencepost.manifest.table import Table
from fencepost.model.durations import parse_duration
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, Queue, checked_name
from fencepost.model.job import PRIORITY_DEFAULT, JobSpec, Retry
from fencepost.model.quoting import quoted

KEYS = ("command", "timeout", "queue", "priority", "retry", "at_most_once", "environment")
RETRY_KEYS = ("max_attempts", "base", "cap", "deadline", "budget")
NO_BUDGET = "none"
"""How a file, which cannot say None, switches the budget off."""


def read_job(name: str, table: Table) -> tuple[JobSpec, CommandExecutor]:
    """A job and the way to do it."""
    table.only(*KEYS)
    executor = CommandExecutor(_argv(table), _environment(table))
    timeout = table.length("timeout")
    with table.blaming():
        checked_name("job", name)
    spec = JobSpec(
        name=JobName(name),
        queue=Queue(table.queue() or DEFAULT_QUEUE),
        priority=table.priority() or PRIORITY_DEFAULT,
        retry=_retry(table),
        timeout=None if timeout is None else parse_duration(timeout),
        at_most_once=table.flag("at_most_once"),
        open_payload=True,
    )
    return spec, executor


def _argv(table: Table) -> list[str]:
    command = table.raw("command")
    if isinstance(command, str):
        table.refuse("command", f"is a text, and no shell reads it; write: command = {_as_list(command)}")
    argv = table.texts("command")
    if argv is None:
        table.refuse("command", 'is missing; write for example: command = ["/usr/local/bin/backup", "--all"]')
    if not argv[0] or any("\0" in one for one in argv):
        table.refuse("command", "names no program, or holds a NUL")
    return argv


def _as_list(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return json.dumps(words, ensure_ascii=False)


def _environment(table: Table) -> dict[str, str]:
    environment = table.text_table("environment")
    for name, value in environment.items():
        if not name or "=" in name or "\0" in name + value:
            table.refuse("environment", f"cannot hold the name {name!r} or its value")
    return environment


def _retry(table: Table) -> Retry:
    inner = table.table("retry")
    inner.only(*RETRY_KEYS)
    given: dict[str, Any] = {
        "max_attempts": inner.whole("max_attempts"),
        "base": inner.length("base"),
        "cap": inner.length("cap"),
        "deadline": inner.length("deadline"),
    }
    said = {key: value for key, value in given.items() if value is not None}
    if "budget" in inner:
        said["budget"] = _budget(inner)
    with table.blaming("retry"):
        return Retry(**said)


def _budget(inner: Table) -> float | None:
    value = inner.raw("budget")
    if value == NO_BUDGET:
        return None
    if type(value) not in (int, float) or not 0 <= value <= 1:
        inner.refuse("budget", f'= {quoted(value)}: expected a share from 0 to 1, or "{NO_BUDGET}"')
    return float(value)
