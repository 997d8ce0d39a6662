"""The time engine beside its peers, in turns in one run."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from croniter import croniter
from cronsim import CronSim

from benchmarks.report import Figure, heading
from benchmarks.timing import Stopwatch
from fencepost.core.planning import Rules, plan
from fencepost.errors import InvalidTrigger
from fencepost.model.identifiers import Epoch, JobName, Namespace, Queue, ScheduleId, Shard
from fencepost.model.plan import Cursor
from fencepost.model.schedule import ScheduleSpec
from fencepost.services.planner import TriggerCache
from fencepost.triggers import Combinable, Cron, tzdata_version

ZONE = "Europe/Berlin"
START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2126, 1, 1, tzinfo=UTC)
COMMON = ("* * * * *", "*/5 * * * *", "0 * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 1 * *", "15 10 1,15 * *")
TRIES = 5
INSTANTS = 300
STEPS = 300
PEER_SHARE = 10
SCHEDULES = 100_000
EXPRESSIONS = 100
HORIZON = timedelta(seconds=60)
HOSTILE = (
    ",".join(["*/1"] * 99) + " * * * *",
    "0-59/1," * 60 + "* * * * *",
    "0 0 30 2 *",
    "0 0 31 2,4,6,9,11 *",
    "0 0 L-30 2 +SUN#5",
    "9" * 512,
    "* " * 200,
    "@every " + "9" * 400,
    "H(0-59)/59 " * 5,
)

Engine = Callable[[str, Sequence[datetime]], None]
Search = Callable[[datetime], datetime | None]


def measure() -> Iterator[Figure]:
    """All figures about time."""
    heading("triggers, beside their peers")
    yield from _beside_peers("next fire time from any instant", _ANYWHERE, _instants())
    yield from _beside_peers("walk from fire time to fire time", _ONWARD, [START] * STEPS)
    yield _hostile()
    yield from _planning()


def _instants() -> list[datetime]:
    """Spread over a year, changes of the clocks among them."""
    return [START + timedelta(hours=29, minutes=17, seconds=11) * n for n in range(INSTANTS)]


def _beside_peers(name: str, engines: dict[str, Engine], moments: Sequence[datetime]) -> Iterator[Figure]:
    """In turns, the best of some tries; the slow peers are given fewer instants."""
    best = dict.fromkeys(engines, 0.0)
    for _ in range(TRIES):
        for peer, engine in engines.items():
            given = moments if peer == "fencepost" else moments[: len(moments) // PEER_SHARE]
            best[peer] = max(best[peer], _rate(engine, given))
    fastest = max(rate for peer, rate in best.items() if peer != "fencepost")
    for peer, rate in best.items():
        if peer != "fencepost":
            yield Figure(f"{name}, {peer}", rate, "/s")
    ours = best["fencepost"]
    yield Figure(
        f"{name}, fencepost", ours, "/s", {"the fastest": fastest}, "≥ the fastest peer", ours >= fastest
    )


def _rate(engine: Engine, moments: Sequence[datetime]) -> float:
    gc.collect()
    watch = Stopwatch()
    for expression in COMMON:
        engine(expression, moments)
    return len(COMMON) * len(moments) / watch.seconds


def _ours_anywhere(expression: str, moments: Sequence[datetime]) -> None:
    trigger = Cron(expression, ZONE)
    for moment in moments:
        trigger.next_after(moment)


def _cronsim_anywhere(expression: str, moments: Sequence[datetime]) -> None:
    """It has no other way to begin at an instant than to be made anew."""
    local = ZoneInfo(ZONE)
    for moment in moments:
        next(CronSim(expression, moment.astimezone(local)))


def _croniter_anywhere(expression: str, moments: Sequence[datetime]) -> None:
    local = ZoneInfo(ZONE)
    engine = croniter(expression, START.astimezone(local))
    for moment in moments:
        engine.get_next(datetime, start_time=moment.astimezone(local))


def _apscheduler_anywhere(expression: str, moments: Sequence[datetime]) -> None:
    trigger = CronTrigger.from_crontab(expression, timezone=ZONE)
    for moment in moments:
        trigger.get_next_fire_time(None, moment)


def _ours_onward(expression: str, moments: Sequence[datetime]) -> None:
    for _ in islice(Cron(expression, ZONE).fire_times(START, END), len(moments)):
        pass


def _cronsim_onward(expression: str, moments: Sequence[datetime]) -> None:
    for _ in islice(CronSim(expression, START.astimezone(ZoneInfo(ZONE))), len(moments)):
        pass


def _croniter_onward(expression: str, moments: Sequence[datetime]) -> None:
    engine = croniter(expression, START.astimezone(ZoneInfo(ZONE)))
    for _ in moments:
        engine.get_next(datetime)


def _apscheduler_onward(expression: str, moments: Sequence[datetime]) -> None:
    trigger = CronTrigger.from_crontab(expression, timezone=ZONE)
    found = None
    for moment in moments:
        found = trigger.get_next_fire_time(found, moment if found is None else found)


_ANYWHERE: dict[str, Engine] = {
    "fencepost": _ours_anywhere,
    "cronsim": _cronsim_anywhere,
    "croniter": _croniter_anywhere,
    "APScheduler": _apscheduler_anywhere,
}
_ONWARD: dict[str, Engine] = {
    "fencepost": _ours_onward,
    "cronsim": _cronsim_onward,
    "croniter": _croniter_onward,
    "APScheduler": _apscheduler_onward,
}


def _hostile() -> Figure:
    """The worst of expressions made to cost time, each the best of some tries, none seen before."""
    slowest = max(min(_parse_ms(text, number) for number in range(TRIES)) for text in HOSTILE)
    return Figure("hostile expression, slowest parse", slowest, "ms", goal="< 5", good=slowest < 5)


def _parse_ms(text: str, number: int) -> float:
    watch = Stopwatch()
    with suppress(InvalidTrigger):
        Cron(text, seed=str(number))
    return watch.seconds * 1000


class _Counting:
    """Counts what the engine is asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def watch(self, trigger: Combinable) -> Combinable:
        for name in ("next_after", "previous"):
            object.__setattr__(trigger, name, self._counted(getattr(trigger, name)))
        return trigger

    def _counted(self, compute: Search) -> Search:
        def counted(moment: datetime) -> datetime | None:
            self.asked += 1
            return compute(moment)

        return counted


