"""The accounts of an effect drill.

What is asked at the end is simple. A run with a transaction has one row, written under the fence that the
ledger has of it, and no row is without a run. What may run at most once was started once at most. What is
fenced shows the highest fence. And the control has duplicates: the trouble was there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.sinks import DurableLines
from tests.effects.drill_app import (
    FENCED,
    IN_OWN,
    IN_TRANSACTION,
    ONCE_AT_MOST,
    OVER_APSW,
    OVERTAKEN,
    PLAIN,
    PLAIN_EFFECTS,
    REFUSED,
    STARTS,
)

WITH_A_ROW = (IN_TRANSACTION, *IN_OWN.values(), OVER_APSW)
SHOWN_MAX = 5


@dataclass
class Found:
    """The accounts."""

    runs: int = 0
    seconds: float = 0.0
    kills: int = 0
    stalls: int = 0
    rescued: int = 0
    told_lost: int = 0
    """Attempts whose transaction was refused because another has the run."""
    overtaken: int = 0
    """Writes that the fence refused."""
    plain_doubled: int = 0
    """Runs of the control whose effect happened more than once."""
    lost_for_good: int = 0
    """Runs that may run once at most, and were lost."""
    faults: list[str] = field(default_factory=list)

    def fault(self, what: str, keys: Iterable[str]) -> None:
        if some := sorted(keys):
            self.faults.append(f"{len(some)} {what}: {', '.join(some[:SHOWN_MAX])}")


class Accounts:
    """What the ledger says of its runs, held against what the world has."""

    def __init__(self, found: Found, runs: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
        self._found = found
        self._runs = runs
        self._folder = folder

    def of_ends(self) -> None:
        """Everything that may be tried again has succeeded."""
        late = (key for key, row in self._runs.items() if row["job"] != ONCE_AT_MOST)
        self._found.fault("runs did not succeed", (k for k in late if self._runs[k]["state"] != "succeeded"))
        self._found.told_lost = sum(map(len, self._lines(REFUSED).values()))

    def of_rows(self, sent: Iterable[Mapping[str, Any]]) -> None:
        """Transactions: one row a run, of the attempt that succeeded."""
        rows: defaultdict[str, list[int]] = defaultdict(list)
        for row in sent:
            rows[row["run_key"]].append(row["fence"])
        wanted = {key: row["fence"] for key, row in self._runs.items() if row["job"] in WITH_A_ROW}
        self._found.fault("runs without their row", wanted.keys() - rows.keys())
        self._found.fault("rows without a run", rows.keys() - wanted.keys())
        self._found.fault("runs with several rows", (key for key, fences in rows.items() if len(fences) > 1))
        other = (key for key, fences in rows.items() if fences[0] != wanted.get(key, fences[0]))
        self._found.fault("rows of another attempt than the ledger's", other)

    def of_the_control(self) -> None:
        """Plain effects: at least one each, and how many had more."""
        effects = self._lines(PLAIN_EFFECTS)
        self._found.plain_doubled = sum(len(fences) > 1 for fences in effects.values())
        self._found.fault("plain runs without an effect", self._of(PLAIN).keys() - effects.keys())

    def of_starts(self) -> None:
        """At most once: one start at most, and what was lost says so."""
        starts, mine = self._lines(STARTS), self._of(ONCE_AT_MOST)
        dead = {key for key, row in mine.items() if row["state"] == "dead"}
        self._found.lost_for_good = len(dead)
        twice = (key for key, fences in starts.items() if len(fences) > 1)
        self._found.fault("at_most_once runs that started twice", twice)
        # What a worker handed back before it began does not count.
        again = (key for key, row in mine.items() if row["attempt"] - row["spent"] > 1)
        self._found.fault("at_most_once runs tried again", again)
        silent = (key for key in dead if "lost" not in str(mine[key]["reason"]))
        self._found.fault("at_most_once runs dead for another reason", silent)
        self._found.fault("succeeded without a start", mine.keys() - dead - starts.keys())

    def of_fences(self, latest: Iterable[Mapping[str, Any]]) -> None:
        """Guards: what stands was written by the attempt with the highest fence."""
        self._found.overtaken = sum(map(len, self._lines(OVERTAKEN).values()))
        shown = {row["run_key"]: row["fence"] for row in latest}
        wrong = (key for key, row in self._of(FENCED).items() if shown.get(key) != row["fence"])
        self._found.fault("fenced values that are not those of the highest fence", wrong)

    def _of(self, job: str) -> dict[str, Mapping[str, Any]]:
        return {key: row for key, row in self._runs.items() if row["job"] == job}

    def _lines(self, name: str) -> defaultdict[str, list[int]]:
        """The fences of each run's lines."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for line in DurableLines(self._folder / name).lines():
            key, _, fence = line.rpartition(" ")
            found[key].append(int(fence))
        return found
