"""What the limits of jobs leave to ticks, while one pass judges the ticks of several schedules.

The judge is only told how many may start: as many as the worker has room for, and as the limits of the
ticks' jobs allow. So every tick that it starts may start. A tick without a verdict that its job's limits keep
from starting is held until a slot is free or the rate lets it go; else its schedule would be judged over and
over.

Where the due ticks of one schedule are of several jobs or slots, because it was edited, the smallest
allowance counts for all: nothing ever starts beyond a limit, and the others come when the first has gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from fencepost.model.claiming import Admit, DueTick, End, ScheduleFacts, Start, Verdict, Wait
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import JobName, Namespace, RunKey
from fencepost.model.limits import Candidate, Limiter, LimitFacts, LimitVerdict, Waiting
from fencepost.model.run import Hold

Owner: TypeAlias = tuple[Namespace, JobName]

NO_RULING = LimitVerdict()
CANDIDATES_MAX = 200


def candidates_max(room: int) -> int:
    """How many runs of a limit queue are looked at: some may have to wait for a slot, and later ones may
    go."""
    return min(2 * room + 20, CANDIDATES_MAX)


@dataclass(slots=True)
class Allowances:
    """The limits of the jobs of some due ticks. Another claimer has those of `closed` jobs, or there is no
    limiter to ask: their ticks are left as they are."""

    now: StoreTime
    limiter: Limiter | None = None
    open: dict[Owner, LimitFacts] = field(default_factory=dict)
    closed: frozenset[Owner] = frozenset()
    verdicts: dict[Owner, LimitVerdict] = field(default_factory=dict)
    """The verdict on each job's limits after all that was started."""
    waits: list[tuple[Namespace, Waiting]] = field(default_factory=list)
    frees: list[tuple[Namespace, RunKey]] = field(default_factory=list)
    """Ticks that waited, may start, and found no room."""
    full: set[tuple[Namespace, JobName, str]] = field(default_factory=set)
    """The slots that have no place left for one of these ticks. A tick that is only held back with another
    waits for no slot of its own: to wake it for a slot would have it judged, and held again, without end."""
    slots: dict[tuple[Namespace, RunKey], str] = field(default_factory=dict)
    """The slot that each tick that starts counts for."""

    def room_for(self, facts: ScheduleFacts, room: int) -> int:
        """How many of the schedule's due ticks may start."""
        owners = self._limited(facts)
        if any(owner in self.closed for owner in owners):
            return 0
        return min([room, *(self._least(owner, ticks) for owner, ticks in owners.items())])

    def settle(self, facts: ScheduleFacts, verdicts: Sequence[Verdict]) -> None:
        """Take in the judge's verdicts: ticks that start use up room, the rest waits."""
        started = {one.run_key for one in verdicts if isinstance(one, Start)}
        told = started | {one.run_key for one in verdicts if isinstance(one, End | Admit | Wait)}
        owners = {owner: ticks for owner, ticks in self._limited(facts).items() if owner not in self.closed}
        for owner, ticks in owners.items():
            self._start(owner, [one for one in ticks if one.run_key in started])
        left = {
            owner: [one for one in ticks if one.run_key not in told and not one.parked]
            for owner, ticks in owners.items()
        }
        self._hold(facts.namespace, left)

    def _limited(self, facts: ScheduleFacts) -> Mapping[Owner, list[DueTick]]:
        found: dict[Owner, list[DueTick]] = {}
        for tick in facts.due:
            owner = facts.namespace, tick.job
            if owner in self.open or owner in self.closed:
                found.setdefault(owner, []).append(tick)
        return found

    def _least(self, owner: Owner, ticks: Sequence[DueTick]) -> int:
        """As many as of any one slot may start: those of the others are held back with them."""
        slots = {self._slot(owner, one) for one in ticks}
        return min(len(self._ask(owner, [_like(one, slot) for one in ticks]).starts) for slot in slots)

    def _start(self, owner: Owner, ticks: Sequence[DueTick]) -> None:
        if not ticks:
            return
        candidates = [_like(one, self._slot(owner, one)) for one in ticks]
        verdict = self._ask(owner, candidates)
        assert len(verdict.starts) == len(ticks), "the judge started more runs than their limits allow"
        self.verdicts[owner] = verdict
        self.open[owner] = replace(self.open[owner], running=verdict.running, paid_until=verdict.paid_until)
        self.slots.update({(owner[0], one.run_key): one.slot for one in candidates})

    def _hold(self, namespace: Namespace, left: Mapping[Owner, Sequence[DueTick]]) -> None:
        """Hold the ticks that may not start. Ticks that may start are due, but not where another kind waits:
        they would be judged, and held back with it, over and over."""
        free: list[DueTick] = []
        waits: list[Waiting] = []
        for owner, ticks in left.items():
            verdict = self._ask(owner, [_like(one, self._slot(owner, one)) for one in ticks])
            waits += verdict.waits
            self.full |= {(*owner, one.slot) for one in verdict.waits if one.hold is Hold.LIMITED}
            may_start = {one.run_key for one in verdict.starts}
            free += [one for one in ticks if one.run_key in may_start]
            if verdict.waits and owner not in self.verdicts:
                self.verdicts[owner] = self._ask(owner, [])
        kinds = {(owner, self._slot(owner, one)) for owner, ticks in left.items() for one in ticks}
        if waits and len(kinds) > 1:
            waits += [Waiting(one.run_key, "", Hold.LIMITED, waits[0].reason) for one in free]
            free = []
        self.waits += [(namespace, one) for one in waits]
        self.frees += [(namespace, one.run_key) for one in free if one.limited]

    def _ask(self, owner: Owner, candidates: Sequence[Candidate]) -> LimitVerdict:
        facts = replace(self.open[owner], candidates=tuple(candidates))
        return NO_RULING if self.limiter is None else self.limiter(facts, self.now, len(candidates))

    def _slot(self, owner: Owner, tick: DueTick) -> str:
        return self.open[owner].limit.slot_of(tick.payload)


def _like(tick: DueTick, slot: str) -> Candidate:
    return Candidate(tick.run_key, slot)
