"""Evidence: all facts for the explanation of one tick. A service gathers them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime

from fencepost.model.audit import Action, Entry
from fencepost.model.chain import Chain
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.freeze import Freeze
from fencepost.model.gate import ClosedGate
from fencepost.model.identifiers import JobName, NodeId, RunKey, ScheduleId
from fencepost.model.missed import MissedRange
from fencepost.model.plan import Tick
from fencepost.model.run import Attempt, RunRecord
from fencepost.model.schedule import Schedule, ScheduleVersion

HORIZON_S = 60.0


@dataclass(frozen=True)
class Evidence:
    """What is known of one fire time of a schedule, or of a run that was enqueued by hand.

    `version` is the one in force at the fire time, `tick` what it asks for there; `before` and `after` are
    the nearest fire times around it. `entries` are those of the audit log about the schedule and its runs
    here, newest first.
    """

    fire_time: datetime
    now: StoreTime
    schedule_id: ScheduleId | None = None
    schedule: Schedule | None = None
    versions: tuple[ScheduleVersion, ...] = ()
    version: ScheduleVersion | None = None
    tick: Tick | None = None
    before: datetime | None = None
    after: datetime | None = None
    runs: tuple[RunRecord, ...] = ()
    attempts: Mapping[RunKey, Sequence[Attempt]] = field(default_factory=dict)
    chains: Mapping[RunKey, Chain] = field(default_factory=dict)
    """What the runs followed, and what follows them."""
    missed: MissedRange | None = None
    forgotten_before: datetime | None = None
    gate: ClosedGate | None = None
    freezes: tuple[Freeze, ...] = ()
    entries: tuple[Entry, ...] = ()
    workers: frozenset[NodeId] = frozenset()
    unserved: JobName | None = None
    """The job of the schedule, where no running process has it; None where one has it."""
    horizon_s: float = HORIZON_S

    def who(self, subject: str | None, *actions: Action) -> str:
        """` by anna (cli on web-3): "quarter end"`, of the last who did it; empty where no entry is found."""
        return by_whom(one for one in self.entries if one.subject == subject and one.action in actions)


def by_whom(entries: Iterable[Entry]) -> str:
    """The author of the first entry, in words that follow a verb."""
    for one in entries:
        reason = f': "{one.author.reason}"' if one.author.reason else ""
        return f" by {one.author.name} ({one.author.source}){reason}"
    return ""
