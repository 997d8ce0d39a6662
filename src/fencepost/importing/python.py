"""Schedules as a Python module, to be read by a person and pasted.

All that came from outside stands in it as a literal, as a checked name or in a comment of one line: whatever
the source said, the module does nothing but define jobs and schedules.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.errors import InvalidSpec
from fencepost.model.json import JsonValue
from fencepost.model.quoting import quoted
from fencepost.triggers import At, Combinable, Cron, Every, Solar

COMMENT_LENGTH_MAX = 100
BRIEF_LENGTH_MAX = 60
KINDS: dict[str, Callable[..., Combinable]] = {"At": At, "Cron": Cron, "Every": Every, "Solar": Solar}

_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)


@dataclass(frozen=True)
class TriggerText:
    """A trigger as it will stand in the module, from `start` on and before `end`."""

    kind: str
    arguments: tuple[JsonValue, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    start: str | None = None
    end: str | None = None

    def build(self) -> Combinable:
        """The trigger itself, or its refusal."""
        trigger = KINDS[self.kind](*self.arguments, **self.options)
        return trigger.between(self.start, self.end) if self._is_bounded() else trigger

    def text(self) -> str:
        """`Cron("0 3 * * *", tz="Europe/Berlin")`."""
        plain = f"{self.kind}{_call(self.arguments, self.options)}"
        bounds = _call((), {"start": self.start, "end": self.end})
        return f"{plain}.between{bounds}" if self._is_bounded() else plain

    def _is_bounded(self) -> bool:
        return self.start is not None or self.end is not None


@dataclass(frozen=True)
class FunctionJob:
    """A job in Python. With a module it is a function of it; with a Celery application a task of that;
    without either, a person has to write it."""

    name: str
    function: str
    module: str | None = None
    attribute: str | None = None
    celery: str | None = None
    task: str = ""
    queue: str | None = None

    def imports(self) -> Iterable[str]:
        """The line that brings the function."""
        if self.module is not None and self.attribute is not None:
            yield f"from {self.module} import {self.attribute.partition('.')[0]} as {self.function}"

    def text(self) -> str:
        """The lines that register it."""
        if self.celery is not None:
            named = {"celery": self.celery, "name": self.name if self.name != self.task else None}
            return f"app.celery_task{_call((self.task,), {**named, 'queue': self.queue})}\n"
        register = f"app.job({literal(self.name)}, retry=Retry(max_attempts=1))"
        if self.module is not None and self.attribute is not None:
            _, dot, inner = self.attribute.partition(".")
            return f"{register}({self.function}{dot}{inner})\n"
        todo = literal(f"{self.name}: not brought over yet")
        return f"@{register}\ndef {self.function}(**payload):\n    raise PermanentFailure({todo})\n"


@dataclass(frozen=True)
class ScheduleText:
    """One call of `add_schedule`; `options` are Python text. One that is off stands there as a comment."""

    schedule_id: str
    job: str
    trigger: TriggerText
    options: Mapping[str, str]
    remarks: tuple[str, ...] = ()
    off: bool = False

    def text(self) -> str:
        """The lines of the call."""
        given = {"job": literal(self.job), "trigger": self.trigger.text(), **self.options}
        rows = [
            "app.add_schedule(",
            f"    {literal(self.schedule_id)},",
            *(f"    {name}={value}," for name, value in given.items()),
            ")",
        ]
        prefix = "# " if self.off else ""
        return "".join(f"{row}\n" for row in [*map(comment, self.remarks), *(prefix + row for row in rows)])


def write_module(title: str, jobs: Iterable[FunctionJob], schedules: Iterable[ScheduleText]) -> str:
    """The whole module."""
    job_texts = [job.text() for job in jobs]
    schedule_texts = [schedule.text() for schedule in schedules]
    body = "\n\n".join(["app = Fencepost()\n", *job_texts, "\n".join(schedule_texts)]).rstrip("\n")
    brought = sorted({line for job in jobs for line in job.imports()})
    parts = [
        f'"""{title}"""\n',
        f"from fencepost import {', '.join(_used(body))}\n",
        *(["".join(f"{line}\n" for line in brought)] if brought else []),
    ]
    return "\n".join(parts) + f"\n{body}\n"


def checked_path(path: str, what: str) -> str:
    """A dotted name, every part of which may stand in Python."""
    if _PATH.fullmatch(path) and not any(map(keyword.iskeyword, path.split("."))):
        return path
    raise InvalidSpec(f"{what} {quoted(path)}: no name that Python could import")


def function_name(name: str) -> str:
    """A name for the function of a job, which no other function has."""
    return "do_" + re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")


def literal(value: JsonValue) -> str:
    """A JSON value as Python."""
    match value:
        case str():
            plain = repr(value)
            return plain if "'" in value or '"' in value else f'"{plain[1:-1]}"'
        case dict():
            return "{" + ", ".join(f"{literal(name)}: {literal(one)}" for name, one in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(literal, value)) + "]"
    return repr(value)


def brief(value: JsonValue) -> str:
    """A JSON value as Python, cut where it is long: to be read by people."""
    text = literal(value)
    return text if len(text) <= BRIEF_LENGTH_MAX else f"{text[:BRIEF_LENGTH_MAX]}…"


def comment(text: str) -> str:
    """A comment that stays on its line."""
    plain = "".join(one if one.isprintable() else " " for one in text)
    short = plain if len(plain) <= COMMENT_LENGTH_MAX else f"{plain[:COMMENT_LENGTH_MAX]}…"
    return f"# {short}"


def _call(arguments: Iterable[JsonValue], options: Mapping[str, Any]) -> str:
    named = (f"{name}={literal(value)}" for name, value in options.items() if value is not None)
    return f"({', '.join([*map(literal, arguments), *named])})"


def _used(body: str) -> list[str]:
    names = (*KINDS, "CatchUp", "Fencepost", "PermanentFailure", "Retry")
    return sorted(name for name in names if re.search(rf"\b{name}\(", body))
