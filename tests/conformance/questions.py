"""Everything that a store can be asked, with random terms: lists, pages, counts, averages, forecasts.

Bounds in time are mostly those of runs that are there, so that what is just within is told apart from what is
just without.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any, TypeVar

from fencepost.core.completeness import completeness
from fencepost.model.audit import Action, LogFilter
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Namespace, Queue, RunKey, ScheduleId, Shard
from fencepost.model.run import Origin, RunFilter, RunPlace, RunRecord, RunState
from fencepost.model.run_log import LOG_BEGIN, LogPlace, LogSpot
from fencepost.model.schedule import ScheduleFilter, ScheduleState
from fencepost.services.accounting import Auditor
from fencepost.testing.conformance.builders import JOB, MANY, NS, OTHER_JOB, OTHER_NS, claim_request
from fencepost.web.dashboard.forecasts import compute
from tests.conformance.planning_lives import HEAVY, NODES, SCHEDULES
from tests.conformance.twins import CALENDARS, Play, Twin

T = TypeVar("T")
Question = tuple[str, Play[Any]]

NAMESPACES = NS, OTHER_NS
QUEUES = Queue("default"), HEAVY
PAGES_MAX = 1_000
LISTS = 12
"""So many filters are tried of each kind."""


@dataclass
class Questioner:
    """Draws the terms of questions about one namespace; `runs` are those of it."""

    dice: Random
    now: StoreTime
    namespace: Namespace
    runs: Sequence[RunRecord]

    def all(self) -> Iterator[Question]:
        """One round of questions."""
        yield from self._about_runs()
        for number in range(LISTS):
            yield f"list {number}", partial(_runs, self.namespace, self.run_filter())
            yield f"pages {number}", partial(_run_pages, self.namespace, self.run_filter())
        for schedule_id in (*SCHEDULES, ScheduleId("never")):
            yield from self._about_ticks(schedule_id)
        yield from self._about_views()
        yield from self._about_schedules()
        yield from self._about_people()
        yield from self._about_work()

    def run_filter(self) -> RunFilter:
        """Some of all that can be asked of a list of runs."""
        states = self.dice.sample(list(RunState), 2)
        return RunFilter(
            schedule_id=self._maybe(SCHEDULES),
            job=self._maybe((JOB, OTHER_JOB)),
            state=self._maybe(tuple(RunState)),
            since=self._maybe(self._moments(), 0.3),
            until=self._maybe(self._moments(), 0.3),
            limit=self.dice.choice((1, 2, 3, 7, 200)),
            origin=self._maybe(tuple(Origin)),
            error=self._maybe(("boom", "oo", "none such")),
            backfill_id=self._maybe((1, 2)),
            held=self._maybe((True, False)),
            text=self._maybe(("hourly", "#", "2026-03-01T12:0")),
            worker=self._maybe(NODES),
            queue=self._maybe(QUEUES),
            states=tuple(states) if self.dice.random() < 0.15 else (),
        )

    def _about_runs(self) -> Iterator[Question]:
        keys = [run.run_key for run in self.runs]
        some = self.dice.sample(keys, min(len(keys), 4))
        for key in some:
            yield f"run {key}", partial(_run, self.namespace, key)
            yield f"log {key}", partial(_log, self.namespace, key, self.dice.randint(1, 3))
        wanted = [*some, RunKey("nothing#such")]
        yield "get_many", lambda one: one.store.ledger.get_many(self.namespace, wanted)

    def _about_ticks(self, schedule_id: ScheduleId) -> Iterator[Question]:
        owner = self.namespace, schedule_id
        since, until = sorted(self.dice.choices(self._moments(), k=2))
        most = self.dice.choice((1, 2, 7))
        yield f"ticks {schedule_id}", partial(_ticks, *owner, since, until, most)
        yield f"ended {schedule_id}", lambda one: one.store.ledger.ended(*owner, since, until, most)
        yield f"missed_ranges {schedule_id}", lambda one: one.store.ledger.missed_ranges(*owner, since, until)
        yield f"typical_run_s {schedule_id}", lambda one: one.store.ledger.typical_run_s(*owner)

    def _about_views(self) -> Iterator[Question]:
        since_s, late_s = self._seconds(), self.dice.choice((0.0, 1.0, 20.0))
        most, bucket_s = self.dice.choice((1, 3, MANY)), self.dice.choice((7, 60, 300))
        ids = self.dice.sample((*SCHEDULES, ScheduleId("never")), 2)
        moment = StoreTime(self.dice.choice(self._moments()))
        both = self.dice.sample(NAMESPACES, self.dice.choice((1, 2)))
        ns = self.namespace
        yield "strips", lambda one: one.store.ledger.strips(ns, ids, most)
        edges = sorted({self.now, *self._moments()})
        yield "outcomes", lambda one: one.store.ledger.outcomes(ns, ids, edges, most, late_s)
        yield "traffic", lambda one: one.store.ledger.traffic(ns, since_s, bucket_s)
        yield "tally", lambda one: one.store.ledger.tally(ns, since_s)
        yield "tally_by_job", lambda one: one.store.ledger.tally_by_job(ns, since_s)
        yield "overdue", lambda one: one.store.ledger.overdue(ns, since_s, late_s)
        yield "attention", lambda one: one.store.ledger.attention(ns, most)
        yield "news", lambda one: one.store.ledger.news(moment, most, both)
        yield "running", lambda one: one.store.ledger.running(ns, most)
        yield "depth", lambda one: one.store.ledger.depth(ns)
        yield "queues", lambda one: one.store.ledger.queues(ns)
        yield "forgotten_before", lambda one: one.store.ledger.forgotten_before()
        yield "completeness", partial(_completeness, ns, since_s, late_s)
        yield "audit", lambda one: Auditor(one.store, ns).audit(None, later(self.now, -1_000), self.now)
        yield "forecast", partial(_forecast, ns, self.now)

    def _about_schedules(self) -> Iterator[Question]:
        ns = self.namespace
        wanted = ScheduleFilter(
            text=self._maybe(("h", "report", "ly")),
            state=self._maybe(tuple(ScheduleState)),
            job=self._maybe((JOB, OTHER_JOB)),
            label=self._maybe(("team", "team=red", "team=blue")),
            frozen=self._maybe((True, False)),
            limit=self.dice.choice((1, 2)),
        )
        since, after = self._maybe(self._moments(), 0.5), self.dice.choice((0, 1, 2))
        yield "schedules", partial(_schedule_pages, ns, 1)
        yield "find", partial(_found_pages, ns, wanted)
        yield "count", lambda one: one.store.schedules.count(ns, wanted)
        yield "labels", lambda one: one.store.schedules.labels(ns, MANY)
        for one in SCHEDULES:
            yield f"history {one}", partial(_history, ns, one, after, since)
        yield "calendars", lambda one: one.store.calendars.all(ns)
        yield "users", lambda one: one.store.calendars.users(ns, CALENDARS, 1)
        yield "behind", lambda one: one.store.calendars.behind([*map(Shard, range(8))], 2)

    def _about_people(self) -> Iterator[Question]:
        ns, most = self.namespace, self.dice.choice((1, 2, 5))
        wanted = LogFilter(
            subject=self._maybe(("hourly", "nightly")),
            action=self._maybe(tuple(Action)),
            author=self._maybe(("anna", "fencepost")),
            since=self._maybe(self._moments()),
            until=self._maybe(self._moments()),
            limit=most,
        )
        yield "audit_log", partial(_log_pages, ns, wanted)
        yield "all of the audit_log", partial(_log_pages, ns, LogFilter(limit=most))
        yield "gates", lambda one: one.store.gates.closed(ns)
        yield "freezes", lambda one: one.store.freezes.all(ns)
        yield "backfills", partial(_backfill_pages, ns, most)
        yield "active backfills", lambda one: one.store.backfills.active(most)
        yield "active backfills of others", lambda one: one.store.backfills.active(most, {ns})
        yield "tokens", partial(_token_pages, self.dice.choice((ns, None)), most)
        yield "sessions", partial(_session_pages, self.dice.choice((ns, None)), most)

    def _about_work(self) -> Iterator[Question]:
        shards = [Shard(number) for number in range(8)]
        queues = tuple(self.dice.sample(QUEUES, self.dice.choice((1, 2))))
        hungry = claim_request(self.dice.choice(NODES), queues=queues, namespace=self.namespace)
        yield "outlook", lambda one: one.store.ledger.outlook(hungry)
        yield "window", partial(_window, shards, self._seconds())
        yield "terms", partial(_terms, self._maybe(shards), self.dice.choice((1, 2, 5)))
        yield "leaders", lambda one: one.store.epochs.all()
        yield "nodes", lambda one: one.store.nodes.live()
        yield "jobs", lambda one: one.store.jobs.all(self.namespace)

    def _moments(self) -> list[datetime]:
        known = [run.fire_time for run in self.runs] + [one for run in self.runs if (one := run.finished_at)]
        edges = [one + timedelta(microseconds=step) for one in self._few(known) for step in (-1, 0, 0, 1)]
        return [*edges, self.now, later(self.now, -120)]

    def _few(self, moments: list[datetime]) -> list[datetime]:
        return self.dice.sample(moments, min(len(moments), 5))

    def _seconds(self) -> float:
        """Up to a moment at which something fired, or some time."""
        times = [StoreTime(run.fire_time) for run in self.runs]
        fired = [(self.now - one).total_seconds() for one in times if one < self.now]
        return self.dice.choice([1.0, 60.0, 600.0, *fired])

    def _maybe(self, values: Sequence[T], chance: float = 0.15) -> T | None:
        return self.dice.choice(values) if self.dice.random() < chance else None


async def _run(namespace: Namespace, key: RunKey, twin: Twin) -> object:
    ledger = twin.store.ledger
    steps = await twin.store.steps.recorded(namespace, key)
    return await ledger.get(namespace, key), await ledger.attempts(namespace, key), steps


async def _history(
    namespace: Namespace, schedule_id: ScheduleId, after: int, since: datetime | None, twin: Twin
) -> object:
    schedules = twin.store.schedules
    return await schedules.history(namespace, schedule_id, after=after, limit=3, since=since)


async def _runs(namespace: Namespace, wanted: RunFilter, twin: Twin) -> object:
    found = await twin.store.ledger.list(namespace, wanted)
    assert found.searched_to is None
    return list(found)


async def _run_pages(namespace: Namespace, wanted: RunFilter, twin: Twin) -> object:
    """How far a search comes at a time is left open; what all its pages have together is not."""
    wanted = replace(wanted, limit=wanted.limit + 1, searched_max=wanted.limit + 2)
    found: list[RunRecord] = []
    for _ in range(PAGES_MAX):
        page = await twin.store.ledger.list(namespace, wanted)
        found += page[: wanted.limit - 1]
        place: RunPlace | None = page.following(wanted.limit - 1)
        if place is None:
            return found
        wanted = replace(wanted, after=place)
    raise AssertionError("a list that does not end")


async def _ticks(
    namespace: Namespace, schedule_id: ScheduleId, since: datetime, until: datetime, most: int, twin: Twin
) -> object:
    async def after(last: RunRecord | None) -> Sequence[RunRecord]:
        place = None if last is None else (last.fire_time, last.run_key)
        return await twin.store.ledger.ticks(namespace, schedule_id, since, until, place, most)

    return await _pages(after)


async def _log(namespace: Namespace, key: RunKey, most: int, twin: Twin) -> object:
    book = twin.store.run_logs
    read = await _pages(
        lambda last: book.read(namespace, key, after=last.place if last else LOG_BEGIN, limit=most)
    )
    spots = [LogSpot(namespace, key, LogPlace(attempt)) for attempt in (0, 1)]
    return read, await book.tail(namespace, key, limit=most), await book.read_on(spots, most)


async def _completeness(namespace: Namespace, since_s: float, late_s: float, twin: Twin) -> object:
    ledger = twin.store.ledger
    stand = completeness(
        await ledger.tally(namespace, since_s), await ledger.overdue(namespace, since_s, late_s)
    )
    return stand, stand.burn_rate(0.999), stand.budget_left(0.999)


async def _forecast(namespace: Namespace, now: StoreTime, twin: Twin) -> object:
    return compute(await twin.store.schedules.page(namespace, None, MANY), namespace, now)


async def _window(shards: Sequence[Shard], horizon_s: float, twin: Twin) -> object:
    """Which of two cursors that are looked at together comes first is left open."""
    window = await twin.store.plans.window(shards, horizon_s, MANY)
    return replace(window, cursors=tuple(sorted(window.cursors, key=repr)))


async def _schedule_pages(namespace: Namespace, most: int, twin: Twin) -> object:
    schedules = twin.store.schedules
    return await _pages(lambda last: schedules.page(namespace, last.schedule_id if last else None, most))


async def _found_pages(namespace: Namespace, wanted: ScheduleFilter, twin: Twin) -> object:
    schedules = twin.store.schedules
    return await _pages(
        lambda last: schedules.find(namespace, replace(wanted, after=last.schedule_id if last else None))
    )


async def _log_pages(namespace: Namespace, wanted: LogFilter, twin: Twin) -> object:
    log = twin.store.audit_log
    return await _pages(
        lambda last: log.list(namespace, replace(wanted, before_number=last.number if last else None))
    )


async def _backfill_pages(namespace: Namespace, most: int, twin: Twin) -> object:
    book = twin.store.backfills
    return await _pages(lambda last: book.list(namespace, most, last.backfill_id if last else None))


async def _token_pages(namespace: Namespace | None, most: int, twin: Twin) -> object:
    book = twin.store.access
    found = await _pages(
        lambda last: book.tokens(namespace, before_number=last.number if last else None, limit=most)
    )
    return _unnumbered(found)


async def _session_pages(namespace: Namespace | None, most: int, twin: Twin) -> object:
    book = twin.store.access
    found = await _pages(
        lambda last: book.sessions(namespace, before_number=last.number if last else None, limit=most)
    )
    return _unnumbered(found)


async def _terms(shard: Shard | None, most: int, twin: Twin) -> object:
    book = twin.store.epochs
    return _unnumbered(await _pages(lambda last: book.terms(shard, last.number if last else None, most)))


async def _pages(after: Callable[[Any], Awaitable[Sequence[T]]]) -> list[T]:
    """All pages of a list; `after` has the one that comes after a row, or the first."""
    found: list[T] = []
    for _ in range(PAGES_MAX):
        page = await after(found[-1] if found else None)
        if not page:
            return found
        found += page
    raise AssertionError("a list that does not end")


def _unnumbered(found: Iterable[Any]) -> list[Any]:
    """Numbers rise; which they are is left open."""
    return [replace(one, number=0) for one in found]
