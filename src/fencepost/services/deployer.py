"""The deployer: brings an application's jobs and schedules into the store when the application starts.

What `core.deployment` holds back, because newer code is alive, is looked at again now and then: after a
rollback it becomes due as soon as the last node of the newer code has gone.

A schedule of a job that was renamed keeps its id: its next version names the new job. So its keys, its
history and its cursor go on, and no tick is lost or doubled. A schedule that code made, and that no live code
brings, is absent: the deployer logs it, and pauses or removes it where its code said so. As with old code, it
looks twice, because other replicas may only not have come back yet. Code that brings it again undoes that.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence

from fencepost.core.deployment import same_words, should_apply
from fencepost.core.quotas import room_for_schedules
from fencepost.core.remedies import serve
from fencepost.errors import InvalidSpec, InvalidTrigger, QuotaExceeded, StoreUnavailable
from fencepost.model.audit import Action, Author, LogFilter
from fencepost.model.codec import schedule_to_text
from fencepost.model.identifiers import JobName, Namespace, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.notification import Target
from fencepost.model.quotas import UNLIMITED, Quotas
from fencepost.model.schedule import (
    Absent,
    AppliedSchedule,
    DesiredSchedule,
    Schedule,
    ScheduleChange,
    ScheduleSpec,
    ScheduleState,
)
from fencepost.ports.store import Store
from fencepost.services.binding import bound_specs
from fencepost.services.quotas import refusals_counted
from fencepost.services.service import Service
from fencepost.services.serving import unserved
from fencepost.triggers import tzdata_version

LOOK_AGAIN_S = 30.0
IDLE_S = 3600.0
LOOKS_MAX = 4
"""How often a process looks for schedules without code after its start, until the nodes that it replaces are
gone. Later a metric shows them."""
BATCH_MAX = PAGE = 1_000
CODE_PAGES_MAX = 10
DEPLOY = "deploy"
ENDINGS = frozenset({Action.SCHEDULE_PAUSE, Action.SCHEDULE_REMOVE})
ABSENT_REASON = "no running code has the schedule"
ABSENT_MEND = (
    'fencepost schedules remove ID; say absent="pause" or "remove" before a schedule leaves the code'
)
TOLD_MAX = 10
"""This number of a batch is logged one by one."""


class Deployer(Service):
    """Belongs to one application in one process."""

    name = "deployer"

    def __init__(
        self,
        store: Store,
        namespace: Namespace,
        jobs: Mapping[str, JobSpec],
        schedules: Mapping[ScheduleId, ScheduleSpec],
        calendars: Mapping[str, JsonObject] | None = None,
        quotas: Quotas = UNLIMITED,
        *,
        works: bool = True,
        targets: Sequence[Target] = (),
    ) -> None:
        super().__init__()
        self._store = store
        self._namespace = namespace
        self._jobs = jobs
        self._quotas = quotas
        self._targets = targets
        self._calendars = dict(calendars or {})
        self._pending = dict(schedules)
        self._served = served_names(jobs) if works else ()
        self._own = set(schedules)
        self._looks_left = LOOKS_MAX
        self._rest_s = 0.0
        self._absent: set[ScheduleId] = set()
        self._told: set[str] = set()
        self._digest = code_digest(schedules)
        self._unopposed: set[ScheduleId] = set()
        self._newly_unopposed: set[ScheduleId] = set()

    async def start(self) -> None:
        """Register the jobs, the calendars and the notification targets, and apply the schedules."""
        await self._store.jobs.register(self._namespace, list(self._jobs.values()))
        for name, definition in self._calendars.items():
            await self._store.calendars.put(self._namespace, name, definition)
        await self._put_targets()
        await self._carry_over()
        self._rest_s = await self.run_once()

    async def run(self) -> None:
        """The start made the first look: the next one comes after the rest, or it would not be a second
        look."""
        await self.wakeup.rest(self._rest_s)
        await super().run()

    async def _put_targets(self) -> None:
        """Write the targets. Other applications, or earlier code of this one, may have brought others."""
        book, own = self._store.notifications, {one.name for one in self._targets}
        if self._targets:
            await book.put(self._namespace, self._targets, author=self._author)
        for one in await book.all(self._namespace):
            if one.from_code and one.name not in own:
                remedy = f"where no code has it any more: fencepost notify remove {one.name}"
                self.log.info("notification target of other code goes on", target=one.name, remedy=remedy)

    async def run_once(self) -> float:
        try:
            return await self._look()
        except StoreUnavailable:
            self._unopposed.clear()
            self._absent.clear()
            raise

    async def _look(self) -> float:
        looks = self._looks_left > 0
        nodes = await self._store.nodes.live() if self._pending or looks else ()
        live = {one.node.code_digest for one in nodes}
        self._newly_unopposed.clear()
        pending = list(self._pending)
        for start in range(0, len(pending), BATCH_MAX):
            for schedule_id in await self._apply_readable(pending[start : start + BATCH_MAX], live):
                del self._pending[schedule_id]
        self._unopposed |= self._newly_unopposed
        if looks:
            self._looks_left -= 1
            await self._look_for_absent(live)
            await self._look_for_unserved()
        return LOOK_AGAIN_S if self._pending or self._looks_left else IDLE_S

    async def _carry_over(self) -> None:
        """A schedule that has the name of a renamed job goes on under the id that it had before."""
        old_of = {
            ScheduleId(name): [ScheduleId(old) for old in spec.renamed_from]
            for name, spec in self._jobs.items()
            if spec.renamed_from and ScheduleId(name) in self._pending
        }
        if not old_of:
            return
        asked = [one for new, old in old_of.items() for one in (new, *old)]
        known = await self._store.schedules.get_many(self._namespace, asked)
        for new, before in old_of.items():
            found = next((old for old in reversed(before) if _is_from_code(known.get(old))), None)
            if found is None or _is_there(known.get(new)) or found in self._pending:
                continue
            self._pending[found] = self._pending.pop(new)
            self._own.add(found)
            self.log.info("schedule keeps its id: its job was renamed", schedule=found, job=new)

    async def _look_for_absent(self, live: set[str]) -> None:
        """Schedules that code made and that neither this code nor other live code brings."""
        seen: dict[ScheduleId, Absent] = {}
        async for one in self._from_code():
            known = one.code_digest in live or one.code_digest == self._digest
            if one.schedule_id not in self._own and not known:
                assert one.code_spec is not None
                seen[one.schedule_id] = one.code_spec.absent
        for name, policy in seen.items():
            if policy is Absent.KEEP:
                self._warn(f"schedule {name}: is in no running code and goes on", ABSENT_MEND)
            elif name in self._absent:
                await self._end(name, policy)
        self._absent = set(seen)

    async def _from_code(self) -> AsyncIterator[Schedule]:
        """The active schedules that code made, among the first `CODE_PAGES_MAX` pages."""
        after: ScheduleId | None = None
        for _ in range(CODE_PAGES_MAX):
            page = await self._store.schedules.page(self._namespace, after, PAGE)
            for one in page:
                if one.state is ScheduleState.ACTIVE and _is_from_code(one):
                    yield one
            if len(page) < PAGE:
                return
            after = page[-1].schedule_id

    async def _end(self, schedule_id: ScheduleId, policy: Absent) -> None:
        author, schedules = self._author, self._store.schedules
        if policy is Absent.PAUSE:
            await schedules.pause(self._namespace, schedule_id, ABSENT_REASON, author=author)
        else:
            await schedules.remove(self._namespace, schedule_id, author=author)
        words = f"schedule {schedule_id}: is in no running code, so it was {policy}d"
        self.log.warning(words, remedy='it goes on once code has it again, or set absent="keep"')

    async def _look_for_unserved(self) -> None:
        """Log each schedule that fires into nothing once."""
        for one in await unserved(self._store, self._namespace, self._served):
            self._warn(one.words, serve(one.job))

    def _warn(self, words: str, remedy: str) -> None:
        if words not in self._told:
            self._told.add(words)
            self.log.warning(words, remedy=remedy)

    async def _apply_readable(self, some: Sequence[ScheduleId], live: set[str]) -> Sequence[ScheduleId]:
        """Apply these; returns those that need no further look. A spec of newer code that this release cannot
        read is left alone, and a schedule waits for a calendar that is not there. The others of its batch do
        not wait for it."""
        try:
            return await self._apply(some, live)
        except (InvalidSpec, InvalidTrigger, QuotaExceeded) as error:
            if len(some) == 1:
                self._leave(some[0], error)
                return []
        half = len(some) // 2
        return [
            *await self._apply_readable(some[:half], live),
            *await self._apply_readable(some[half:], live),
        ]

    async def _apply(self, some: Sequence[ScheduleId], live: set[str]) -> Sequence[ScheduleId]:
        """Apply these; returns those that need no further look."""
        known = await self._store.schedules.get_many(self._namespace, some)
        applied = {one for one in some if one in known and _same(known[one].code_spec, self._pending[one])}
        edited = [one for one in some if one in known and one not in applied]
        histories = await self._store.schedules.histories(self._namespace, edited)
        past = {name: [one.spec for one in versions] for name, versions in histories.items()}
        back = await self._back(known, applied)
        settled: list[ScheduleId] = []
        due: list[ScheduleId] = []
        for name in some:
            spec, current = self._pending[name], known.get(name)
            if name not in applied and should_apply(spec, current, past.get(name, []), live):
                due += [name] if self._seen_twice(name, spec, past.get(name, [])) else []
                continue
            self._unopposed.discard(name)
            assert current is not None
            if name in back or self._may_vouch(current, spec):
                due.append(name)
            elif name in applied:
                settled.append(name)
        return [*settled, *await self._put(due, known)]

    async def _back(
        self, known: Mapping[ScheduleId, Schedule], applied: Collection[ScheduleId]
    ) -> set[ScheduleId]:
        """The schedules that are there again after they were ended for their absence. A schedule that a
        person ended stays so."""
        found: set[ScheduleId] = set()
        for name in applied:
            state = known[name].state
            if state is ScheduleState.ACTIVE or self._pending[name].absent is Absent.KEEP:
                continue
            log = await self._store.audit_log.list(self._namespace, LogFilter(subject=name, limit=1))
            if not log or log[0].author.name != DEPLOY or log[0].action not in ENDINGS:
                continue
            if state is ScheduleState.REMOVED:
                found.add(name)
            else:
                await self._store.schedules.resume(
                    self._namespace, name, tzdata=tzdata_version(), back_s=0.0, author=self._author
                )
        return found

    def _seen_twice(
        self, schedule_id: ScheduleId, spec: ScheduleSpec, past: Collection[ScheduleSpec]
    ) -> bool:
        """New code needs no second look. Old code does: the nodes of the newer code may only not have come
        back yet, after an outage of the store or at their own start. A retry in smaller batches is still the
        same look."""
        if not any(_same(one, spec) for one in past) or schedule_id in self._unopposed:
            return True
        self._newly_unopposed.add(schedule_id)
        return False

    def _may_vouch(self, current: Schedule, spec: ScheduleSpec) -> bool:
        """This code brings the same spec as the code before it: from now on its nodes speak for it."""
        stands_in = current.state is ScheduleState.ACTIVE and current.code_digest != self._digest
        return stands_in and _same(current.code_spec, spec) and _same(current.spec, spec)

    async def _put(
        self, some: Sequence[ScheduleId], known: Mapping[ScheduleId, Schedule]
    ) -> Sequence[ScheduleId]:
        """The schedules that were written; where another writer was quicker, everything is looked at
        again."""
        wanted = {name: self._pending[name] for name in some}
        bound = await bound_specs(self._store, self._namespace, wanted, quotas=self._quotas)
        batch = []
        for name, spec in bound.items():
            if isinstance(spec, ScheduleSpec):
                batch.append(DesiredSchedule(name, spec, _visible_version(known.get(name)), wanted[name]))
            else:
                self._leave(name, spec)
        if not batch:
            return []
        with refusals_counted():
            put = await self._store.schedules.put_many(
                self._namespace,
                batch,
                tzdata=tzdata_version(),
                code_digest=self._digest,
                author=self._author,
                admit=room_for_schedules(self._namespace, self._quotas),
            )
        written = [one for one in put if one is not None]
        self._tell([one for one in written if one.change is not ScheduleChange.UNCHANGED])
        return [one.schedule.schedule_id for one in written]

    @property
    def _author(self) -> Author:
        return Author(DEPLOY, f"code {self._digest}")

    def _tell(self, applied: Sequence[AppliedSchedule]) -> None:
        for one in applied[:TOLD_MAX]:
            self.log.info("schedule applied", schedule=one.schedule.schedule_id, version=one.schedule.version)
        if len(applied) > TOLD_MAX:
            self.log.info("more schedules applied", schedules=len(applied) - TOLD_MAX)

    def _leave(self, schedule_id: ScheduleId, error: Exception) -> None:
        self.log.warning("schedule left alone", schedule=schedule_id, error=str(error))


def code_digest(schedules: Mapping[ScheduleId, ScheduleSpec]) -> str:
    """One short name for the schedules that an application's code brings."""
    hasher = hashlib.blake2b(digest_size=8)
    for schedule_id, spec in sorted(schedules.items()):
        hasher.update(f"{schedule_id}={schedule_to_text(spec)}\n".encode())
    return hasher.hexdigest()


def served_names(jobs: Mapping[str, JobSpec]) -> tuple[JobName, ...]:
    """The names of jobs, and those that they had before."""
    return tuple(name for spec in jobs.values() for name in (spec.name, *spec.renamed_from))


def _is_there(current: Schedule | None) -> bool:
    return current is not None and current.state is not ScheduleState.REMOVED


def _is_from_code(current: Schedule | None) -> bool:
    return current is not None and _is_there(current) and current.code_spec is not None


def _same(one: ScheduleSpec | None, other: ScheduleSpec) -> bool:
    return one is not None and same_words(one, other)


def _visible_version(current: Schedule | None) -> int:
    return 0 if current is None or current.state is ScheduleState.REMOVED else current.version
