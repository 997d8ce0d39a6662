"""The notifier: looks for what is new and wrong, and has it told.

It finds out which states are wrong with the same functions as `fencepost status` and the metrics. The rest is
one transaction of the store (`ports.notifications`), so several nodes could do it at once without harm. The
leader of the first shard does it, so that the store is asked once. While there is no target it only looks for
one. A look that takes long is made less often.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.core.completeness import COMPLETENESS_WINDOW_S, completeness
from fencepost.core.notifying import beginning_of, listened
from fencepost.core.serving import served_jobs, unserved_jobs
from fencepost.model.clocks import elapsed_s
from fencepost.model.identifiers import Namespace
from fencepost.model.notification import Alarm, Event, Item, NotifyTerms
from fencepost.ports.store import Store
from fencepost.services.accounting import Auditor
from fencepost.services.service import Service
from fencepost.services.serving import UNSERVED_MAX, schedules_of

RUNS_MAX = 2_000
"""How many runs one message speaks of, at most; others come with the next."""
STATES_MAX = 1_000
"""How many alarms of one kind there may be."""
PAUSE_S = 0.05
IDLE_S = 60.0
"""How long it may take until the first target is found."""
REST_PER_LOOK = 10.0
"""How much longer it rests than the last look took."""


class Notifier(Service):
    """Runs on nodes that plan, and rests where another one leads."""

    name = "notifier"

    def __init__(self, store: Store, settings: Settings, clock: Clock, leads: Callable[[], bool]) -> None:
        super().__init__()
        self._store = store
        self._clock = clock
        self._leads = leads
        self._settings = settings
        self._terms = NotifyTerms(settings.notify_window_s, RUNS_MAX, settings.public_url)

    async def run_once(self) -> float:
        if not self._leads():
            return IDLE_S
        begun = self._clock.monotonic()
        everywhere = await self._store.notifications.everywhere()
        rests = [self._settings.notify_every_s if everywhere else IDLE_S]
        for namespace, targets in everywhere.items():
            judged = await self._judged(namespace, listened(targets))
            told = await self._store.notifications.collect(namespace, judged, self._terms)
            if told.messages:
                self.log.info("told", namespace=namespace, targets=", ".join(sorted(told.messages)))
            if told.next_in_s is not None:
                rests.append(max(told.next_in_s, PAUSE_S))
        return max(min(rests), REST_PER_LOOK * elapsed_s(begun, self._clock.monotonic()))

    async def _judged(self, namespace: Namespace, asked: Collection[Event]) -> list[Item]:
        """What is wrong at this moment, among the events that targets ask for."""
        judges = {
            Event.GATE_CLOSED: self._gates_closed,
            Event.STUCK: self._stuck,
            Event.UNSERVED: self._unserved,
            Event.INCOMPLETE: self._incomplete,
        }
        found: list[Item] = []
        for event, judge in judges.items():
            if event in asked:
                judged = await judge(namespace)
                found += await self._bounded(namespace, event, judged) if len(judged) > STATES_MAX else judged
        return found

    async def _bounded(self, namespace: Namespace, event: Event, judged: Sequence[Item]) -> list[Item]:
        """The items whose alarms are on, and as many others as there is room for."""
        subjects = {one.subject for one in await self._open(namespace, event)}
        known = [one for one in judged if one.subject in subjects]
        others = [one for one in judged if one.subject not in subjects]
        return [*known, *others[: max(STATES_MAX - len(known), 0)]]

    async def _open(self, namespace: Namespace, event: Event) -> list[Alarm]:
        alarms = await self._store.notifications.alarms(namespace)
        return [one for one in alarms if (one.event, one.ended_at) == (event, None)]

    async def _gates_closed(self, namespace: Namespace) -> list[Item]:
        closed = await self._store.gates.closed(namespace)
        jobs = await self._store.schedules.get_many(namespace, [one.schedule_id for one in closed])
        item = partial(Item, Event.GATE_CLOSED)
        return [
            item(
                one.schedule_id,
                one.closed_at,
                f"{one.reason}; {one.held} ticks wait",
                jobs[one.schedule_id].spec.job if one.schedule_id in jobs else None,
                one.schedule_id,
            )
            for one in closed
        ]

    async def _stuck(self, namespace: Namespace) -> list[Item]:
        found = await Auditor(self._store, namespace).stuck()
        now = await self._store.now() if found else None
        return [
            Item(Event.STUCK, one.run.run_key, now, one.why, one.run.job, one.run.schedule_id)
            for one in found
            if now is not None
        ]

    async def _unserved(self, namespace: Namespace) -> list[Item]:
        """Schedules without code, and those whose alarm is on and not known to be over: no worker reports its
        jobs, or there are too many schedules to look at all."""
        registered = await self._store.jobs.all(namespace)
        nodes = await self._store.nodes.live()
        jobs = unserved_jobs(registered, nodes, namespace)
        found, now = await schedules_of(self._store, namespace, jobs), await self._store.now()
        fired = [
            Item(Event.UNSERVED, one.schedule_id, now, one.words, one.job, one.schedule_id) for one in found
        ]
        is_cut = len(jobs) > UNSERVED_MAX or len(fired) >= UNSERVED_MAX
        if served_jobs(nodes, namespace) is not None and not is_cut:
            return fired
        seen = {one.subject for one in fired}
        opened = await self._open(namespace, Event.UNSERVED)
        return [*fired, *(beginning_of(one) for one in opened if one.subject not in seen)]

    async def _incomplete(self, namespace: Namespace) -> list[Item]:
        """Jobs of which a smaller share has run in the last day than their target."""
        target, now = self._settings.completeness_target, await self._store.now()
        tallies = await self._store.ledger.tally_by_job(namespace, COMPLETENESS_WINDOW_S)
        jobs = {job: completeness(tally) for job, tally in tallies.items()}
        return [
            Item(Event.INCOMPLETE, job, now, f"{one.words} in the last day, below {100 * target:g} %", job)
            for job, one in sorted(jobs.items())
            if one.is_below(target)
        ]
