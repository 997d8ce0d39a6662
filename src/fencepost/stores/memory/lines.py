"""The lines of limited jobs in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice

from fencepost.model.claiming import Appetite, Head, Portion, ScheduleFacts
from fencepost.model.clocks import StoreTime
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.limits import JobLimit, Limiter, LimitFacts, LimitRuling, Waiting
from fencepost.model.run import IN_TURN, Claim, Hold
from fencepost.stores.allowances import Allowances, candidates_max
from fencepost.stores.lining import Standing, go_through
from fencepost.stores.memory.lanes import Lane, RunRow, is_tick
from fencepost.stores.memory.starting import MemoryStarts
from fencepost.stores.memory.tables import LimitRow, Tables, fill_slot


class MemoryLines(MemoryStarts):
    """What limited jobs add to the claims of `ports.ledger`."""

    async def claim_lined(self, appetite: Appetite, limit: int, limiter: Limiter) -> Sequence[Claim]:
        if is_all_frozen(self._tables, appetite.namespace):
            return []
        now, walk = self._tables.now(), open_walk(self._tables, appetite, limit)
        lines = [line for line in self._lines(appetite) if lets_go(self._limit_row(*_owner(line[0])), now)]
        rows = {row.record.run_key: row for line in lines for row in line[: candidates_max(limit)]}
        owners = {_owner(row) for row in rows.values()}
        books = {job: self._limit_facts(namespace, job) for namespace, job in owners}
        standing = [self._standing(books[row.record.job].limit, row) for row in rows.values()]
        passage = go_through(books, standing, walk, limit, now, limiter)
        for key in passage.due:
            self._tables.change(rows[key], held=Hold.NONE)
        for wait in passage.waits:
            self._hold(rows[wait.run_key], wait)
        for job, ruling in passage.paid.items():
            self._keep(books[job], ruling)
        begun = [(rows[one.run_key], one.slot) for one in passage.begun]
        return [self._start(row, appetite, self._previous(row), slot) for row, slot in begun]

    def _standing(self, terms: JobLimit, row: RunRow) -> Standing:
        one, slot = row.record, terms.slot_of(self._tables.payload_of(row.record))
        lane = one.queue, one.priority, one.run_at
        return Standing(one.job, one.run_key, *lane, slot, is_tick(one), one.reason)

    def _lines(self, appetite: Appetite) -> Iterator[list[RunRow]]:
        """The line in each queue of each limited job that the worker knows, as far as it may take from it."""
        queues = sorted({one.queue for one in open_walk(self._tables, appetite, 1)})
        for job in sorted(set(appetite.jobs)):
            rows = sorted(self._waiting_of(appetite.namespace, job, Hold.PACED), key=turn)
            limited = self._tables.limit_of(appetite.namespace, job) is not None
            lines = [[row for row in rows if row.record.queue == queue] for queue in queues if limited]
            yield from (line for line in lines if line)

    def _waiting_of(self, namespace: Namespace, job: JobName, hold: Hold) -> list[RunRow]:
        rows = (row for row in self._tables.waiting.values() if row.record.held == hold)
        return [row for row in rows if (row.record.namespace, row.record.job) == (namespace, job)]

    def _lined(self, appetite: Appetite, now: StoreTime) -> tuple[tuple[Head, ...], list[StoreTime]]:
        """The heads of the lines whose rate lets one go, and when the others will."""
        firsts = [line[0].record for line in self._lines(appetite)]
        rows = {first.job: self._limit_row(first.namespace, first.job) for first in firsts}
        heads = [Head(one.priority, one.run_at, one.queue) for one in firsts if lets_go(rows[one.job], now)]
        later = [row.next_at for row in rows.values() if row.next_at is not None and row.next_at > now]
        return tuple(heads), later

    def _allowances(self, every: Sequence[ScheduleFacts], limiter: Limiter | None) -> Allowances:
        """What the limits of these ticks' jobs leave."""
        owners = {(facts.namespace, tick.job) for facts in every for tick in facts.due}
        limited = [owner for owner in owners if self._tables.limit_of(*owner) is not None]
        if limiter is None:
            return Allowances(self._tables.now(), closed=frozenset(limited))
        facts = {owner: self._limit_facts(*owner) for owner in limited}
        return Allowances(self._tables.now(), limiter, facts)

    def _keep_allowances(self, allowances: Allowances) -> None:
        for namespace, wait in allowances.waits:
            self._hold(self._tables.runs[namespace, wait.run_key], wait)
        for key in allowances.frees:
            self._tables.change(self._tables.runs[key], held=Hold.NONE)
        for owner, ruling in allowances.rulings.items():
            self._keep(allowances.open[owner], ruling)

    def _hold(self, row: RunRow, wait: Waiting) -> None:
        row.slot = wait.slot
        held = row.record.held & ~IN_TURN | wait.hold
        self._tables.change(row, held=held, reason=wait.reason)

    def _keep(self, facts: LimitFacts, ruling: LimitRuling) -> None:
        row = self._limit_row(facts.namespace, facts.job)
        row.paid_until, row.next_at = ruling.paid_until, ruling.next_at

    def _limit_facts(self, namespace: Namespace, job: JobName) -> LimitFacts:
        terms = self._tables.limit_of(namespace, job)
        assert terms is not None
        paid_until = self._limit_row(namespace, job).paid_until
        return LimitFacts(namespace, job, terms, (), self._tables.running_of(namespace, job), paid_until)

    def _limit_row(self, namespace: Namespace, job: JobName) -> LimitRow:
        return self._tables.limits.setdefault((namespace, job), LimitRow())

    def _ring_limits(self, limit: int) -> int:
        """The net under the bells of slots; how many runs it called."""
        stamp_running(self._tables)
        lanes = [lane for lane in self._tables.lanes.values() if lane.limited]
        waiting = {
            (row.record.namespace, row.record.job, row.slot or "")
            for row in self._tables.waiting.values()
            if row.record.held == Hold.LIMITED and not is_tick(row.record)
        }
        rung = sum(self._ring_limited(lane) for lane in islice(lanes, limit))
        filled = (fill_slot(self._tables, *one) for one in sorted(waiting))
        return rung + sum(islice((count for count in filled if count), limit))

    def _ring_limited(self, lane: Lane) -> bool:
        row = lane.first_limited()
        if row is not None:
            self._tables.change(row, held=Hold.NONE)
        return row is not None


