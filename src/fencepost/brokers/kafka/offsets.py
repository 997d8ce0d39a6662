"""What one consumer group has finished of one partition.

Kafka keeps one offset for a group and partition: everything before it is finished. Messages are acknowledged
in any order, so the offset that is committed is the lowest one that is not yet finished. What is finished
above it stands beside it, in the text that Kafka keeps with each committed offset, as ranges counted from
that offset: `fencepost:1-3,7`. Another client of the group ignores the text, and gets those messages again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MARK = "fencepost:"
NOTE_MAX = 4_000
"""Characters; a server keeps 4096 bytes unless it is told otherwise. What does not fit may come again."""


class PartitionOffsets:
    """`position` is the offset that is read next; -1 until that is known."""

    def __init__(self, position: int = -1, note: str = "") -> None:
        self.position = position
        self.open: dict[int, Any] = {}
        """The records that were read and are not finished, in the order of their offsets."""
        self._finished = set(_read(position, note))
        self.committed = (position, note)

    def take(self, offset: int, record: object) -> bool:
        """Whether the record that was read is new and unfinished."""
        if offset < self.position:
            return False
        self.position = offset + 1
        if offset in self._finished:
            return False
        self.open[offset] = record
        return True

    def finish(self, offset: int) -> None:
        """It is done; doing it twice is fine."""
        if self.open.pop(offset, None) is not None:
            self._finished.add(offset)

    def due(self) -> tuple[int, str] | None:
        """What to commit, where that differs from what is committed."""
        if self.position < 0:
            return None
        lowest = next(iter(self.open), self.position)
        self._finished = {one for one in self._finished if one > lowest}
        found = lowest, _write(lowest, sorted(self._finished))
        return found if found != self.committed else None


def finished_beyond(offset: int, note: str) -> int:
    """How many messages after the committed offset are finished."""
    return len(list(_read(offset, note)))


def _write(start: int, offsets: list[int]) -> str:
    ranges: list[list[int]] = []
    for one in offsets:
        if ranges and ranges[-1][1] == one - 1:
            ranges[-1][1] = one
        else:
            ranges.append([one, one])
    text = ",".join(f"{a - start}-{b - start}" if a < b else f"{a - start}" for a, b in ranges)
    kept = text if len(text) <= NOTE_MAX else text[:NOTE_MAX].rpartition(",")[0]
    return kept and MARK + kept


def _read(start: int, note: str) -> Iterator[int]:
    """The offsets in a text of ours; of another client's text, none."""
    if not note.startswith(MARK):
        return
    for part in note.removeprefix(MARK).split(","):
        first, _, last = part.partition("-")
        yield from range(start + int(first), start + int(last or first) + 1)
