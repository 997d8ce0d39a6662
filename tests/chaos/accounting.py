"""The accounts of a drill: every tick that a trigger names has exactly one row, and no other row is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from fencepost.model.codec import schedule_from_text
from fencepost.triggers import decode

SHOWN_MAX = 10

Tick = tuple[str, datetime]


class Row(Protocol):
    """What a driver of whatever kind answers with."""

    def __getitem__(self, column: str, /) -> Any: ...


@dataclass(frozen=True)
class Account:
    """What the triggers ask for, held against what the ledger has."""

    expected: int
    missed: Sequence[Tick]
    doubled: Sequence[Tick]
    unasked: Sequence[Tick]

    @property
    def is_exact(self) -> bool:
        return not (self.missed or self.doubled or self.unasked)

    def __str__(self) -> str:
        return (
            f"{self.expected} ticks expected; missed: {_shown(self.missed)}; "
            f"doubled: {_shown(self.doubled)}; not asked for: {_shown(self.unasked)}"
        )


def account(versions: Iterable[Row], recorded: Iterable[Row], until: datetime) -> Account:
    """Compare rows of `schedule_versions` with rows of `runs`; a drill edits no schedule."""
    expected: set[Tick] = set()
    for row in versions:
        assert row["version"] == 1, row["schedule_id"]
        trigger = decode(schedule_from_text(row["spec"]).trigger)
        fire_times = trigger.fire_times(row["in_force_from"], until)
        expected.update((row["schedule_id"], fire_time) for fire_time in fire_times)
    found = Counter((row["schedule_id"], row["fire_time"]) for row in recorded)
    return Account(
        expected=len(expected),
        missed=sorted(expected - found.keys()),
        doubled=sorted(tick for tick, rows in found.items() if rows > 1),
        unasked=sorted(found.keys() - expected),
    )


def _shown(ticks: Sequence[Tick]) -> str:
    listed = ", ".join(f"{schedule} at {at:%H:%M:%S.%f}" for schedule, at in ticks[:SHOWN_MAX])
    return f"{len(ticks)} ({listed}, …)" if ticks else "0"
