"""What a simulation shows: one row a tick, as values, as JSON and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from fencepost.model.durations import format_duration
from fencepost.model.json import JsonObject
from fencepost.model.times import to_utc_text

SHOWN_MAX = 200
HEADINGS = ("FIRE TIME", "STATE", "STARTED", "FINISHED", "LATE BY", "ATTEMPT", "REASON")


@dataclass(frozen=True)
class Row:
    """One tick and what became of it."""

    fire_time: datetime
    state: str
    reason: str | None
    run_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    attempt: int = 0

    def to_json(self) -> JsonObject:
        """As a run in JSON, as far as a simulation knows it."""
        return {
            "fire_time": to_utc_text(self.fire_time),
            "state": self.state,
            "reason": self.reason,
            "run_at": to_utc_text(self.run_at),
            "started_at": _text(self.started_at),
            "finished_at": _text(self.finished_at),
            "attempt": self.attempt,
        }

    def cells(self, zone: tzinfo | None) -> tuple[str, ...]:
        """As people read it."""
        late = None if self.started_at is None else self.started_at - self.run_at
        return (
            _shown(self.fire_time, zone),
            self.state,
            _shown(self.started_at, zone),
            _shown(self.finished_at, zone),
            format_duration(late) if late else "-",
            str(self.attempt or "-"),
            self.reason or "-",
        )


@dataclass(frozen=True)
class Simulation:
    """The ticks of a stretch of time, in order."""

    since: datetime
    until: datetime
    rows: tuple[Row, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, number: int) -> Row:
        return self.rows[number]

    @property
    def counts(self) -> Mapping[str, int]:
        """How many ticks ended in each state."""
        return Counter(row.state for row in self.rows)

    def to_json(self) -> JsonObject:
        """As `fencepost simulate --json` prints it."""
        return {
            "since": to_utc_text(self.since),
            "until": to_utc_text(self.until),
            "counts": dict(self.counts),
            "ticks": [row.to_json() for row in self.rows],
        }

    def table(self, zone: tzinfo | None = UTC) -> str:
        """One line a tick, its times in a zone, None being this machine's; of very many ticks only the first
        and the last."""
        half = SHOWN_MAX // 2
        cut = len(self.rows) > SHOWN_MAX
        shown = [*self.rows[:half], *self.rows[-half:]] if cut else self.rows
        cells = [HEADINGS, *(row.cells(zone) for row in shown)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in cells
        ]
        if cut:
            lines.insert(1 + half, f"… {len(self.rows) - SHOWN_MAX} more …")
        return "\n".join([*lines, self._summary()])

    def _summary(self) -> str:
        told = ", ".join(f"{count} {state}" for state, count in sorted(self.counts.items()))
        return f"{len(self.rows)} ticks: {told}" if self.rows else "no ticks"

    def __str__(self) -> str:
        return self.table()


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else to_utc_text(moment)


def _shown(moment: datetime | None, zone: tzinfo | None) -> str:
    if moment is None:
        return "-"
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"
