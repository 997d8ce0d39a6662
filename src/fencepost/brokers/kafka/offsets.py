"""What one consumer group has finished of one partition.

Kafka keeps one offset for a group and partition: everything before it is finished. Messages are acknowledged
in any order, so the offset that is committed is the lowest one that is not yet finished. What is finished
above it stands beside it, in the text that Kafka keeps with each committed offset, as ranges counted from
that offset: `fencepost:1-3,7`. Another client of the group ignores the text, and gets those messages again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

MARK = "fencepost:"
NOTE_MAX = 4_000
"""Characters; a server keeps 4096 bytes unless it is told otherwise. What does not fit may come again."""

Range = tuple[int, int]
"""The first and the last offset."""


class PartitionOffsets:
    """`position` is the offset that is read next; -1 until that is known."""

    def __init__(self, position: int = -1, note: str = "") -> None:
        self.position = position
        self.open: dict[int, Any] = {}
        """The records that were read and are not finished, in the order of their offsets."""
        self._finished = _Finished(_read(position, note))
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
        if not self.open:
            self.position = self._finished.next_after(self.position)
        lowest = next(iter(self.open), self.position)
        self._finished.forget_before(lowest)
        found = lowest, _write(lowest, self._finished)
        return found if found != self.committed else None


class _Finished:
    """Offsets, as ranges that do not touch: beside one record that is held for hours, all others are one."""

    def __init__(self, ranges: Iterator[Range]) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in sorted(ranges):
            self._firsts.append(first)
            self._lasts.append(last)

    def __iter__(self) -> Iterator[Range]:
        return zip(self._firsts, self._lasts, strict=True)

    def __contains__(self, offset: int) -> bool:
        return self.next_after(offset) != offset

    def next_after(self, offset: int) -> int:
        """The offset itself, or the first one after the range that it is in."""
        at = bisect_right(self._firsts, offset) - 1
        return self._lasts[at] + 1 if at >= 0 and offset <= self._lasts[at] else offset

    def add(self, offset: int) -> None:
        """One that is not there yet."""
        at = bisect_right(self._firsts, offset)
        after = at < len(self._firsts) and self._firsts[at] == offset + 1
        if at and self._lasts[at - 1] == offset - 1:
            self._lasts[at - 1] = self._lasts.pop(at) if after else offset
            del self._firsts[at : at + after]
        elif after:
            self._firsts[at] = offset
        else:
            self._firsts.insert(at, offset)
            self._lasts.insert(at, offset)

    def forget_before(self, offset: int) -> None:
        """Ranges that end before it. It is in none."""
        at = bisect_right(self._firsts, offset)
        del self._firsts[:at], self._lasts[:at]


def finished_beyond(offset: int, note: str) -> int:
    """How many messages after the committed offset are finished."""
    return sum(last - first + 1 for first, last in _read(offset, note))


def _write(start: int, ranges: _Finished) -> str:
    text = MARK
    for first, last in ranges:
        shown = f"{first - start}-{last - start}" if first < last else f"{first - start}"
        if len(text) + len(shown) > NOTE_MAX:
            break
        text += f"{shown},"
    return text[:-1] if text != MARK else ""


def _read(start: int, note: str) -> Iterator[Range]:
    """The offsets in a text of ours; of another client's text, none."""
    if not note.startswith(MARK):
        return
    for part in note.removeprefix(MARK).split(","):
        first, _, last = part.partition("-")
        yield start + int(first), start + int(last or first)
