"""What a drill keeps outside of the system: the acknowledged keys, and the effects of every execution.

Both are files of lines, each line on the disk before anything else happens. So whatever is killed, a key in
the book was acknowledged, and an effect in the sink has happened.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.chaos.ledgers import Ledger

SHOWN_MAX = 5

RUN_KEYS = "SELECT run_key FROM {0}runs WHERE schedule_id IS NULL"
SCHEDULES = "SELECT schedule_id FROM {0}schedules"
RUNS = "SELECT run_key, state, attempt, fence FROM {0}runs"


class DurableLines:
    """A file that is only appended to, by any number of processes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, line: str) -> None:
        """It is on the disk once this returns."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, f"{line}\n".encode())
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)

    def lines(self) -> Sequence[str]:
        return self.path.read_text().splitlines() if self.path.exists() else ()


@dataclass(frozen=True)
class Effect:
    """One execution as the world saw it."""

    run_key: str
    attempt: int
    fence: int

    def __str__(self) -> str:
        return f"{self.run_key} {self.attempt} {self.fence}"

    @classmethod
    def read(cls, line: str) -> Effect:
        run_key, attempt, fence = line.rsplit(" ", 2)
        return cls(run_key, int(attempt), int(fence))


async def check_acknowledged(ledger: Ledger, book: Iterable[str]) -> int:
    """Every acknowledged run and schedule is there; how many those are."""
    kept = {row["run_key"] for row in await ledger.query(RUN_KEYS)}
    kept |= {row["schedule_id"] for row in await ledger.query(SCHEDULES)}
    acknowledged = Counter(book)
    lost = acknowledged.keys() - kept
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged are lost: {_some(lost)}"
    assert max(acknowledged.values(), default=1) == 1, "a key was acknowledged twice"
    return len(acknowledged)


async def check_effects(ledger: Ledger, sink: Iterable[str]) -> int:
    """What the ledger says was done was done, and nothing was done more often than the ledger says."""
    effects = [Effect.read(line) for line in sink]
    runs = {row["run_key"]: row for row in await ledger.query(RUNS)}
    by_run: defaultdict[str, list[Effect]] = defaultdict(list)
    for effect in effects:
        by_run[effect.run_key].append(effect)
    empty = [key for key, row in runs.items() if not _is_told_of(row, by_run.get(key, []))]
    assert not empty, f"{len(empty)} runs succeeded without their effect: {_some(empty)}"
    excess = [key for key, seen in by_run.items() if not _are_accounted_for(runs.get(key), seen)]
    shown = [(runs.get(key), by_run[key]) for key in excess[:SHOWN_MAX]]
    assert not excess, f"{len(excess)} runs had effects that the ledger does not know of: {shown}"
    return len(effects)


def _is_told_of(run: Mapping[str, Any], seen: Sequence[Effect]) -> bool:
    """A run that succeeded did so in an attempt that had its effect under its fence."""
    return run["state"] != "succeeded" or Effect(run["run_key"], run["attempt"], run["fence"]) in seen


def _are_accounted_for(run: Mapping[str, Any] | None, seen: Sequence[Effect]) -> bool:
    """One effect an attempt at most, of attempts that the ledger has counted, under fences that rise."""
    in_order = sorted(seen, key=lambda effect: effect.attempt)
    fences = [effect.fence for effect in in_order]
    return (
        run is not None
        and len({effect.attempt for effect in seen}) == len(seen)
        and in_order[-1].attempt <= run["attempt"]
        and all(earlier < later for earlier, later in pairwise(fences))
    )


def _some(keys: Iterable[str]) -> str:
    return ", ".join(sorted(keys)[:SHOWN_MAX])
