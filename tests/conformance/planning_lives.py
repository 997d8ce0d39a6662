"""What may happen to the planning side of a store: schedules, plans, leases, the fleet."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Epoch, NodeId, Queue, ScheduleId, Shard, shard_of
from fencepost.model.json import JsonObject
from fencepost.model.lease import Granted
from fencepost.model.node import NodeReport
from fencepost.model.plan import Cursor, Plan
from fencepost.model.policies import OVERLAPS, CatchUp, GateTerms, parse_overlap
from fencepost.model.run import Ticket
from fencepost.model.schedule import ScheduleSpec
from fencepost.testing.conformance.builders import JOB, MANY, NS, OTHER_JOB, make_plan, make_spec, register
from fencepost.testing.conformance.nodes import make_node
from fencepost.triggers import Calendar, Every
from tests.conformance.twins import CALENDARS, RULES, Twin, Twins, read_outlived

T = TypeVar("T")

SCHEDULES = (ScheduleId("hourly"), ScheduleId("nightly"))
NODES = (NodeId("alice-1"), NodeId("bob-1"), NodeId("carol-1"))
HEAVY = Queue("heavy")
SHARDS = (Shard(0), Shard(1))
TTL_S = 10.0
SEQUENTIAL = CatchUp("sequential", "10m", GateTerms(waiting_max=3, failed_share=0.4, of_last=2))

schedules = st.sampled_from(SCHEDULES)
nodes = st.sampled_from(NODES)
picks = st.integers(0, 5)
rules = st.sampled_from(RULES)
delays = st.sampled_from((0, 0, 3, 20))
sights = st.sampled_from(("outlived", "now", "earlier"))
HOLIDAYS = ("2026-04-06", "2026-12-25")
strides = st.lists(st.sampled_from((5, 10, 25)), min_size=1, max_size=3)


def fitting_spec(every_s: int, calendars: dict[str, JsonObject], **fields: Any) -> ScheduleSpec:
    """A spec that can be read."""
    days = {name: {**Calendar(name, weekend="sat sun").to_json(), **one} for name, one in calendars.items()}
    return replace(make_spec(calendars=days, **fields), trigger=Every(f"{every_s}s").to_json())


specs = st.builds(
    fitting_spec,
    job=st.sampled_from((JOB, JOB, OTHER_JOB)),
    every_s=st.sampled_from((60, 90)),
    queue=st.sampled_from((None, None, HEAVY)),
    overlap=st.sampled_from([*OVERLAPS, parse_overlap("allow(2)")]),
    catch_up=st.sampled_from([CatchUp("none"), CatchUp("latest"), SEQUENTIAL, CatchUp("parallel(2)")]),
    labels=st.sampled_from(({}, {"team": "red"})),
    payload=st.sampled_from(({}, {"n": 1})),
    calendars=st.dictionaries(
        st.sampled_from(CALENDARS), st.sampled_from(({"revision": 1}, {"revision": 2}, {})), max_size=2
    ),
)


class PlanningLives(RuleBasedStateMachine):
    """Rules about intent. `twins` is given by the subclass before the first of them."""

    twins: Twins
    ns = NS

    def __init__(self) -> None:
        super().__init__()
        self.cursors: list[Cursor] = []
        self.tickets: list[Ticket] = []
        self.epochs: dict[Shard, Epoch] = {}
        self.grants: list[tuple[NodeId, Shard, Epoch]] = []

    def ask(self) -> None:
        """What is asked at the end of a life."""

    @invariant()
    def nobody_can_tell_them_apart(self) -> None:
        self.twins.compare_everything(SCHEDULES)

    @initialize(spec=specs, steps=strides)
    def begin(self, spec: ScheduleSpec, steps: list[int]) -> None:
        for schedule_id in SCHEDULES:
            self.put(schedule_id, spec, RULES[0], None, None, None)
        for name in CALENDARS:
            for holiday in HOLIDAYS:
                self.change_calendar(name, holiday)
        self.plan(steps, 0, RULES[0], False)

    @rule(seconds=st.sampled_from((1, 7, 11, 29, 61)))
    def let_time_pass(self, seconds: int) -> None:
        self.twins.advance(seconds)

    @rule(
        schedule_id=schedules,
        spec=specs,
        tzdata=rules,
        expected=st.sampled_from((None, None, None, 0, 1, 2)),
        digest=st.sampled_from((None, "digest-1", "digest-2")),
        words=st.none() | specs,
    )
    def put(
        self,
        schedule_id: ScheduleId,
        spec: ScheduleSpec,
        tzdata: str,
        expected: int | None,
        digest: str | None,
        words: ScheduleSpec | None,
    ) -> None:
        self.twins.play(
            lambda one: one.store.schedules.put(
                self.ns,
                schedule_id,
                spec,
                tzdata=tzdata,
                expected_version=expected,
                code_digest=digest,
                code_spec=None if digest is None else words,
            )
        )

    @rule(
        schedule_id=schedules,
        spec=st.none() | specs,
        tzdata=rules,
        expected=st.sampled_from((None, None, 1, 2)),
    )
    def renew(
        self, schedule_id: ScheduleId, spec: ScheduleSpec | None, tzdata: str, expected: int | None
    ) -> None:
        """What is in force, or another spec, under the version of now unless another is expected."""
        known = self.twins.play(lambda one: one.store.schedules.get(self.ns, schedule_id))
        assert known is not None
        wanted = spec or known.spec
        version = known.version if expected is None else expected
        self.twins.play(
            lambda one: one.store.schedules.renew(
                self.ns, schedule_id, wanted, tzdata=tzdata, expected_version=version, reason="newer rules"
            )
        )

    @rule(
        schedule_id=schedules,
        move=st.sampled_from(("pause", "resume", "resume", "remove")),
        tzdata=st.none() | rules,
    )
    def stop_and_go(self, schedule_id: ScheduleId, move: str, tzdata: str | None) -> None:
        match move:
            case "pause":
                self.twins.play(lambda one: one.store.schedules.pause(self.ns, schedule_id, "holidays"))
            case "resume":
                self.twins.play(lambda one: one.store.schedules.resume(self.ns, schedule_id, tzdata=tzdata))
            case _:
                self.twins.play(lambda one: one.store.schedules.remove(self.ns, schedule_id))

    @rule(schedule_id=schedules, step=st.integers(-1, 2))
    def register_epoch(self, schedule_id: ScheduleId, step: int) -> None:
        shard = self.shard_of(schedule_id)
        self.register(shard, Epoch(max(1, self.epoch_of(shard) + step)))

    @rule(steps=strides, delay_s=delays, tzdata=rules, ends=st.sampled_from((False, False, False, True)))
    def plan(self, steps: list[int], delay_s: int, tzdata: str, ends: bool) -> None:
        """The ordinary way: what the window shows is planned at once."""
        cursors = self.window(600)
        for cursor in cursors:
            self.register(cursor.shard, self.epoch_of(cursor.shard))
        plans = [self.make_plan(cursor, steps, delay_s, tzdata) for cursor in cursors]
        if plans and ends:
            plans[0] = replace(plans[0], next_fire_at=None)
        self.twins.play(lambda one: one.store.plans.write(plans))

    @rule(pick=picks, step=st.sampled_from((-1, 0, 0, 1)), steps=strides, delay_s=delays, tzdata=rules)
    def plan_late(self, pick: int, step: int, steps: list[int], delay_s: int, tzdata: str) -> None:
        """A planner that slept between its reading and its writing."""
        cursor = picked(self.cursors or [*self.window(0)], pick)
        if cursor is not None:
            plan = self.make_plan(cursor, steps, delay_s, tzdata)
            plan = replace(plan, epoch=Epoch(plan.epoch + step))
            self.twins.play(lambda one: one.store.plans.write([plan]))

    @rule(pick=picks, by_s=st.sampled_from((5, 30, 700)))
    def postpone(self, pick: int, by_s: int) -> None:
        """A planner that could not read what it saw, now or some time ago."""
        cursor = picked(self.cursors or [*self.window(0)], pick)
        if cursor is not None:
            self.twins.play(lambda one: one.store.plans.postpone([cursor], by_s))

    @rule(tzdata=rules, after_s=st.sampled_from((None, 0, 30, 700)), seen=sights)
    def confirm(self, tzdata: str, after_s: int | None, seen: str) -> None:
        """A leader with these rules confirms what they outlived, or what it sees, or saw some time ago."""
        match seen:
            case "outlived":
                outlived = self.twins.play(lambda one: read_outlived(one, tzdata))
                cursors = [one.cursor for one in outlived]
            case "now":
                cursors = list(self.window(1_000))
            case _:
                cursors = self.cursors[-3:]
        for cursor in cursors:
            upcoming = None if after_s is None else later(StoreTime(cursor.planned_through), after_s)
            self.confirm_one(cursor, upcoming, tzdata)

    @rule(name=st.sampled_from(CALENDARS), holiday=st.sampled_from((None, None, *HOLIDAYS)))
    def change_calendar(self, name: str, holiday: str | None) -> None:
        if holiday is None:
            self.twins.play(lambda one: one.store.calendars.remove(self.ns, name))
        else:
            self.twins.play(lambda one: one.store.calendars.put(self.ns, name, {"holidays": holiday}))

    @rule(
        node=nodes,
        move=st.sampled_from(("acquire", "acquire", "renew", "renew", "release")),
        shards=st.sampled_from((SHARDS, SHARDS[:1], SHARDS[1:])),
        pick=picks,
        honest=st.sampled_from((True, True, False)),
    )
    def compete(self, node: NodeId, move: str, shards: Sequence[Shard], pick: int, honest: bool) -> None:
        """Ask for leases, or use one that was granted at some time, as its holder or as somebody."""
        grant = picked(self.grants, pick)
        if move == "acquire" or grant is None:
            return self.acquire(node, shards)
        holder, held = grant[0] if honest else node, {grant[1]: grant[2]}
        if move == "release":
            self.twins.play(lambda one: one.store.leases.release(held, holder))
            return None
        self.twins.play(lambda one: one.store.leases.renew(held, holder, TTL_S))
        return None

    @rule(node=nodes, move=st.sampled_from(("beat", "beat", "leave", "sweep")))
    def come_and_go(self, node: NodeId, move: str) -> None:
        match move:
            case "beat":
                self.twins.play(partial(_beat, node))
            case "leave":
                self.twins.play(lambda one: one.store.nodes.leave(node))
            case _:
                self.twins.play(lambda one: one.store.nodes.sweep(30.0))

    def confirm_one(self, cursor: Cursor, upcoming: StoreTime | None, tzdata: str) -> None:
        self.twins.play(lambda one: one.store.plans.confirm([(cursor, upcoming)], tzdata))

    def acquire(self, node: NodeId, shards: Sequence[Shard]) -> None:
        answers = self.twins.play(lambda one: one.store.leases.acquire(shards, node, TTL_S))
        for shard, answer in answers.items():
            if isinstance(answer, Granted):
                self.grants.append((node, shard, answer.epoch))

    def register(self, shard: Shard, epoch: Epoch) -> None:
        if self.twins.play(lambda one: register(one.store, shard, epoch)):
            self.epochs[shard] = epoch

    def window(self, horizon_s: float) -> Sequence[Cursor]:
        shards = sorted({self.shard_of(one) for one in SCHEDULES})
        window = self.twins.play(lambda one: one.store.plans.window(shards, horizon_s, MANY))
        self.cursors += window.cursors
        return window.cursors

    def make_plan(self, cursor: Cursor, steps: Sequence[int], delay_s: int, tzdata: str) -> Plan:
        start = StoreTime(cursor.planned_through)
        fire_times = [later(start, sum(steps[: end + 1])) for end in range(len(steps))]
        epoch = self.epoch_of(cursor.shard)
        plan = make_plan(cursor, *fire_times, epoch=epoch, delay_s=delay_s, tzdata=tzdata)
        return replace(plan, next_fire_at=later(fire_times[-1], 10))

    def shard_of(self, schedule_id: ScheduleId) -> Shard:
        return shard_of(self.ns, schedule_id, self.twins.shards)

    def epoch_of(self, shard: Shard) -> Epoch:
        return self.epochs.get(shard, Epoch(1))


async def _beat(node: NodeId, one: Twin) -> object:
    """Who lives then; how far the ledgers have come differs."""
    return (await one.store.nodes.beat(make_node(node), NodeReport(0.5), 15.0)).live


def picked(things: Sequence[T], pick: int) -> T | None:
    """One of the latest few things, the same one for the same number; None of none."""
    return things[-1 - pick % min(len(things), 6)] if things else None
