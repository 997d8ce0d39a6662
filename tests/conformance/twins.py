"""Two stores that are told the same, and must answer the same.

Fences are compared by their order: a store may leave numbers out, but what it hands out must exceed all
that it handed out before. A fence that one store gave is translated before it is shown to the other.
"""

import asyncio
import dataclasses
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from fencepost.model.audit import LogFilter
from fencepost.model.claiming import Judge, Outlook, ScheduleFacts, Verdict
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Fence, ScheduleId, Shard
from fencepost.model.lease import LeaseRecord
from fencepost.model.plan import Outlived
from fencepost.model.run import Claim, RunFilter, RunRecord, RunState, Ticket
from fencepost.model.schedule import ScheduleFilter
from fencepost.testing.conformance.builders import MANY, NS
from fencepost.testing.conformance.harness import StoreHarness

T = TypeVar("T")
Play = Callable[["Twin"], Awaitable[T]]

INSTANT_S = 0.001
"""Between any two calls, so that no two things happen at once and no order is left to chance."""

NEVER = 1_000_000_000

RULES = ("2026a", "2026b", "2026c")
CALENDARS = ("de", "fr")


class Twin:
    """One of the two, with the fences that it has shown so far, in order."""

    def __init__(self, harness: StoreHarness) -> None:
        self.harness = harness
        self.store = harness.store
        self.fences = [Fence(0)]
        self.read_to = Fence(0)
        """The largest when everything was last read. A claim that starts a run and stops it for another one
        answers with the other's fence alone, so within a step a lower one may be shown later."""
        self.elder = self

    def own(self, ticket: Ticket) -> Ticket:
        """A ticket of the elder twin, as this one would have written it."""
        return dataclasses.replace(ticket, fence=self.own_fence(ticket.fence))

    def own_fence(self, fence: Fence) -> Fence:
        """The fence of the same rank; one that the elder never showed is one that nobody has."""
        rank = bisect_left(self.elder.fences, fence)
        known = rank < len(self.elder.fences) and self.elder.fences[rank] == fence
        return self.fences[rank] if known else Fence(NEVER + fence)

    def plain(self, answer: Any) -> Any:
        """An answer without what may differ between stores."""
        fresh = sorted({one for one in found_fences(answer) if one not in self.fences})
        assert not fresh or fresh[0] > self.read_to, "a fence did not rise"
        self.fences = sorted([*self.fences, *fresh])
        return self._plain(answer)

    def _plain(self, value: Any) -> Any:
        match value:
            case float():
                return round(value, 3)
            case Mapping():
                return {key: self._plain(one) for key, one in value.items()}
            case list() | tuple():
                return [self._plain(one) for one in value]
            case Outlook():
                # The heads of lanes come in no order.
                return {name: self._plain(_ordered(one)) for name, one in fields_of(value)}
            case RunRecord(state=RunState.RUNNING, reason=str()):
                # Whether a run that was asked to stop says why before it does is left open.
                return self._plain(dataclasses.replace(value, reason=None))
            case _ if dataclasses.is_dataclass(value):
                return {name: self._field(name, one) for name, one in fields_of(value)}
        return value

    def _field(self, name: str, value: Any) -> Any:
        return self.fences.index(value) if name == "fence" else self._plain(value)


class TiedTwin(Twin):
    """One of two to which much happens at one instant. Which of two runs of one lane and time is claimed
    first is left open, so fences are known by their attempts here, and what they are is not compared."""

    def __init__(self, harness: StoreHarness) -> None:
        super().__init__(harness)
        self.by_attempt: dict[tuple[str, str, int], Fence] = {}
        self.elder: TiedTwin = self

    def own_fence(self, fence: Fence) -> Fence:
        named = {given: attempt for attempt, given in self.elder.by_attempt.items()}
        return self.by_attempt.get(named.get(fence, ("", "", 0)), Fence(NEVER + fence))

    def plain(self, answer: Any) -> Any:
        return self._plain(answer)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, list) and value and isinstance(value[0], Claim):
            self.by_attempt |= {(one.namespace, one.run_key, one.attempt): one.fence for one in value}
            value = sorted(value, key=lambda one: (one.namespace, one.run_key))
        return super()._plain(value)

    def _field(self, name: str, value: Any) -> Any:
        return bool(value) if name == "fence" else self._plain(value)


def _ordered(value: Any) -> Any:
    return sorted(value, key=repr) if isinstance(value, tuple) else value


class Twins:
    """The reference, the store under test, and one event loop for both."""

    def __init__(
        self,
        runner: asyncio.Runner,
        reference: StoreHarness,
        subject: StoreHarness,
        kind: type[Twin] = Twin,
    ) -> None:
        self._runner = runner
        self._instant_s = 0.0 if kind is TiedTwin else INSTANT_S
        self._elder, self._younger = kind(reference), kind(subject)
        self._younger.elder = self._elder

    @property
    def now(self) -> StoreTime:
        """The time of both."""
        assert self._elder.harness.now == self._younger.harness.now
        return self._elder.harness.now

    @property
    def shards(self) -> int:
        """The shards of both."""
        assert self._elder.harness.shards == self._younger.harness.shards
        return self._elder.harness.shards

    def advance(self, seconds: float) -> None:
        """Let the time of both pass."""
        for twin in (self._elder, self._younger):
            self._runner.run(twin.harness.advance(seconds))

    def play(self, play: Play[T]) -> T:
        """Do the same to both, compare what they say, return what the reference said."""
        if self._instant_s:
            self.advance(self._instant_s)
        return self._compare(play)

    def ask(self, name: str, question: Play[Any]) -> None:
        """Compare the answers to a question, at this very instant."""
        self._compare(question, name)

    def compare_everything(self, schedules: Sequence[ScheduleId]) -> None:
        """Whether anybody could tell the two apart by reading."""
        self._compare(_read_runs)
        self._compare(_read_fleet)
        self._compare(lambda twin: _read_schedules(twin, schedules))
        self._compare(_read_rules)
        self._compare(_read_calendars)
        self._compare(lambda twin: _read_verbs(twin, schedules))
        self._compare(lambda twin: _read_views(twin, schedules))
        for twin in (self._elder, self._younger):
            twin.read_to = twin.fences[-1]

    def _compare(self, play: Play[T], name: str = "") -> T:
        answer = self._runner.run(_awaited(play(self._elder)))
        other = self._runner.run(_awaited(play(self._younger)))
        assert self._younger.plain(other) == self._elder.plain(answer), name
        return answer


