"""What a process writes while it works on a run: lines for the run's log, and a tail to keep.

A process can write more than people will ever read. The tail keeps the end, and the run's log bounds itself:
it keeps the first lines and the last. A very long line is logged in pieces. Bytes that are not UTF-8 are
shown as replacement characters, and never fail a run.
"""

from __future__ import annotations

import codecs

from fencepost.ports.run import Run
from fencepost.telemetry.secrets import mask, seam

OUTPUT_KEPT_BYTES = 64 * 1024
MARGIN = 4 * 1024
"""Held beyond what is cut off: a secret that the cut went through would not be known as one."""
PIECE_LENGTH = 8 * 1024
"""What the run's log takes as one line."""


class Output:
    """The output of one run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._tail = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unfinished = ""

    def feed(self, data: bytes) -> None:
        """The next bytes, cut wherever the pipe cut them."""
        self._tail += data
        del self._tail[: -(OUTPUT_KEPT_BYTES + MARGIN)]
        *lines, rest = (self._unfinished + self._decoder.decode(data)).split("\n")
        pieces, self._unfinished = _begun(rest)
        self._log([piece for line in lines for piece in _pieces(line)] + pieces)

    def end_line(self) -> None:
        """Log what was written without an end of line."""
        rest = self._unfinished + self._decoder.decode(b"", final=True)
        self._unfinished = ""
        if rest:
            self._log(_pieces(rest))

    @property
    def kept(self) -> str | None:
        """The end of it, masked before it is cut; None where nothing was written."""
        text = mask(self._tail.decode("utf-8", "replace")) or None
        return text and text[-OUTPUT_KEPT_BYTES:]

    def _log(self, lines: list[str]) -> None:
        """All of them in one call: one for each would hold up the loop where lines are short and many."""
        if lines:
            # An empty line at the end needs an end of its own to be seen.
            self._run.log("\n".join(lines) + ("" if lines[-1] else "\n"))


def _pieces(line: str) -> list[str]:
    """A whole line, masked before it is cut."""
    if len(line) <= PIECE_LENGTH:
        return [line]
    return _cut(mask(line))


def _begun(line: str) -> tuple[list[str], str]:
    """The pieces of a line that goes on, and what is held back of it: the next bytes may show that its end
    is the beginning of a secret."""
    if len(line) < PIECE_LENGTH + MARGIN:
        return [], line
    done = seam(line, (len(line) - MARGIN) // PIECE_LENGTH * PIECE_LENGTH)
    return _cut(mask(line[:done])), line[done:]


def _cut(text: str) -> list[str]:
    return [text[start : start + PIECE_LENGTH] for start in range(0, len(text), PIECE_LENGTH)]
