"""What a job writes with `logging` while it runs, kept with its run.

One handler at the root of the process's loggers gets every line and looks into the context in which it was
written: there the worker has left where the lines of that run go. A context travels with the tasks that a
job starts, with `asyncio.to_thread`, and with the thread in which a plain function runs. A thread that the
function starts by itself has none, and its lines belong to the process only. Fencepost's own lines never
belong to a run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from copy import copy
from typing import TypeAlias

from fencepost.telemetry.logs import FIELDS, ROOT, PlainFormatter
from fencepost.telemetry.traces.switch import is_on

Keep: TypeAlias = Callable[[str], None]

KEEP: ContextVar[Keep | None] = ContextVar("fencepost_run_lines", default=None)
"""Where the lines of this context's run go."""


class RunLines(logging.Handler):
    """Hands each line to the run that it belongs to."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(PlainFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == ROOT or record.name.startswith(f"{ROOT}."):
            return
        if not _is_heard(record.name, self):
            _as_before(record)
        keep = KEEP.get()
        if keep is not None:
            try:
                keep(self.format(_traced(record)))
            except Exception:
                self.handleError(record)


def keep_run_lines() -> RunLines:
    """Hear the lines of this process, from now on; once is enough.

    Where the program has not set up logging, nothing below a warning would get this far: then the root's
    level is lowered to `info`, which changes nothing of what such a process shows.
    """
    root = logging.getLogger()
    for known in root.handlers:
        if isinstance(known, RunLines):
            return known
    if not root.handlers and root.level == logging.WARNING:
        root.setLevel(logging.INFO)
    handler = RunLines()
    root.addHandler(handler)
    return handler


def _traced(record: logging.LogRecord) -> logging.LogRecord:
    """The line with the trace that it was written in, where there are traces."""
    if not is_on():
        return record
    from fencepost.telemetry.traces.tracing import present_trace

    trace = present_trace()
    if trace is None:
        return record
    line = copy(record)
    setattr(line, FIELDS, {**getattr(record, FIELDS, {}), "trace_id": trace})
    return line


def _is_heard(name: str, handler: logging.Handler) -> bool:
    """Whether any other handler gets the lines of a logger."""
    logger: logging.Logger | None = logging.getLogger(name)
    while logger is not None:
        if any(one is not handler for one in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


def _as_before(record: logging.LogRecord) -> None:
    """Show a line without another handler where Python shows it in a process without any handler."""
    last = logging.lastResort
    if last is not None and record.levelno >= last.level:
        last.handle(record)
