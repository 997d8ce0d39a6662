"""The effects of a chaos run: what every execution did to a world that knows nothing of the ledger.

A line is on the disk before the job goes on. The order of the lines is the order of arrival, because each is
appended in one piece to one file. A moment is taken from the clock that no fault touches, the machine's own
since its start: the wall clock of a process may be hours off on purpose.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from fencepost import Run
from tests.chaos import ledgers
from tests.chaos.sinks import DurableLines
from tests.history.model import Effect


def do(run: Run, sink: DurableLines) -> None:
    """Leave the trace of an execution."""
    sink.append(f"{run.key} {run.attempt} {run.fence} {time.monotonic_ns()}")


def read(lines: Iterable[str]) -> Iterator[Effect]:
    """The effects in the order of their arrival, each with what a sink that looks at fences would say: it
    takes what carries a fence not older than any that it has seen of the same schedule, or run by hand."""
    started_at = machine_start()
    newest: dict[str, int] = {}
    for line in lines:
        key, attempt, fence, at_ns = line.rsplit(" ", 3)
        source, number = _source(key), int(fence)
        taken = number >= newest.get(source, 0)
        newest[source] = max(number, newest.get(source, 0))
        at = started_at + timedelta(microseconds=int(at_ns) // 1_000)
        yield Effect(at, key, int(attempt), number, taken)


def machine_start() -> datetime:
    """When the monotonic clock stood at nothing, by the wall clock."""
    return ledgers.now() - timedelta(microseconds=time.monotonic_ns() // 1_000)


def _source(key: str) -> str:
    """The schedule of a tick; a run by hand stands for itself."""
    schedule, _, rest = key.partition("#")
    return schedule if "#" in rest else key