def is_all_frozen(tables: Tables, namespace: Namespace) -> bool:
    """Whether nothing of the namespace may start."""
    return (namespace, Scope(ScopeKind.ALL)) in tables.freezes


def is_paused(tables: Tables, namespace: Namespace, queue: str) -> bool:
    """Whether nothing of the queue may start."""
    return (namespace, Scope(ScopeKind.QUEUE, queue)) in tables.freezes


def open_walk(tables: Tables, appetite: Appetite, limit: int) -> list[Portion]:
    """The lanes to be walked but for those of paused queues."""
    return [one for one in appetite.walk(limit) if not is_paused(tables, appetite.namespace, one.queue)]


def lets_go(row: LimitRow, now: StoreTime) -> bool:
    """Whether the rate lets one go now."""
    return row.next_at is None or row.next_at <= now


def release_lined(tables: Tables, namespace: Namespace, job: JobName) -> None:
    """What waits for the limits of the job is due as if there were none."""
    for row in list(tables.waiting.values()):
        if (row.record.namespace, row.record.job) == (namespace, job):
            tables.change(row, held=row.record.held & ~(Hold.LIMITED | Hold.PACED))


def stamp_running(tables: Tables) -> None:
    """Runs that began before their job had these limits count from now on."""
    for row in tables.running.values():
        terms = tables.limit_of(row.record.namespace, row.record.job)
        row.slot = None if terms is None else terms.slot_of(tables.payload_of(row.record))


def turn(row: RunRow) -> tuple[int, datetime, str]:
    """The place of a run in the line of its job."""
    return row.record.priority, row.record.run_at, row.record.run_key


def _owner(row: RunRow) -> tuple[Namespace, JobName]:
    return row.record.namespace, row.record.job
