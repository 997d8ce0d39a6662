"""The log of one attempt on its way to the ledger: what is kept of it, and what has not been written yet.

A job may write from any thread, a line a day or a gigabyte at once. Lines are gathered in chunks. The first
chunks, up to half of the limit, are kept for good: they show how it began. Of all later chunks the last ones
are kept, up to the other half: they show how it ended. In between the oldest chunk gives way to the newest,
whether it has been written already or not. So neither the memory of the worker nor the rows of the ledger
grow with what a job writes, and nothing is written twice.

Secrets that can be recognised by their form are masked when a chunk is handed out to be written; a chunk that
gives way before that is not masked.
"""

from __future__ import annotations

from collections import deque
from threading import Lock

from fencepost.core.masking import masked_text
from fencepost.model.run import Ticket
from fencepost.model.run_log import LogChunk, LogPage
from fencepost.model.text import cleaned
from fencepost.telemetry.secrets import mask

RUN_LOG_MAX = 256 * 1024
LINE_LENGTH_MAX = 8 * 1024
CHUNKS_PER_LOG = 16
CHUNK_COST = 64
"""What a chunk counts in addition to its text, so that the number of short ones is bounded too."""


class RunLog:
    """Lines of one attempt. Every call may be made from any thread."""

    _open_size = _lines = _number = _head_last = _tail_size = 0

    def __init__(self, ticket: Ticket, bytes_max: int = RUN_LOG_MAX) -> None:
        self._ticket = ticket
        self._chunk_max = max(bytes_max // CHUNKS_PER_LOG, 1)
        self._head_left = bytes_max // 2
        self._tail_max = bytes_max - self._head_left
        self._lock = Lock()
        self._open: list[str] = []
        self._tail: deque[tuple[int, int]] = deque()
        self._unwritten: dict[int, LogChunk] = {}

    @property
    def is_written(self) -> bool:
        """Whether the ledger has all of it."""
        return not self._open and not self._unwritten

    def write(self, text: str) -> None:
        """Take one or more lines."""
        lines = [_bounded(line) for line in text.splitlines() or [""]]
        with self._lock:
            for line in lines:
                self._open.append(line)
                self._open_size += len(line.encode("utf-8", "replace")) + 1
                if self._open_size >= self._chunk_max:
                    self._seal()

    def page(self) -> LogPage | None:
        """What is still to be written; None where there is nothing."""
        if self.is_written:
            return None
        with self._lock:
            self._seal()
            chunks = tuple(self._unwritten.values())
            kept_from = self._tail[0][0] if self._tail else 0
            kept_through = self._head_last
        if not chunks:
            return None
        return LogPage(self._ticket, tuple(map(_masked, chunks)), kept_through, kept_from)

    def written(self, page: LogPage) -> None:
        """The ledger has the page."""
        with self._lock:
            for chunk in page.chunks:
                self._unwritten.pop(chunk.number, None)

    def _seal(self) -> None:
        """Make a chunk of the lines so far."""
        if not self._open:
            return
        self._number += 1
        chunk = LogChunk(self._number, self._lines, len(self._open), "\n".join(self._open))
        size = self._open_size + CHUNK_COST
        self._lines, self._open, self._open_size = chunk.end_line, [], 0
        self._unwritten[chunk.number] = chunk
        if self._head_left >= size and not self._tail:
            self._head_left -= size
            self._head_last = chunk.number
        else:
            self._tail.append((chunk.number, size))
            self._tail_size += size
            self._give_way()

    def _give_way(self) -> None:
        while self._tail_size > self._tail_max and len(self._tail) > 1:
            number, size = self._tail.popleft()
            self._tail_size -= size
            self._unwritten.pop(number, None)


def _bounded(line: str) -> str:
    """The line, or the beginning of a very long one. It is masked before it is cut: half a secret does not
    look like one."""
    if len(line) <= LINE_LENGTH_MAX:
        return line
    begun = masked_text(mask(line[: 2 * LINE_LENGTH_MAX]))[:LINE_LENGTH_MAX]
    return f"{begun}… ({len(line)} characters)"


def _masked(chunk: LogChunk) -> LogChunk:
    text = "\n".join(masked_text(cleaned(line)) for line in mask(chunk.text).split("\n"))
    return LogChunk(chunk.number, chunk.first_line, chunk.lines, text)
