"""Accounts: what an audit finds about one schedule, and about all of them.

A fire time is *recorded* when a run, in whatever state, or a missed range stands for it. It is *accounted*
for when that has ended: it ran, or the ledger says why it did not. `core.completeness` uses the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from fencepost.core.lifecycle import ENDED
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import RunKey, ScheduleId
from fencepost.model.run import RunState


class Kind(StrEnum):
    """What can be found, the gravest first."""

    MISSING = "missing"
    DOUBLED = "doubled"
    UNEXPECTED = "unexpected"
    MISCOUNTED = "miscounted"
    UNCERTAIN = "uncertain"
    OVERDUE = "overdue"
    STALE = "stale"
    DIFFERING = "differing"
    LATE = "late"


FAULTS = frozenset(Kind) - {Kind.LATE}


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One thing to look at. The keys are those of the runs, or the key that is missing."""

    kind: Kind
    schedule_id: ScheduleId
    fire_time: datetime
    version: int
    run_keys: tuple[RunKey, ...]
    words: str


@dataclass(frozen=True)
class Account:
    """What became of the expected fire times of one schedule in (since, until].

    `states` counts each expected fire time that is recorded once, by the state of its run; `counts`
    counts all findings, of which `findings` holds the first.
    """

    schedule_id: ScheduleId
    since: datetime
    until: datetime
    expected: int
    states: Mapping[RunState, int]
    counts: Mapping[Kind, int]
    findings: tuple[AuditFinding, ...]
    forgotten_before: datetime | None = None
    """When retention has cut the range: where it begins. None where the caller's own beginning stands."""
    notes: tuple[str, ...] = ()

    @property
    def recorded(self) -> int:
        """How many have a run, in whatever state, or lie in a missed range."""
        return sum(self.states.values())

    @property
    def due(self) -> int:
        return self.expected - self.states.get(RunState.PLANNED, 0)

    @property
    def accounted(self) -> int:
        """How many have ended: they ran, or the ledger says why they did not."""
        return sum(count for state, count in self.states.items() if state in ENDED)

    @property
    def succeeded(self) -> int:
        return self.states.get(RunState.SUCCEEDED, 0)

    @property
    def run_completeness(self) -> float:
        """The share of the expected fire times whose run succeeded."""
        return self.succeeded / self.expected if self.expected else 1.0

    @property
    def run_accounted(self) -> float:
        """The share of the due fire times that is accounted for, as `core.completeness` has it."""
        return self.accounted / self.due if self.due else 1.0

    @property
    def faults(self) -> int:
        return sum(count for kind, count in self.counts.items() if kind in FAULTS)

    @property
    def cut(self) -> bool:
        """Whether there were more findings than are kept."""
        return sum(self.counts.values()) > len(self.findings)

    def of(self, kind: Kind) -> list[AuditFinding]:
        """The findings of one kind that are kept."""
        return [one for one in self.findings if one.kind is kind]


@dataclass(frozen=True)
class Report:
    """The accounts of one or of all schedules over (since, until]."""

    since: datetime
    until: datetime
    accounts: tuple[Account, ...]

    @property
    def expected(self) -> int:
        return sum(one.expected for one in self.accounts)

    @property
    def recorded(self) -> int:
        return sum(one.recorded for one in self.accounts)

    @property
    def due(self) -> int:
        return sum(one.due for one in self.accounts)

    @property
    def accounted(self) -> int:
        return sum(one.accounted for one in self.accounts)

    @property
    def faults(self) -> int:
        return sum(one.faults for one in self.accounts)

    @property
    def counts(self) -> Mapping[Kind, int]:
        """All findings by kind, the gravest first."""
        return {
            kind: count for kind in Kind if (count := sum(one.counts.get(kind, 0) for one in self.accounts))
        }