class Recording:
    """A judge whose questions can be compared."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.asked: list[object] = []

    def __call__(self, facts: ScheduleFacts, now: StoreTime, room: int) -> Sequence[Verdict]:
        unfinished = tuple(sorted(facts.unfinished, key=lambda one: one.run_key))
        self.asked.append((dataclasses.replace(facts, unfinished=unfinished), now, room))
        return self._judge(facts, now, room)


def found_fences(value: Any) -> Iterator[Fence]:
    """Every fence in an answer."""
    match value:
        case Mapping():
            for one in value.values():
                yield from found_fences(one)
        case list() | tuple():
            for one in value:
                yield from found_fences(one)
        case _ if dataclasses.is_dataclass(value):
            for name, one in fields_of(value):
                yield from [Fence(one)] if name == "fence" else found_fences(one)


def fields_of(value: Any) -> list[tuple[str, Any]]:
    """The fields of a dataclass with their values."""
    return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]


async def read_outlived(twin: Twin, tzdata: str) -> list[Outlived]:
    """What these rules outlived, by schedule."""
    found = await twin.store.plans.outlived(_all_shards(twin), tzdata, MANY)
    return sorted(found, key=lambda one: one.cursor.schedule_id)


async def _awaited(answer: Awaitable[T]) -> T:
    return await answer


async def _read_runs(twin: Twin) -> object:
    ledger = twin.store.ledger
    runs = await ledger.list(NS, RunFilter(limit=1_000))
    attempts = {run.run_key: await ledger.attempts(NS, run.run_key) for run in runs if run.attempt}
    by_key = sorted(runs, key=lambda run: run.run_key)
    return by_key, attempts, await ledger.depth(NS), await ledger.tally(NS, 60)


async def _read_fleet(twin: Twin) -> object:
    leases = await twin.store.leases.read()
    return [_ran_out(one) for one in leases], await twin.store.nodes.live()


def _ran_out(lease: LeaseRecord) -> LeaseRecord:
    # How long ago a lease ran out is more than a store has to say.
    return dataclasses.replace(lease, expires_in_s=max(lease.expires_in_s, 0.0))


async def _read_schedules(twin: Twin, schedules: Sequence[ScheduleId]) -> object:
    stored = twin.store.schedules
    return [(await stored.get(NS, one), await stored.history(NS, one)) for one in schedules]


async def _read_rules(twin: Twin) -> object:
    return [await read_outlived(twin, tzdata) for tzdata in (*RULES[1:], "2026d")]


async def _read_verbs(twin: Twin, schedules: Sequence[ScheduleId]) -> object:
    store, since = twin.store, datetime(2020, 1, 1, tzinfo=UTC)
    until = datetime(2100, 1, 1, tzinfo=UTC)
    of_schedules = [
        (
            await store.ledger.ticks(NS, one, since, until, None, 1_000),
            await store.ledger.ended(NS, one, since, until, 1_000),
            await store.ledger.missed_ranges(NS, one, since, until),
            await store.ledger.typical_run_s(NS, one),
        )
        for one in schedules
    ]
    return (
        of_schedules,
        await store.gates.closed(NS),
        await store.freezes.all(NS),
        await store.backfills.list(NS, MANY),
        await store.audit_log.list(NS, LogFilter(limit=20)),
        await store.ledger.forgotten_before(),
    )


async def _read_views(twin: Twin, schedules: Sequence[ScheduleId]) -> object:
    store, ledger = twin.store, twin.store.ledger
    edges = [twin.harness.now + timedelta(seconds=seconds) for seconds in (-300, -120, -60, 0, 60)]
    news = await ledger.news(StoreTime(datetime(2020, 1, 1, tzinfo=UTC)), 1_000, [NS])
    return (
        await ledger.strips(NS, schedules, 5),
        await ledger.outcomes(NS, schedules, edges, 7, 5.0),
        await ledger.traffic(NS, 300, 60),
        await ledger.tally_by_job(NS, 300),
        await ledger.overdue(NS, 300, 5),
        dataclasses.replace(news, runs=tuple(sorted(news.runs, key=lambda one: one.run_key))),
        await store.schedules.find(NS, ScheduleFilter(text="e", limit=3)),
        await store.schedules.labels(NS, MANY),
        [dataclasses.replace(one, number=0) for one in await store.epochs.terms(None, None, MANY)],
    )


async def _read_calendars(twin: Twin) -> object:
    stored = twin.store.calendars
    users = await stored.users(NS, CALENDARS, MANY)
    return await stored.all(NS), users, await stored.behind(_all_shards(twin), MANY)


def _all_shards(twin: Twin) -> list[Shard]:
    return [Shard(number) for number in range(twin.harness.shards)]
