"""The worker: claims due runs and carries them out.

A pass looks at what waits, claims the more urgent kind first (`claiming.py`), up to the room that is left,
and starts each claim as a task. It then rests until the next run is due, a hint comes, or the poll is due.
Room becomes free when a run's work has ended; the reporter sends its report, so the next claim and the last
report travel at the same time. While runs are short, the worker claims the next ones before there is room for
them (`prefetch.py`).
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from datetime import timedelta

from fencepost.config import Settings
from fencepost.errors import StoreUnavailable
from fencepost.model.claiming import ClaimRequest, Outlook
from fencepost.model.clocks import since
from fencepost.model.identifiers import JobName, NodeId, Queue
from fencepost.model.run import Claim
from fencepost.ports.executor import Job
from fencepost.ports.store import Store
from fencepost.services.active import ActiveRun, ActiveRuns, StopCause
from fencepost.services.attempt import INTERRUPT_S, Attempts
from fencepost.services.chains import with_predecessors
from fencepost.services.claiming import WAITING_MAX, Looks, claim_first, helpings, share_room
from fencepost.services.ledger_watch import LedgerWatch
from fencepost.services.prefetch import Prefetch, not_prefetched
from fencepost.services.reporter import Reporter
from fencepost.services.run_context import LedgerRunContext
from fencepost.services.service import Service
from fencepost.telemetry.events import RunClaimed, emit, is_heard

BEGUN_MAX = 25
"""How many runs begin in one turn of the loop: answers of the store are read between two turns."""
REST_MIN_S = 0.001
LOCKED_REST_S = 0.02
"""A due run that could not be claimed is locked by another worker, for a moment."""


class Worker(Service):
    """Claims and carries out the runs of one process."""

    name = "worker"

    def __init__(
        self,
        store: Store,
        jobs: Mapping[JobName, Job],
        active: ActiveRuns,
        reporter: Reporter,
        settings: Settings,
        node_id: NodeId,
        dice: Callable[[], float],
    ) -> None:
        super().__init__()
        self._store = store
        self._jobs = jobs
        self._active = active
        self._watch = LedgerWatch(store, node_id)
        self._reporter = reporter
        reporter.on_reported = self._claim_more
        self._settings = settings
        self._claim_request = ClaimRequest(
            worker=node_id,
            queues=settings.queues,
            jobs=tuple(sorted(jobs)),
            alive_for_s=settings.heartbeat_timeout_s,
            namespace=settings.namespace,
        )
        self._attempts = Attempts(jobs, active, reporter, dice, node_id)
        self._queueing = frozenset(name for name, job in jobs.items() if job.queues)
        self._limited = frozenset(name for name, job in jobs.items() if job.spec.limit is not None)
        self._taking_run = frozenset(name for name, job in jobs.items() if job.takes_run)
        self._following = frozenset(name for name, job in jobs.items() if job.spec.after)
        self._beats = {
            name: (self._beats_for(job.spec.timeout), self._beats_for(job.spec.progress_deadline))
            for name, job in jobs.items()
        }
        self._tasks: set[asyncio.Task[None]] = set()
        self._context = copy_context()
        """Each attempt begins in a copy of it, and not in the context that the last attempt left."""
        self._begun = 0
        """How many runs have begun in this turn of the loop."""
        self._prefetch = Prefetch(settings.prefetch)
        self._not_prefetched = not_prefetched(jobs)
        self._due_left = True
        self._idle_until_s = 0.0
        self._turns: Counter[Queue] = Counter()
        self._looks = Looks()
        self._claiming = asyncio.Lock()
        self._answer_lost = False
        self._stopping = False
        self._draining = False
        self._bug: BaseException | None = None

    @property
    def room(self) -> int:
        """How many more runs may be claimed; reports that the store does not take count against it."""
        overdue = max(0, self._reporter.backlog - self._settings.finish_batch_max)
        in_hand = len(self._tasks) + len(self._prefetch.waiting)
        return self._settings.concurrency + self._prefetch.size - in_hand - overdue

    @property
    def _is_fed(self) -> bool:
        return self.room <= 0 or not self._prefetch.is_low

    @property
    def busy(self) -> int:
        """How many runs this worker has; a claim that is under way counts as one."""
        return len(self._tasks) + len(self._prefetch.waiting) + self._claiming.locked()

    async def run_once(self) -> float:
        """Claim and start what there is room for."""
        if self._bug is not None:
            raise AssertionError("an attempt must not raise") from self._bug
        self._prefetch.measure(_now_s())
        self._hand_back(self._prefetch.stale(_now_s()))
        if self._stopping or self._draining or self._is_fed:
            self._due_left = True
            return self._longest_rest_s
        try:
            async with self._claiming:
                if self._answer_lost:
                    await self._adopt()
                return await self._claim()
        except StoreUnavailable:
            self._answer_lost = True
            raise

    def serve(self, queues: Iterable[Queue]) -> None:
        """Claim from these queues from now on."""
        self._claim_request = replace(self._claim_request, queues=tuple(queues))

    def drain(self, draining: bool) -> None:
        """Claim no more, or go on; running work may finish."""
        self._draining = draining
        if draining:
            self._hand_back_all()
        self.wakeup.wake()

    async def stop(self, grace_s: float) -> None:
        """Claim no more; let running work finish within the grace, then interrupt it.

        The stop first waits for a claim on its way: its runs are ours already, and silence would cost them an
        attempt."""
        self._stopping = True
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await self._idle()
        self.interrupt()
        begun = [one for one in self._active if one.has_begun]
        stopping = [one.task for one in begun if one.task in self._tasks and self._stoppable(one)]
        if stopping:
            await asyncio.wait(stopping, timeout=INTERRUPT_S)

    async def _idle(self) -> None:
        async with self._claiming:
            self._hand_back_all()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def interrupt(self) -> None:
        """Stop running work at once; work that cannot be stopped is left to be rescued for its silence."""
        self._stopping = True
        self._hand_back_all()
        for one in self._active:
            if self._stoppable(one):
                one.stop(StopCause.SHUTDOWN)
            elif one.has_begun:
                self.log.run_warning(one.claim, "cannot be stopped; left to be rescued")

    def _stoppable(self, one: ActiveRun) -> bool:
        return self._jobs[one.claim.job].executor.stoppable

    async def _claim(self) -> float:
        await self._claim_first()
        bounds = [(self._queueing, self._near), (self._not_prefetched, self._to_begin)]
        asked = helpings(self._claim_request, self.room, bounds)
        # Jobs that are at their bound are left out: their waiting runs are claimed as others end.
        self._due_left = any(jobs and most <= 0 for jobs, most in bounds)
        rests = [await self._claim_of(claim_request, limit) for claim_request, limit in asked]
        return min(rests, default=self._settings.poll_s)

    async def _claim_first(self) -> None:
        """After a rest with nothing to do that a hint has cut short, begin a run if there is one, and let it
        begin before the worker asks for anything else."""
        was_idle, self._idle_until_s = _now_s() < self._idle_until_s, 0.0
        if was_idle:
            claims = await claim_first(self._store.ledger, self._claim_request, self._limited)
            await self._watch.check_claims(claims)
            self._begin(await self._with_predecessors(claims))
            await asyncio.sleep(0)

    async def _claim_of(self, claim_request: ClaimRequest, limit: int, *, again: bool = False) -> float:
        ledger = self._store.ledger
        outlook = await self._looks.look(ledger, claim_request, _now_s())
        asked, begun = min(limit, self.room), 0
        shares = share_room(outlook, asked, self._busy_queues(), self._settings, self._turns)
        for kind in shares.kinds():
            room = min(limit - begun, self.room)
            if room > 0:
                claims = await shares.take(ledger, claim_request, kind, room)
                await self._watch.check_claims(claims)
                self._begin(await self._with_predecessors(claims))
                begun += len(claims)
        if begun < max(asked, 1):
            self._looks.forget()
        if not begun and outlook.directs and self._limited and not again:
            # Runs of limited jobs that the claim met are in their limit queues now, and may begin from there.
            return await self._claim_of(claim_request, limit, again=True)
        return self._rest_s(outlook, begun)

    @property
    def _near(self) -> int:
        """How many more runs that wait for a child process would get one, or be the next to get one."""
        return self._settings.processes + WAITING_MAX - self._in_hand(self._queueing)

    @property
    def _to_begin(self) -> int:
        """How many more runs may be claimed that are not prefetched."""
        return self._settings.concurrency - self._in_hand(self._not_prefetched)

    def _in_hand(self, jobs: Collection[JobName]) -> int:
        return sum(one.claim.job in jobs and not one.has_ended for one in self._active) if jobs else 0

    def _busy_queues(self) -> Counter[Queue]:
        """What this worker has in progress of each queue; empty for a worker with only one queue."""
        if len(self._claim_request.queues) == 1:
            return Counter()
        return Counter(one.claim.queue for one in self._active)

    def _rest_s(self, outlook: Outlook, begun: int) -> float:
        """Until the next run is due; almost none while a due run may be left; else until the poll."""
        self._due_left = self._due_left or outlook.is_anything_due
        if outlook.is_anything_due:
            if self._is_fed:
                return self._longest_rest_s
            return 0.0 if begun else LOCKED_REST_S
        rest_s = self._longest_rest_s
        if outlook.next_due_at is not None:
            due_in_s = -since(outlook.next_due_at, outlook.now).total_seconds()
            rest_s = min(max(due_in_s, REST_MIN_S), rest_s)
        self._idle_until_s = 0.0 if self._tasks else _now_s() + rest_s
        return rest_s

    @property
    def _longest_rest_s(self) -> float:
        stale_in_s = self._prefetch.stale_in_s(_now_s())
        return self._settings.poll_s if stale_in_s is None else min(self._settings.poll_s, stale_in_s)

    async def _adopt(self) -> None:
        """A claim whose answer was lost may have been granted: those runs are this worker's."""
        for claim in await self._store.ledger.adopt(self._claim_request.worker, self._active.fences()):
            self.log.run(claim, "adopted after a lost answer", fence=claim.fence)
            self._begin(await self._with_predecessors([claim]), adopted=True)
        self._answer_lost = False

    async def _with_predecessors(self, claims: Sequence[Claim]) -> Sequence[Claim]:
        """Where the store is lost meanwhile, the claims are adopted later like those of a lost answer."""
        return await with_predecessors(self._store.ledger, claims, self._following)

    def _begin(self, claims: Sequence[Claim], *, adopted: bool = False) -> None:
        """Start what there is room for; the others wait, until they do or are handed back."""
        now_s, self._context = _now_s(), copy_context()
        for claim in claims:
            beats, quiet_beats = self._beats[claim.job]
            active = ActiveRun(
                claim, beats, quiet_beats, self._settings.run_log_max, self._run_context(claim)
            )
            active.is_adopted = adopted
            self._active.add(active)
            if len(self._tasks) < self._settings.concurrency and self._begun < BEGUN_MAX:
                self._start(active)
            elif self._stopping or self._draining:
                self._attempts.hand_back(active)
            else:
                self._prefetch.add(active, now_s)

    def _start(self, active: ActiveRun) -> None:
        claim = active.claim
        if not self._begun:
            asyncio.get_running_loop().call_soon(self._next_turn)
        self._begun += 1
        self._attempts.count(claim)
        if is_heard():
            emit(RunClaimed(claim, adopted=active.is_adopted))
        if not self._tasks:
            self._prefetch.note_work(True, _now_s())
        task = asyncio.get_running_loop().create_task(self._do(active), context=self._context.copy())
        active.attach(task)
        self._tasks.add(task)

    async def _do(self, active: ActiveRun) -> None:
        """One attempt, and then, in the same step, the next."""
        try:
            await self._attempts.do(active)
        except Exception as error:
            self._bug = error
        finally:
            self._ended(active)

    def _hand_back_all(self) -> None:
        self._hand_back(iter(self._prefetch.next, None))

    def _hand_back(self, waiting: Iterable[ActiveRun]) -> None:
        for one in waiting:
            self._attempts.hand_back(one)

    def _run_context(self, claim: Claim) -> LedgerRunContext | None:
        """How its work reaches the ledger, if it gets the run. A run that its own transaction completed needs
        no more heartbeats."""
        if claim.job not in self._taking_run:
            return None
        idle_max_s = self._settings.heartbeat_timeout_s
        return LedgerRunContext(self._store, claim.ticket, idle_max_s, self._active.remove)

    def _beats_for(self, limit: timedelta | None) -> int | None:
        """The number of heartbeats for the limit and for the time in which a stop should have worked."""
        if limit is None:
            return None
        alive_s = limit.total_seconds() + self._settings.heartbeat_timeout_s
        return math.ceil(alive_s / self._settings.heartbeat_every_s)

    def _ended(self, active: ActiveRun) -> None:
        self._tasks.discard(active.task)
        self._prefetch.ended += 1
        if self._prefetch.waiting:
            self._start_next()
        if not self._tasks:
            self._prefetch.note_work(False, _now_s())
        if active.claim.job in self._queueing or self._bug or (self._due_left and self._prefetch.is_low):
            self.wakeup.wake()

    def _claim_more(self) -> None:
        """Runs have begun, or a report was taken: there may be room for what is due."""
        if self._due_left and self._prefetch.is_low:
            self.wakeup.wake()

    def _next_turn(self) -> None:
        self._begun = 0
        self._start_next()
        self._claim_more()

    def _start_next(self) -> None:
        """An attempt that was told to stop while it waited does not begin."""
        while len(self._tasks) < self._settings.concurrency and self._begun < BEGUN_MAX:
            one = self._prefetch.next()
            if one is None:
                break
            if one.cause is None and not (self._stopping or self._draining):
                self._start(one)
            else:
                self._attempts.hand_back(one)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
