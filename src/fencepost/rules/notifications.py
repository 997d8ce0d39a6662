"""Notifications: targets, alarms, and what is new since the last message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from fencepost.core.notifying import (
    Told,
    beginning_of,
    delivering,
    delivery,
    is_due,
    listened,
    notification,
    recovery,
    turned,
    wants,
)
from fencepost.errors import InvalidSpec
from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime
from fencepost.model.codec import job_to_text, target_from_text, target_to_json, target_to_text
from fencepost.model.identifiers import Namespace
from fencepost.model.notification import (
    DELIVERY,
    DELIVERY_SPEC,
    STATES,
    Alarm,
    Collected,
    Event,
    Item,
    NotifyTerms,
    Target,
)
from fencepost.model.table import Key, Row
from fencepost.model.tables import (
    ALARMS,
    JOBS,
    MISSED_RANGES,
    MISSED_RANGES_UNTOLD,
    NOTIFY_EVENTS,
    NOTIFY_TARGETS,
    RUNS,
    RUNS_UNTOLD,
    VERSIONS,
)
from fencepost.model.times import to_utc_text
from fencepost.ports.rows import Transaction
from fencepost.rules.audit_log import log
from fencepost.rules.orders import write_runs
from fencepost.rules.part import Part, reads, writes
from fencepost.rules.rows import columns_of, job_if_readable, reader

to_alarm = reader(Alarm)


@dataclass(slots=True)
class News:
    """What is not told yet of one event: the items, and the rows that are marked when they are told."""

    items: list[Item]
    runs: list[Row] = field(default_factory=list)
    ranges: list[Row] = field(default_factory=list)
    alarms: list[Row] = field(default_factory=list)
    more: bool = False


class NotificationRules(Part):
    """See `ports.notifications`."""

    @writes
    async def put(
        self,
        tx: Transaction,
        namespace: Namespace,
        targets: Sequence[Target],
        *,
        author: Author | None = None,
    ) -> Sequence[bool]:
        if any(one.job == DELIVERY for one in targets):
            said = {"namespace": namespace, "spec": job_to_text(DELIVERY_SPEC), "updated_at": await tx.now()}
            await tx.put_if_absent(JOBS, [{**columns_of(JOBS, DELIVERY_SPEC), **said}])
        await tx.take_turn(_turn(namespace))
        in_order = sorted(targets, key=lambda one: one.name)
        written = [await _put(tx, namespace, one, author) for one in in_order]
        await _marks(tx, namespace, listened(await _targets(tx, namespace)), await tx.now())
        return written

    @writes
    async def remove(
        self, tx: Transaction, namespace: Namespace, name: str, *, author: Author | None = None
    ) -> bool:
        await tx.take_turn(_turn(namespace))
        known = await tx.lock(NOTIFY_TARGETS.at(namespace, name))
        for row in known:
            await tx.delete(NOTIFY_TARGETS, [row])
            await log(tx, author, namespace, Action.NOTIFY_REMOVE, name, _shown(row), {})
        if known:
            asked = listened(await _targets(tx, namespace))
            await _marks(tx, namespace, asked, await tx.now())
            alarms = await tx.lock(ALARMS.all(namespace))
            await tx.delete(ALARMS, [row for row in alarms if row["event"] not in asked])
        return bool(known)

    @reads
    async def all(self, tx: Transaction, namespace: Namespace) -> Sequence[Target]:
        return await _targets(tx, namespace)

    @reads
    async def everywhere(self, tx: Transaction) -> Mapping[Namespace, Sequence[Target]]:
        found: dict[Namespace, list[Target]] = {}
        for row in await tx.find(NOTIFY_TARGETS.all()):
            found.setdefault(row["namespace"], []).extend(_readable(row))
        return found

    @reads
    async def alarms(self, tx: Transaction, namespace: Namespace) -> Sequence[Alarm]:
        rows = await tx.find(ALARMS.all(namespace))
        return [to_alarm(row) for row in rows if row["event"] in set(Event)]

    @writes
    async def collect(
        self, tx: Transaction, namespace: Namespace, judged: Sequence[Item], terms: NotifyTerms
    ) -> Collected:
        await tx.take_turn(_turn(namespace))
        targets, now = await _targets(tx, namespace), await tx.now()
        asked, own = listened(targets), delivering(targets)
        marks = await _marks(tx, namespace, asked, now)
        await _turn_alarms(tx, namespace, asked, judged, own, now)
        messages, waits = Counter[str](), list[float]()
        for event in sorted(asked):
            look = _Look(namespace, event, marks[event]["since"], own, terms.most)
            news = await look.at(tx, tx.find)
            first_at = (marks[event]["first_at"] or now) if news.items else None
            if is_due(first_at, now, terms.window_s):
                news, first_at = await look.at(tx, tx.take), None
                messages.update(await _tell(tx, look, targets, news, terms.public_url, now))
                await _mark(tx, news)
            elif news.runs and not news.items:
                await _mark(tx, await look.at(tx, tx.take))
            await tx.change(NOTIFY_EVENTS, _moved(marks[event], first_at))
            if first_at is not None:
                waits.append(terms.window_s - (now - first_at).total_seconds())
        return Collected(messages, min(waits, default=None))


def _turn(namespace: Namespace) -> str:
    return f"notify {namespace}"


async def _put(tx: Transaction, namespace: Namespace, target: Target, author: Author | None) -> bool:
    name = {"namespace": namespace, "name": target.name}
    said = {"definition": target_to_text(target), "updated_at": await tx.now()}
    before: Row | None = None
    if not await tx.put_if_absent(NOTIFY_TARGETS, [{**name, **said}]):
        (before,) = await tx.lock(NOTIFY_TARGETS.at(namespace, target.name))
        if before["definition"] == said["definition"]:
            return False
        await tx.change(NOTIFY_TARGETS, [(before, said)])
    shown = {} if before is None else _shown(before)
    await log(tx, author, namespace, Action.NOTIFY_PUT, target.name, shown, _logged(target))
    return True


def _shown(row: Row) -> Told:
    return next(map(_logged, _readable(row)), {})


def _logged(target: Target) -> Told:
    """What the audit log keeps of a target: a URL may be a secret."""
    said = target_to_json(target)
    return said | {"url": target.shown} if target.url else said


def _readable(row: Row) -> list[Target]:
    """The target of a row; none where a newer release wrote one that this release cannot read."""
    try:
        return [target_from_text(row["name"], row["definition"])]
    except InvalidSpec:
        return []


async def _targets(tx: Transaction, namespace: Namespace) -> list[Target]:
    return [one for row in await tx.find(NOTIFY_TARGETS.all(namespace)) for one in _readable(row)]


async def _marks(
    tx: Transaction, namespace: Namespace, asked: frozenset[Event], now: StoreTime
) -> Mapping[str, Row]:
    """Since when each event is asked for, and since when some of it waits to be told. Missed ticks that were
    counted before are not told; events that no target asks for any more are forgotten."""
    new = [{"namespace": namespace, "event": str(event), "since": now} for event in sorted(asked)]
    written = await tx.put_if_absent(NOTIFY_EVENTS, new)
    if any(row["event"] == Event.MISSED for row in written):
        before = await tx.take(MISSED_RANGES_UNTOLD(namespace))
        await tx.change(MISSED_RANGES, [(one, {"untold": 0}) for one in before])
    rows = await tx.lock(NOTIFY_EVENTS.all(namespace))
    await tx.delete(NOTIFY_EVENTS, [row for row in rows if row["event"] not in asked])
    return {row["event"]: row for row in rows if row["event"] in asked}


def _moved(mark: Row, first_at: datetime | None) -> list[tuple[Row, Row]]:
    return [] if mark["first_at"] == first_at else [(mark, {"first_at": first_at})]


async def _turn_alarms(
    tx: Transaction,
    namespace: Namespace,
    asked: frozenset[Event],
    judged: Sequence[Item],
    own: frozenset[str],
    now: StoreTime,
) -> None:
    """Remember which alarms have begun and which have ended, of the events that are asked for."""
    known = await tx.lock(ALARMS.all(namespace))
    rows = {(row["event"], row["subject"]): row for row in known if row["event"] in asked}
    await tx.delete(ALARMS, [row for row in known if row["event"] not in asked])
    turn = turned(list(map(to_alarm, rows.values())), [one for one in judged if one.event in asked], own)
    await tx.put_if_absent(ALARMS, [_begun(namespace, one, now) for one in turn.begun])
    ended = [rows[one.event, one.subject] for one in turn.ended]
    over = [rows[one.event, one.subject] for one in turn.dropped]
    if Event.RECOVERED in asked:
        await tx.change(ALARMS, [(row, {"ended_at": now}) for row in ended])
    else:
        over += [*ended, *(row for row in rows.values() if row["ended_at"] is not None)]
    resumed = [rows[one.event, one.subject] for one in turn.resumed]
    await tx.change(ALARMS, [(row, {"ended_at": None}) for row in resumed])
    await tx.delete(ALARMS, [row for row in over if row not in resumed])


def _begun(namespace: Namespace, item: Item, now: StoreTime) -> Row:
    about = {"job": item.job, "schedule_id": item.schedule_id, "words": item.words, "since": now}
    return {"namespace": namespace, "event": str(item.event), "subject": item.subject, **about}


Verb: TypeAlias = Callable[..., Coroutine[Any, Any, list[Row]]]
"""To find rows, or to take them."""


class _Look(NamedTuple):
    """A search for what is not told of an event. Deliveries are among the rows, so that they are marked, and
    not among the items."""

    namespace: Namespace
    event: Event
    since: StoreTime
    own: frozenset[str]
    most: int

    async def at(self, tx: Transaction, read: Verb) -> News:
        if self.event in STATES or self.event is Event.RECOVERED:
            return await self._alarms(tx)
        runs = await read(RUNS_UNTOLD(self.namespace, str(self.event)).since(self.since), limit=self.most)
        ranges = list[Row]()
        if self.event is Event.MISSED:
            ranges = await read(MISSED_RANGES_UNTOLD(self.namespace), limit=self.most)
        jobs = await _jobs_of(tx, ranges)
        items = [_of_run(self.event, run) for run in runs if run["job"] not in self.own]
        items += [_of_range(one, jobs.get(VERSIONS.key_of(one))) for one in ranges]
        return News(items, runs, ranges, more=self.most in (len(runs), len(ranges)))

    async def _alarms(self, tx: Transaction) -> News:
        rows = await tx.lock(ALARMS.all(self.namespace))
        if self.event is Event.RECOVERED:
            over = [row for row in rows if row["ended_at"] is not None]
            return News([recovery(to_alarm(row)) for row in over], alarms=over)
        begun = [row for row in rows if row["event"] == self.event and not row["told"]]
        return News([beginning_of(to_alarm(row)) for row in begun], alarms=begun)


async def _jobs_of(tx: Transaction, ranges: Sequence[Row]) -> Mapping[Key, str]:
    """The job of each version of a schedule that missed ticks."""
    versions = sorted({VERSIONS.key_of(one) for one in ranges})
    rows = await tx.find(VERSIONS.among(versions)) if versions else []
    return {VERSIONS.key_of(row): row["job"] for row in rows}


def _of_run(event: Event, run: Row) -> Item:
    words = run["error"] or run["reason"] or ""
    return Item(event, run["run_key"], run["finished_at"], words, run["job"], run["schedule_id"])


def _of_range(missed: Row, job: str | None) -> Item:
    words, ticks = missed["reason"], min(missed["untold"], missed["ticks"])
    schedule = missed["schedule_id"]
    return Item(Event.MISSED, schedule, missed["last_at"], words, job, schedule, ticks)


async def _tell(
    tx: Transaction, look: _Look, targets: Sequence[Target], news: News, public_url: str, now: StoreTime
) -> list[str]:
    """Enqueue a delivery to each target that wants some of it; returns the names of those targets."""
    named = {one.job for one in targets} | {one.job for one in news.items if one.job is not None}
    named |= {name for one in targets for name in (*one.jobs, *one.schedules)}
    jobs = await tx.find(JOBS.among((look.namespace, job) for job in sorted(named)))
    places = {row["name"]: (row["queue"], row["priority"]) for row in jobs}
    before = {row["name"]: _names_before(row) for row in jobs}
    asking = {target: [one for one in news.items if wants(target, one, before)] for target in targets}
    told = []
    for target, items in asking.items():
        if items:
            form = notification(look.namespace, look.event, items, public_url, more=news.more)
            key = f"{target.name}:{look.event}:{to_utc_text(now)}"
            told.append(delivery(target, form, key, *places.get(target.job, ())))
    await write_runs(tx, look.namespace, told, None)
    return [target.name for target, items in asking.items() if items]


def _names_before(job: Row) -> Sequence[str]:
    spec = job_if_readable(job["spec"])
    return () if spec is None else spec.renamed_from


async def _mark(tx: Transaction, news: News) -> None:
    """Mark the rows, so that nothing of it is told again."""
    await tx.change(RUNS, [(run, {"told": True}) for run in news.runs])
    await tx.change(MISSED_RANGES, [(one, {"untold": 0}) for one in news.ranges])
    await tx.change(ALARMS, [(row, {"told": True}) for row in news.alarms if row["ended_at"] is None])
    await tx.delete(ALARMS, [row for row in news.alarms if row["ended_at"] is not None])