def _planning() -> Iterator[Figure]:
    """One pass over many schedules that share few expressions, as the planner does it."""
    counting = _Counting()
    store = TriggerCache(counting.watch)
    cursors = [_cursor(number) for number in range(SCHEDULES)]
    through, rules = START + HORIZON, Rules(tzdata_version(), START)
    watch, ticks = Stopwatch(), 0
    for cursor in cursors:
        planned = plan(cursor, store.get(cursor), through, Epoch(1), 1_000, rules)
        ticks += len(planned.ticks)
    rate = SCHEDULES / watch.seconds
    yield Figure("planning, 100,000 schedules of 100 expressions", rate, "/s")
    # Each fire time up to the horizon once, the one after it, and the one before.
    distinct = sum(_distinct(number) for number in range(EXPRESSIONS))
    asked, goal = counting.asked, f"≤ {distinct}: each once"
    yield Figure("planning, fire times computed", asked, "", goal=goal, good=asked <= distinct)


def _distinct(number: int) -> int:
    trigger = Cron(_expression(number), ZONE)
    return len(list(trigger.fire_times(START - timedelta(seconds=1), START + HORIZON))) + 2


def _cursor(number: int) -> Cursor:
    """Each planned up to an instant of its own within the second before."""
    trigger = Cron(_expression(number % EXPRESSIONS), ZONE)
    return Cursor(
        namespace=Namespace("default"),
        schedule_id=ScheduleId(f"schedule-{number}"),
        shard=Shard(0),
        version=1,
        planned_through=START - timedelta(microseconds=number % 1_000_000),
        spec=ScheduleSpec(job=JobName("noop"), trigger=trigger.to_json()),
        queue=Queue("default"),
        priority=2,
    )


def _expression(number: int) -> str:
    return f"*/20 {number % 60} {number % 2 or '*'} * * *"
