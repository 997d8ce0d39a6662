"""A `fencepost.toml`, written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_UNPRINTED = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class CommandJob:
    """A job that starts a command."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CronSchedule:
    """When a job runs, and the remark above it."""

    schedule_id: str
    job: str
    expression: str
    tz: str
    remark: str


def write_manifest(
    heading: Iterable[str], jobs: Iterable[CommandJob], schedules: Iterable[CronSchedule]
) -> str:
    """The whole file: what it is, each job and each schedule."""
    head = "".join(f"# {_UNPRINTED.sub(' ', line)}".rstrip() + "\n" for line in heading)
    return "\n".join([head, *map(_job, jobs), *map(_schedule, schedules)])


def _job(job: CommandJob) -> str:
    command = ", ".join(map(_text, job.argv))
    rows = [f"[jobs.{_key(job.name)}]", f"command = [{command}]", "retry = { max_attempts = 1 }"]
    if job.environment:
        pairs = ", ".join(f"{_key(name)} = {_text(value)}" for name, value in job.environment.items())
        rows.append(f"environment = {{ {pairs} }}")
    return "\n".join([*rows, ""])


def _schedule(schedule: CronSchedule) -> str:
    rows = [
        f"# {_UNPRINTED.sub(' ', schedule.remark)}",
        f"[schedules.{_key(schedule.schedule_id)}]",
        f"job = {_text(schedule.job)}",
        f"cron = {_text(schedule.expression)}",
        f"tz = {_text(schedule.tz)}",
        'overlap = "allow"',
    ]
    return "\n".join([*rows, ""])


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _text(name)


def _text(value: str) -> str:
    """A JSON text is a TOML text too, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
