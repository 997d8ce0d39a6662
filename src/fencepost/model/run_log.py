"""What a run left to be read: lines, in chunks, each attempt's by itself.

Lines are counted from 0 for each attempt, and lines that were not kept count too. Where a chunk begins later
than the one before it ended, the lines between were dropped.
"""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import Ticket


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Some whole lines of one attempt, without the last line's end. Numbers rise from 1."""

    number: int
    first_line: int
    lines: int
    text: str

    @property
    def end_line(self) -> int:
        """The number of the line that would follow."""
        return self.first_line + self.lines


@dataclass(frozen=True, slots=True)
class LogPage:
    """What one attempt adds to its log, and which earlier chunks it replaces: those numbered more than
    `kept_through` and less than `kept_from`."""

    ticket: Ticket
    chunks: tuple[LogChunk, ...]
    kept_through: int = 0
    kept_from: int = 0


@dataclass(frozen=True, slots=True)
class LoggedChunk:
    """A chunk as the ledger has it, with the time at which it was written."""

    attempt: int
    chunk: LogChunk
    at: StoreTime

    @property
    def place(self) -> LogPlace:
        """Where to read on."""
        return LogPlace(self.attempt, self.chunk.number)


@dataclass(frozen=True, slots=True, order=True)
class LogPlace:
    """A place in the log of a run: behind that chunk of that attempt."""

    attempt: int
    number: int = 0


LOG_BEGIN = LogPlace(0)


@dataclass(frozen=True, slots=True)
class LogSpot:
    """How far a reader has read the log of a run."""

    namespace: Namespace
    run_key: RunKey
    place: LogPlace


def dropped_before(chunk: LogChunk, last: LogChunk | None) -> int:
    """How many lines were dropped between two chunks of one attempt, or before the first."""
    return max(chunk.first_line - (0 if last is None else last.end_line), 0)


def size_of(chunks: Iterable[LogChunk]) -> int:
    """The number of characters of text."""
    return sum(len(one.text) for one in chunks)
