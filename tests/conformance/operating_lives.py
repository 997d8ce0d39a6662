"""What operators may do to a store: freeze, hold, skip, replay, decide on gates, fill in the past."""

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import rule

from fencepost.model.audit import Author
from fencepost.model.backfill import Backfill, BackfillState, FillMode, FillTick, NewBackfill
from fencepost.model.clocks import StoreTime, later
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.gate import GateDecision
from fencepost.model.identifiers import ScheduleId
from fencepost.model.missed import MissedTicks
from fencepost.model.plan import Tick
from tests.conformance.planning_lives import SCHEDULES, picked, picks, schedules, strides
from tests.conformance.running_lives import RunningLives

ANNA = Author("anna", "a life", "because")
LABEL = Scope(ScopeKind.LABEL, "team=red")
scopes = st.sampled_from(
    (
        *(Scope(ScopeKind.SCHEDULE, one) for one in SCHEDULES),
        LABEL,
        LABEL,
        Scope(ScopeKind.ALL),
    )
)


class OperatingLives(RunningLives):
    """Rules about people, on top of those about intent and work."""

    @rule(scope=scopes, move=st.sampled_from(("freeze", "thaw", "thaw")))
    def freeze_and_thaw(self, scope: Scope, move: str) -> None:
        if move == "freeze":
            self.twins.play(lambda one: one.store.freezes.freeze(self.ns, scope, ANNA))
        else:
            self.twins.play(lambda one: one.store.freezes.thaw(self.ns, scope, ANNA))

    @rule(pick=st.integers(0, 1_000), verb=st.sampled_from(("skip", "hold", "release", "release")))
    def call_off(self, pick: int, verb: str) -> None:
        runs = self.runs()
        if runs:
            key = runs[pick % len(runs)].run_key
            self.twins.play(lambda one: getattr(one.store.ledger, verb)(self.ns, key, ANNA))

    @rule(
        wanted=st.lists(st.integers(0, 1_000), min_size=1, max_size=3),
        every_s=st.sampled_from((0.0, 0.0, 7.0)),
    )
    def replay(self, wanted: list[int], every_s: float) -> None:
        runs = self.runs()
        keys = list(dict.fromkeys(runs[pick % len(runs)].run_key for pick in wanted)) if runs else []
        if keys:
            self.twins.play(lambda one: one.store.ledger.replay(self.ns, keys, every_s, ANNA))

    @rule(schedule_id=schedules, ahead_s=st.integers(-90, 90), delay_s=st.sampled_from((0, 5)))
    def plan_by_name(self, schedule_id: ScheduleId, ahead_s: int, delay_s: int) -> None:
        known = self.twins.play(lambda one: one.store.schedules.get(self.ns, schedule_id))
        assert known is not None
        moment = later(self.twins.now, ahead_s)
        ticks = [Tick(moment, later(moment, delay_s))]
        self.twins.play(
            lambda one: one.store.ledger.plan_by_name(self.ns, schedule_id, known.version, ticks, ANNA)
        )

    @rule(steps=strides, many=st.booleans(), catches_up=st.booleans())
    def plan_after_an_absence(self, steps: list[int], many: bool, catches_up: bool) -> None:
        """What a planner finds late: a missed range, and catch-up runs."""
        plans = []
        for cursor in self.window(600):
            self.register(cursor.shard, self.epoch_of(cursor.shard))
            plan = self.make_plan(cursor, steps, 0, "2026a")
            ticks = tuple(tick._replace(catches_up=catches_up) for tick in plan.ticks)
            gone = ticks[:-1] if many else ()
            missed = (MissedTicks(tuple(tick.fire_time for tick in gone), "too late"),) if gone else ()
            plans.append(replace(plan, ticks=ticks[len(gone) :], missed=missed))
        self.twins.play(lambda one: one.store.plans.write(plans))

    @rule(schedule_id=schedules, decision=st.sampled_from(tuple(GateDecision)))
    def decide(self, schedule_id: ScheduleId, decision: GateDecision) -> None:
        self.twins.play(lambda one: one.store.gates.decide(self.ns, schedule_id, decision, ANNA))

    @rule(
        schedule_id=schedules,
        back_s=st.sampled_from((60, 200)),
        mode=st.sampled_from(tuple(FillMode)),
        at_once_max=st.sampled_from((1, 3)),
        every_s=st.sampled_from((0.0, 5.0)),
    )
    def start_backfill(
        self, schedule_id: ScheduleId, back_s: int, mode: FillMode, at_once_max: int, every_s: float
    ) -> None:
        now = self.twins.now
        asked = NewBackfill(schedule_id, later(now, -back_s), now, mode, at_once_max, every_s)
        self.twins.play(lambda one: one.store.backfills.start(self.ns, asked, ANNA))

    @rule(pick=picks, steps=strides, to_the_end=st.booleans(), stale=st.booleans())
    def fill(self, pick: int, steps: list[int], to_the_end: bool, stale: bool) -> None:
        """Some fire times that exist and some that do not, up to a mark within the range or its end."""
        backfill = picked(self.twins.play(lambda one: one.store.backfills.list(self.ns, 5)), pick)
        if backfill is None:
            return
        ticks = self.fire_times_of(backfill, steps)
        through = backfill.request.until if to_the_end or not ticks else ticks[-1].fire_time
        self.twins.play(lambda one: one.store.backfills.fill(backfill, ticks, through, ANNA))
        if stale:
            self.twins.play(lambda one: one.store.backfills.fill(backfill, ticks, through, ANNA))

    @rule(pick=picks)
    def cancel_backfill(self, pick: int) -> None:
        backfill = picked(self.twins.play(lambda one: one.store.backfills.list(self.ns, 5)), pick)
        if backfill is not None:
            self.twins.play(lambda one: one.store.backfills.cancel(self.ns, backfill.backfill_id, ANNA))

    @rule()
    def ring_the_bell(self) -> None:
        self.twins.play(lambda one: one.store.ledger.unpark(10))

    @rule(schedule_id=schedules, back_s=st.sampled_from((20.0, 300.0)))
    def resume_with_catch_up(self, schedule_id: ScheduleId, back_s: float) -> None:
        self.twins.play(
            lambda one: one.store.schedules.resume(self.ns, schedule_id, back_s=back_s, author=ANNA)
        )

    def fire_times_of(self, backfill: Backfill, steps: list[int]) -> list[FillTick]:
        asked = backfill.request
        if backfill.state is not BackfillState.ACTIVE:
            return []
        known = self.twins.play(lambda one: one.store.schedules.get(self.ns, asked.schedule_id))
        assert known is not None
        runs = self.runs()
        existing = {
            FillTick(run.fire_time, run.version)
            for run in runs
            if run.schedule_id == asked.schedule_id and backfill.filled_through < run.fire_time <= asked.until
        }
        start = StoreTime(backfill.filled_through)
        made_up = {
            FillTick(moment, known.version)
            for moment in (later(start, sum(steps[: end + 1])) for end in range(len(steps)))
            if moment <= asked.until
        }
        by_time = {tick.fire_time: tick for tick in sorted(existing | made_up)}
        return [by_time[moment] for moment in sorted(by_time)]
