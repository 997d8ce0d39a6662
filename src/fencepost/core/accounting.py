"""Accounting: what a schedule's history asks for against what the ledger records.

Two ascending streams are joined by fire time: the expected fire times, computed from the versions, and the
runs, read page by page. Neither is ever held as a whole.

| finding | a fire time … |
| --- | --- |
| `missing` | is expected, and neither a run that was not withdrawn nor a missed range accounts for it |
| `doubled` | has more than one run that was begun, or a run that began again after it had succeeded |
| `unexpected` | has a live run that no version in force asks for, and that no operator holds |
| `miscounted` | is the first of a missed range that counts another number than it accounts for |
| `uncertain` | has a run that was started and whose worker shows no life |
| `overdue` | has a run that is not held and was not judged, although it is too late for it |
| `stale` | has a run that began as live although it was too late, and stood behind nothing |
| `differing` | has a run whose attempts did not say the same of their effect (`core.fingerprints`) |
| `late` | has a live run that began later than on time: worth knowing, and no fault |

Who is authoritative: the versions for what is expected, the ledger for what became of it, the store's time
for what should have happened by now. A fire time is *settled* once a planner has had its chance: it is not
later than what its version is planned through, or `SETTLING` has passed since. A fire time without a record
is judged only once it is settled.

Retention removes evidence. Fire times before `forgotten_before` are not judged, and the account states where
it begins. A missed range that reaches beyond the judged time can only be found to count too little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta

from fencepost.core.accounts import Account, AuditFinding, Kind
from fencepost.core.expectation import Expected, TriggerOf, expected, tick_of
from fencepost.core.fingerprints import Fingerprint, why_differing
from fencepost.core.stuck import (
    begun,
    first_due,
    wants_ended,
    why_late,
    why_overdue,
    why_repeated,
    why_stale,
    why_uncertain,
)
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, NodeId, RunKey, ScheduleId, tick_key
from fencepost.model.missed import MissedRange
from fencepost.model.run import Attempt, Hold, Origin, RunRecord, RunState
from fencepost.model.schedule import ScheduleSpec, ScheduleVersion
from fencepost.model.times import to_utc_text

SETTLING = timedelta(minutes=1)
"""Longer than a takeover, a planning pass and a sweep together."""
FINDINGS_KEPT_MAX = 1_000
"""Of each kind, for one schedule; all are counted."""


NO_EFFECTS: Mapping[RunKey, Sequence[Fingerprint]] = {}


@dataclass(frozen=True)
class Frame:
    """What an account rests on, read before the runs: the range is (since, until].

    `planned_version` is the version that is planned through `planned_through`. `workers` are those alive.
    """

    namespace: Namespace
    schedule_id: ScheduleId
    since: datetime
    until: datetime
    now: StoreTime
    versions: tuple[ScheduleVersion, ...]
    planned_version: int
    planned_through: datetime
    missed: tuple[MissedRange, ...] = ()
    forgotten_before: datetime | None = None
    workers: frozenset[NodeId] = frozenset()

    @property
    def judged_since(self) -> datetime:
        """From when on the account speaks, exclusive as `since` is."""
        if self.forgotten_before is None:
            return self.since
        return max(self.since, self.forgotten_before - datetime.resolution)

    @property
    def judged_until(self) -> datetime:
        """The account says nothing of what is later than now and later than what is planned."""
        return max(self.judged_since, min(self.until, max(self.now, self.planned_through)))


class Accountant:
    """Joins the two streams. The caller passes runs in ascending order of fire time, in parts of any size;
    `close` returns the account."""

    def __init__(self, frame: Frame, trigger_of: TriggerOf) -> None:
        self._frame = frame
        self._trigger_of = trigger_of
        self._book = _Book(frame)
        self._versions = {one.version: one for one in frame.versions}
        self._expected = expected(frame.versions, trigger_of, frame.judged_since, frame.judged_until)
        self._next = next(self._expected, None)
        self._group: list[RunRecord] = []

    def suspects(self, runs: Sequence[RunRecord]) -> list[RunRecord]:
        """The runs for which the caller must read the `ended` runs."""
        return [run for run in runs if wants_ended(run, self._spec(run))]

    def take(
        self,
        runs: Sequence[RunRecord],
        attempts: Mapping[RunKey, Sequence[Attempt]],
        ended: Mapping[RunKey, Sequence[RunRecord]],
        effects: Mapping[RunKey, Sequence[Fingerprint]] = NO_EFFECTS,
    ) -> None:
        """Add the next runs of the range. `attempts` are those of the runs that `wants_attempts`. `ended`
        has, for each of the `suspects`, the runs of the schedule that ended after it became due and before it
        began. `effects` are those of the runs that were `tried_again`."""
        for run in runs:
            if self._group and self._group[0].fire_time != run.fire_time:
                self._settle_group()
            self._group.append(run)
            self._look_at(run, attempts.get(run.run_key, ()), ended.get(run.run_key))
            self._compare(run, effects.get(run.run_key, ()))

    def close(self) -> Account:
        """The whole account."""
        self._settle_group()
        for one in self._expected_before(None):
            self._book.nothing(one, self._is_settled(one))
        return self._book.closed()

    def _settle_group(self) -> None:
        """Judge one fire time by everything known of it, and those before it that have no run."""
        if not self._group:
            return
        moment = self._group[0].fire_time
        for one in self._expected_before(moment):
            self._book.nothing(one, self._is_settled(one))
        standing = [run for run in self._group if run.state is not RunState.WITHDRAWN]
        self._group = []
        if self._next is None or self._next.fire_time != moment:
            self._book.unasked(standing)
            return
        asked, self._next = self._next, next(self._expected, None)
        if standing:
            self._book.something(standing)
        else:
            self._book.nothing(asked, self._is_settled(asked))

    def _expected_before(self, moment: datetime | None) -> Iterator[Expected]:
        while self._next is not None and (moment is None or self._next.fire_time < moment):
            yield self._next
            self._next = next(self._expected, None)

    def _is_settled(self, one: Expected) -> bool:
        frame = self._frame
        if one.version == frame.planned_version and one.fire_time <= frame.planned_through:
            return True
        return one.fire_time <= frame.now - SETTLING

    def _spec(self, run: RunRecord) -> ScheduleSpec | None:
        version = self._versions.get(run.version)
        return None if version is None else version.spec

    def _look_at(
        self, run: RunRecord, attempts: Sequence[Attempt], ended: Sequence[RunRecord] | None
    ) -> None:
        """Judge a run by itself, apart from the other runs of its fire time."""
        frame, version, spec = self._frame, self._versions.get(run.version), self._spec(run)
        for kind, words in (
            (Kind.DOUBLED, why_repeated(run, attempts)),
            (Kind.UNCERTAIN, why_uncertain(run, frame.workers, frame.now)),
            (Kind.OVERDUE, why_overdue(run, spec, frame.now, SETTLING)),
            (Kind.STALE, None if spec is None or ended is None else why_stale(run, spec, ended)),
            (Kind.LATE, why_late(run, spec, due_of(run, version, self._trigger_of))),
        ):
            if words is not None:
                self._book.find(kind, run.fire_time, run.version, (run.run_key,), words)

    def _compare(self, run: RunRecord, effects: Sequence[Fingerprint]) -> None:
        """What it did, each time."""
        words = why_differing(effects)
        if words is not None:
            self._book.find(Kind.DIFFERING, run.fire_time, run.version, (run.run_key,), words)


def due_of(run: RunRecord, version: ScheduleVersion | None, trigger_of: TriggerOf) -> datetime | None:
    """When the first attempt of a tick was due: by its row, else as its version says."""
    due = first_due(run)
    if due is not None or version is None or run.schedule_id is None:
        return due
    tick = tick_of(run.namespace, run.schedule_id, version, trigger_of(version), run.fire_time)
    return None if tick is None else tick.run_at


@dataclass
class _Book:
    """Counts and findings while they come in."""

    frame: Frame
    expected: int = 0
    states: Counter[RunState] = field(default_factory=Counter)
    counts: Counter[Kind] = field(default_factory=Counter)
    findings: list[AuditFinding] = field(default_factory=list)
    in_range: Counter[int] = field(default_factory=Counter)
    range_now: int = 0

    def something(self, runs: Sequence[RunRecord]) -> None:
        """An expected fire time that has runs; the run that came furthest is counted for it."""
        self.expected += 1
        self.states[max(runs, key=lambda run: (begun(run), run.attempt, run.version)).state] += 1
        self._check_single(runs)

    def nothing(self, one: Expected, settled: bool) -> None:
        """An expected fire time that has no run."""
        index = self._range_of(one.fire_time)
        if index is not None:
            self.expected += 1
            self.in_range[index] += 1
            if self.in_range[index] <= self.frame.missed[index].count:
                self.states[RunState.MISSED] += 1
        elif settled:
            self.expected += 1
            key = tick_key(self.frame.schedule_id, one.fire_time, one.version)
            words = f"version {one.version} asks for it, and nothing accounts for it"
            self.find(Kind.MISSING, one.fire_time, one.version, (key,), words)

    def unasked(self, runs: Sequence[RunRecord]) -> None:
        """Runs of a fire time that no version expects. A run that was called off before it began has done no
        harm, and a run that an operator holds is there on purpose."""
        for run in runs:
            open_or_begun = begun(run) or run.finished_at is None
            if run.origin is Origin.LIVE and open_or_begun and not run.held & Hold.OPERATOR:
                words = f"it is {run.state}, and no version in force asks for it"
                self.find(Kind.UNEXPECTED, run.fire_time, run.version, (run.run_key,), words)
        self._check_single(runs)

    def find(
        self, kind: Kind, fire_time: datetime, version: int, run_keys: tuple[RunKey, ...], words: str
    ) -> None:
        self.counts[kind] += 1
        if self.counts[kind] <= FINDINGS_KEPT_MAX:
            self.findings.append(
                AuditFinding(kind, self.frame.schedule_id, fire_time, version, run_keys, words)
            )

    def closed(self) -> Account:
        for index, one in enumerate(self.frame.missed):
            self._check_range(one, self.in_range[index])
        frame = self.frame
        order = list(Kind)
        return Account(
            schedule_id=frame.schedule_id,
            since=frame.judged_since,
            until=frame.judged_until,
            expected=self.expected,
            states=dict(self.states),
            counts={kind: self.counts[kind] for kind in Kind if self.counts[kind]},
            findings=tuple(sorted(self.findings, key=lambda one: (order.index(one.kind), one.fire_time))),
            forgotten_before=None if frame.judged_since == frame.since else frame.forgotten_before,
        )

    def _check_single(self, runs: Sequence[RunRecord]) -> None:
        """Judge whether more than one run began. An extra tick that was triggered by hand doubles nothing."""
        ran = [run for run in runs if begun(run) and run.origin is not Origin.MANUAL]
        if len(ran) > 1:
            keys = tuple(run.run_key for run in ran)
            words = f"{len(ran)} runs of it were begun: {', '.join(keys)}"
            self.find(Kind.DOUBLED, ran[0].fire_time, ran[-1].version, keys, words)

    def _range_of(self, moment: datetime) -> int | None:
        """The missed range around an instant; instants come in ascending order."""
        missed = self.frame.missed
        while self.range_now < len(missed) and missed[self.range_now].last < moment:
            self.range_now += 1
        inside = self.range_now < len(missed) and missed[self.range_now].first <= moment
        return self.range_now if inside else None

    def _check_range(self, one: MissedRange, found: int) -> None:
        whole = one.first > self.frame.judged_since and one.last <= self.frame.judged_until
        if found <= one.count and not (whole and found < one.count):
            return
        span = f"from {to_utc_text(one.first)} to {to_utc_text(one.last)}"
        words = f"the missed range {span} counts {one.count}, but {found} fire times of it have no run"
        self.find(Kind.MISCOUNTED, one.first, one.version, (), words)
