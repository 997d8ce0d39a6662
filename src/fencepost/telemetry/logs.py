"""Structured log lines: key=value for people, JSON on request.

An event is a name and fields. Every line about a run carries its key, because it is written by a function
that takes the run first.

Jobs share the process, and one may close stderr. So the lines go there by a descriptor of their own, and no
fault in writing one gets as far as the service that has written it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TextIO

from fencepost.model.masking import masked_text
from fencepost.model.secret import MASK
from fencepost.telemetry.secrets import mask
from fencepost.telemetry.traces.ids import Keyed, trace_text
from fencepost.telemetry.traces.switch import is_on

ROOT = "fencepost"
FIELDS = "fencepost_fields"
OWN_FIELDS = frozenset(("run", "run_key", "job", "schedule", "schedule_id"))
"""The fields that say what a line is about. Secrets are not masked in these: else a run whose key happens to
contain the value of some variable could not be followed."""
TRACEBACK = "traceback"
"""The field that people read as lines of its own, below the line."""
STDERR = 2
_own: list[TextIO] = []
"""Stderr by a descriptor of our own, once it has been made."""
_in_json = json.JSONEncoder(ensure_ascii=False).encode


class Log:
    """A logger of one part of the house."""

    def __init__(self, part: str) -> None:
        self._logger = logging.getLogger(f"{ROOT}.{part}")

    def debug(self, event: str, **fields: Any) -> None:
        self._write(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        self._write(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._write(logging.WARNING, event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._write(logging.ERROR, event, fields)

    @property
    def is_debug(self) -> bool:
        """Whether debug lines are written at all."""
        return self._logger.isEnabledFor(logging.DEBUG)

    def run(self, run: Keyed, event: str, **fields: Any) -> None:
        """A line about a run."""
        self._write_of(run, logging.INFO, event, fields)

    def run_debug(self, run: Keyed, event: str, **fields: Any) -> None:
        """A debug line about a run."""
        self._write_of(run, logging.DEBUG, event, fields)

    def run_warning(self, run: Keyed, event: str, **fields: Any) -> None:
        """A line about a run that an operator may want to see."""
        self._write_of(run, logging.WARNING, event, fields)

    def _write_of(self, run: Keyed, level: int, event: str, fields: dict[str, Any]) -> None:
        """A line with the run's key, and with its trace where there are traces."""
        if self._logger.isEnabledFor(level):
            trace = {"trace_id": trace_text(run)} if is_on() else {}
            self._write(level, event, {"run_key": run.run_key, **fields, **trace})

    def _write(self, level: int, event: str, fields: dict[str, Any]) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, event, extra={FIELDS: fields})


class PlainFormatter(logging.Formatter):
    """`12:00:01.123 info planner planned runs=12`."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")[:-3]
        part = record.name.removeprefix(f"{ROOT}.")
        said = dict(_fields(record))
        below = said.pop(TRACEBACK, None)
        fields = "".join(f" {name}={_plain(name, value)}" for name, value in said.items())
        trace = f"{_trace(record)}\n{below.rstrip()}" if below else _trace(record)
        told = f"{_struck(record.getMessage())}{fields}{_struck(trace)}"
        return f"{moment} {record.levelname.lower():7} {part} {told}"


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "part": record.name.removeprefix(f"{ROOT}."),
            "event": _struck(record.getMessage()),
            **{name: _shown(name, value) for name, value in _fields(record).items()},
        }
        if record.exc_info:
            line["traceback"] = _struck(self.formatException(record.exc_info))
        return _in_json(line)


def _shown(name: str, value: Any) -> Any:
    """The value of a field without secrets in its texts: a driver may name its own password."""
    match value:
        case dict():
            return {_struck(str(inner)): _shown("", one) for inner, one in value.items()}
        case list() | tuple():
            return [_shown("", one) for one in value]
        case None | bool():
            return value
        case int() | float():
            told = str(value)
            return value if mask(told) == told else MASK
    return masked_text(str(value)) if name in OWN_FIELDS else _struck(str(value))


def _struck(text: str) -> str:
    """The text without the secrets that this process has read, and without what looks like one. The known
    secrets go first: the other step may find only a piece of one."""
    return masked_text(mask(text)) if text else text


def set_up_logging(level: str = "info", as_json: bool = False, stream: TextIO | None = None) -> None:
    """Write Fencepost's lines to stderr; the rest of the process keeps its own logging."""
    handler = _Lines(stream or _own_stderr() or sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else PlainFormatter())
    logger = logging.getLogger(ROOT)
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False


class _Lines(logging.StreamHandler[TextIO]):
    """A line that cannot be written is lost, and nothing else."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        with suppress(Exception):
            super().handleError(record)


def keep_stderr() -> None:
    """Give the process its stderr back where a job has closed it: warnings and tracebacks of others go there,
    and the next file that is opened must not become it. This is asked after every run: no call says sooner
    whether a descriptor is open."""
    for own in _own:
        try:
            os.get_inheritable(STDERR)
        except OSError:
            os.dup2(own.fileno(), STDERR)
        if sys.stderr is None or sys.stderr.closed:
            sys.stderr = own


def _own_stderr() -> TextIO | None:
    """Stderr by a descriptor of our own; None where it is none of the system's, as in a test."""
    with suppress(AttributeError, OSError, ValueError):
        if not _own and sys.stderr.fileno() == STDERR:
            _own.append(os.fdopen(os.dup(STDERR), "w", 1, sys.stderr.encoding, "backslashreplace"))
        if sys.stderr.fileno() == STDERR:
            return _own[0]
    return None


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = getattr(record, FIELDS, {})
    return fields


def _plain(name: str, value: Any) -> str:
    if isinstance(value, float):
        text = mask(f"{value:.3f}".rstrip("0").rstrip("."))
    else:
        text = masked_text(str(value)) if name in OWN_FIELDS else _struck(str(value))
    return _in_json(text) if not text or any(c in text for c in ' "=\n') else text


def _trace(record: logging.LogRecord) -> str:
    return "\n" + logging.Formatter().formatException(record.exc_info) if record.exc_info else ""
