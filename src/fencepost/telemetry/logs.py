"""Structured log lines: key=value for people, JSON on request.

An event is a name and fields. Every line about a run carries its key, because it is written by a function
that takes the key first.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

ROOT = "fencepost"
FIELDS = "fencepost_fields"


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

    def run(self, run_key: str, event: str, **fields: Any) -> None:
        """A line about a run."""
        self._write(logging.INFO, event, {"run_key": run_key, **fields})

    def run_warning(self, run_key: str, event: str, **fields: Any) -> None:
        """A line about a run that an operator may want to see."""
        self._write(logging.WARNING, event, {"run_key": run_key, **fields})

    def _write(self, level: int, event: str, fields: dict[str, Any]) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, event, extra={FIELDS: fields})


class PlainFormatter(logging.Formatter):
    """`12:00:01.123 info planner planned runs=12`."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")[:-3]
        part = record.name.removeprefix(f"{ROOT}.")
        fields = "".join(f" {key}={_plain(value)}" for key, value in _fields(record).items())
        return f"{moment} {record.levelname.lower():7} {part} {record.getMessage()}{fields}{_trace(record)}"


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "part": record.name.removeprefix(f"{ROOT}."),
            "event": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def set_up_logging(level: str = "info", as_json: bool = False, stream: TextIO | None = None) -> None:
    """Write the house's lines to stderr; the rest of the process keeps its own logging."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else PlainFormatter())
    logger = logging.getLogger(ROOT)
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = getattr(record, FIELDS, {})
    return fields


def _plain(value: Any) -> str:
    text = f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' "=\n') else text


def _trace(record: logging.LogRecord) -> str:
    return "\n" + logging.Formatter().formatException(record.exc_info) if record.exc_info else ""
