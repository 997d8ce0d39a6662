"""The ledger of runs: one row per run key, for ever.

A worker *claims* runs: a compare-and-set from `planned` or `ready` to `running` that raises the attempt
by one and gives it a fence from one strictly rising sequence. Every later write of that attempt carries
the ticket (run key, attempt, fence) and changes a row only where all three still match.

A rescue, or an operator, that takes a run away from its attempt also raises the fence, so that the old ticket
is dead from that instant.

No worker starts a waiting run that is *held* (`Hold`, several reasons at a time), and no `outlook` and no
claim shows it. *Parked* ticks are the exception: they wait for their turn, and are among the facts whenever
their schedule is judged. When a run of a schedule ends, by any call, the same transaction wakes the next
tick: of the ticks of the schedule that are parked and held for no other reason it unparks the one with the
smallest fire time, after any that this call parks. So the schedule is judged again. That wake-up can be
missed where a tick is parked while the run before it ends, or where a claimer has room for fewer than may
start; `unpark` makes up for it.

A job may have limits (`model.limits`). Its due runs leave the lanes for the limit queue of the job
(`Hold.PACED`). A run that finds no slot is held `LIMITED` until a run of the same job and slot ends, by any
call: then as many runs as there are free slots get into the limit queue again, and ticks become due. That
wake-up can be missed too; `unpark` makes up for it. A run's `run_at` stays what it was, so it keeps its
place, and its lateness counts on.

Verdicts are carried out under the schedule's lock. `Admit` makes a tick a catch-up run: origin `catch_up`,
the lowest priority (`PRIORITY_BEHIND`), with the hold that it says and its reason to wait, if any. A run that
ends has no holds any more. `Wait` parks a tick and keeps the reason. `Stop` with `at_once` sets an
unfinished run `cancelled` with its reason and raises its fence; where the run was running, its attempt is
kept as `terminated`. Without `at_once` it does what `cancel` does. `CloseGate`: see `ports.gates`.

A job may run *after* others (`JobSpec.after`). Every call that ends a run also enqueues, in the same
transaction, the runs that follow it, by the table in `core.successors`: `ready`, with its fire time, under a
key that is made of the root of the chain (`model.chain`). So each is there once, also where a predecessor is
replayed. A join is complete when a run of each predecessor has ended so that it fits; of a run that ended
again only the last end counts.

A run that an operator *replays* goes back to `ready` under its own key. Its attempts stay and count on, and
`attempts_before_replay` says how many there were before. Its fence is 0 until it is claimed, so that a tick
is judged once more.

A run is *due* when its state is `planned` or `ready` and its `run_at` is not after the store's time.
Becoming due is a matter of time and not a write: readers show a due `planned` run as `ready`. A tick is due
at its fire time, or later where its schedule spreads its load. Its key, and its place among the ticks of its
schedule, are those of the fire time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from fencepost.model.audit import Author
from fencepost.model.chain import Chain
from fencepost.model.claiming import ClaimRequest, Judge, Outlook
from fencepost.model.clocks import StoreTime
from fencepost.model.enqueueing import Entered
from fencepost.model.identifiers import Fence, Namespace, NodeId, RunKey, ScheduleId
from fencepost.model.limits import Limiter
from fencepost.model.missed import MissedRange
from fencepost.model.plan import Fate, Tick
from fencepost.model.rescue import Rescue, Sweep, SweepTerms
from fencepost.model.run import (
    REPLAYABLE,
    Attempt,
    Claim,
    NewRun,
    Ordered,
    Outcome,
    ProgressReport,
    Pulse,
    Receipt,
    RunFilter,
    RunList,
    RunRecord,
    RunState,
    Ticket,
)
from fencepost.model.status import QueueDepth, QueueView
from fencepost.ports.views import LedgerViews


class Ledger(LedgerViews, Protocol):
    """The ledger, as workers and people use it."""

    async def enqueue(
        self, namespace: Namespace, runs: Sequence[NewRun], *, author: Author | None = None
    ) -> Sequence[bool]:
        """Write runs by hand (`ready`, or `planned` where `run_at` is in the future); fire time = run_at.

        For each run: True if it is new, False if its key was there already (the old row stands).
        Listeners for `runs` are told once a call. With an author, each new run leaves an entry. This call
        ignores `unique`."""
        ...

    async def enqueue_unique(
        self, namespace: Namespace, runs: Sequence[NewRun], *, author: Author | None = None
    ) -> Sequence[Entered]:
        """The same for runs of which some are unique (`NewRun.unique`). Of a job and a name there is one run
        at a time, or one within a period, however many callers ask at once, also in one call. The caller says
        for how long the run that took the name last keeps it. Returns for each run the key of the run that is
        there for it: its own, or that of the run that has the name.

        In the caller's own transaction, a run that keeps its name by being queued does not begin before this
        is committed."""
        ...

    async def trigger(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        fire_time: StoreTime,
        *,
        author: Author | None = None,
    ) -> RunKey | None:
        """Write one extra tick of a schedule, due at once, under its version in force; None where there
        is no such schedule or it is removed.

        The caller read `fire_time` from the store's clock, so that repeating the call after an unknown
        outcome writes nothing twice. The tick's origin is `manual`; it is judged at the claim like any tick.
        Listeners are told.
        """
        ...

    async def outlook(self, claim_request: ClaimRequest) -> Outlook:
        """What is due for this worker, lane by lane, and when the next run will be. A job's limit queue is
        due when its rate lets a run go."""
        ...

    async def claim_direct(self, claim_request: ClaimRequest, limit: int) -> Sequence[Claim]:
        """Claim due runs that need no verdict, those without a schedule and retries: lane by lane in the
        order of the claim request's lane limits, as many of each as its lane limit says, by `run_at`. Rows
        that another claimer has locked are passed over. So are retries of a schedule that another claimer
        has: the fences of a schedule rise from claim to claim.

        A run of a limited job is not claimed here. Where the walk meets one, it moves to the limit queue of
        its job (`Hold.PACED`), and takes up no other run's place."""
        ...

    async def claim_lined(self, claim_request: ClaimRequest, limit: int, limiter: Limiter) -> Sequence[Claim]:
        """Claim runs of limited jobs from the limit queues of their jobs, by priority, then `run_at`.

        The call locks each job's limits and passes over those that another claimer has. It asks the limiter
        with what runs by the ledger. A run that may start starts, and a tick becomes due, to be judged. A run
        that waits for a slot is held `LIMITED`, with its reason; one that waits for the rate stays queued."""
        ...

    async def claim_ticks(
        self, claim_request: ClaimRequest, limit: int, judge: Judge, limiter: Limiter | None = None
    ) -> Sequence[Claim]:
        """Lock up to `limit` schedules that have due ticks and that no other claimer has locked, lane by lane
        as `claim_direct` walks them. Gather the facts of each in a fresh reading, ask the judge, and carry
        out its verdicts.

        The facts' `due` holds only ticks that this worker can take; their `newest_due` is that of all ticks
        but those that an operator holds. Of a limited job the judge may start as many as the limiter allows.
        A tick that then neither starts nor ends nor is parked waits like any run of that job. Without a
        limiter nothing of a limited job starts."""
        ...

    async def sweep_late(self, older_than_s: float, limit: int, judge: Judge) -> int:
        """As `claim_ticks`, in all namespaces and queues, for ticks that have been due longer than that.
        Nothing is started (the judge is asked with room for none). Runs by hand that were to begin before now
        and have not end as missed. Returns how many runs were ended or admitted."""
        ...

    async def adopt(self, worker: NodeId, known: Sequence[Fence]) -> Sequence[Claim]:
        """Runs that are `running` for this worker under a fence that it does not know, because the answer to
        its claim was lost. The worker may run them."""
        ...

    async def pulse(self, tickets: Sequence[Ticket], alive_for_s: float) -> Sequence[Pulse]:
        """Heartbeat: push `alive_until` to the store's time plus `alive_for_s` where still owned."""
        ...

    async def report_progress(self, words: Sequence[ProgressReport]) -> Sequence[bool]:
        """Keep the latest progress on each run, and when it came. Returns for each report whether it was
        taken. A report is not taken where the attempt no longer owns the run, or while another transaction
        has its row locked: the call does not wait for it."""
        ...

    async def finish(self, outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
        """End attempts. An outcome with `retry_in_s` puts the run back to `ready`, due that much later. A run
        that had been asked to stop is not tried again but `cancelled`, for the reason `STOPPED_ON_REQUEST`.
        An attempt that had not `begun` leaves the run due when it was. It counts among the
        `attempts_before_replay`, so it takes none it takes none
        of the attempts that a run may have. A run that no attempt
        has begun has no `first_started_at`; a tick keeps
        it. An attempt that `snoozed` counts there too, and
        its run the run is due after `retry_in_s`.

        An attempt that failed, snoozed or left output is also kept by itself (see `attempts`). Listeners for
        `runs` are told when something became ready at once.
        """
        ...

    async def expired(self, limit: int, terms: SweepTerms) -> Sweep:
        """Running runs whose `alive_until` has passed, oldest first, each with its job's spec.

        The store keeps when a reaper last asked. Where the terms say that owners may have been unable to show
        life since then, nothing is expired: every running run counts as alive for `grace_s` from now. Where
        the store's clock was set back, it counts as alive no longer than that; then the rates of jobs are
        asked anew as well. A run whose owner has shown no life since the grace before keeps what was left of
        that at the last sweep (`SweepTerms.grant`). A run whose row is locked is left as it is. A ledger that
        was never swept gives no grace. Everything is compared with one reading of the store's clock: a store
        that stands still in between must not make runs expire.

        A store that sees in the same reading that `sweep_late` and `unpark` would find nothing may say so
        (`Sweep.quiet`); then the reaper need not call them."""
        ...

    async def rescue(self, rescues: Sequence[Rescue]) -> Sequence[Receipt]:
        """Take runs away from attempts that show no life, only where the ticket still matches and
        `alive_until` has still passed. Raises the fence and keeps the attempt as lost. A run that had been
        asked to stop is not tried again but `cancelled`, as in `finish`."""
        ...

    async def unpark(self, limit: int) -> int:
        """Wake the next tick of every schedule with ticks that are parked and held for no other reason: of
        each schedule the one with the smallest fire time is unparked. Handles up to `limit` schedules of all
        namespaces, and returns how many. Likewise for ticks that wait for the limits of their job: of those
        that wait for a slot, as many as it has places for. A run that began before its job had limits counts
        from now on. Listeners are told."""
        ...

    async def cancel(
        self, namespace: Namespace, run_key: RunKey, reason: str, *, author: Author | None = None
    ) -> RunRecord | None:
        """End a run that has not started as `cancelled`; ask a running one to stop. None if unknown.

        The record returned is the one after the call; a run that had ended already stays as it was. A run in
        a transaction of its own cannot be asked where the store locks it for that: then a `UsageError` says
        so, here and in `skip`, `hold` and `release`."""
        ...

    async def cancel_many(
        self, namespace: Namespace, run_keys: Sequence[RunKey], reason: str, *, author: Author | None = None
    ) -> Mapping[RunKey, Ordered]:
        """The same for many runs in one transaction, with one entry for each run that it changes. Unknown
        runs are left out of the answer. A run that cannot be asked is refused in the answer, and does not
        stop the others. Of a schedule of which several runs end, one tick is unparked."""
        ...

    async def skip(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        """End a run that no worker has started (fence 0) as `skipped`, for the author's reason. None if
        unknown; any other run stays as it was."""
        ...

    async def hold(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        """Set `Hold.OPERATOR` on a run that waits. None if unknown; any other stays as it was."""
        ...

    async def release(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        """Take `Hold.OPERATOR` from a run that waits; listeners are told. A run whose time has come meanwhile
        is due from now on: a hold must not make a tick missed."""
        ...

    async def replay(
        self,
        namespace: Namespace,
        run_keys: Sequence[RunKey],
        every_s: float,
        author: Author,
        *,
        first_in_s: float = 0.0,
        only: frozenset[RunState] = REPLAYABLE,
    ) -> Sequence[RunKey]:
        """Replay runs that have ended in one of the states `only`: the first is due `first_in_s` from now and
        each of the others `every_s` later than the one before it. Returns the keys of the replayed runs. They
        get origin `replay`, the lowest priority, no holds and no backfill, and lose reason and error. All
        other runs stay as they were; so does a run by hand that retention has stripped. A tick of a frozen
        schedule is held. One entry for each run. Listeners are told."""
        ...

    async def plan_by_name(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        version: int,
        ticks: Sequence[Tick],
        author: Author | None,
        *,
        fate: Fate = Fate.PLANNED,
    ) -> Sequence[RunKey]:
        """Write ticks that the planner has not written, or that are gone, as it would have: `planned`, origin
        `live`, epoch 0. With the fate `HELD` the operator holds them from the start; with `SKIPPED` they have
        ended as `skipped`, for the author's reason.

        A fire time outside of the version's time in force gets no tick, nor does one that has a run which was
        not withdrawn, or that lies in a missed range. Returns the keys written, with one entry for each of
        them, by its fate `run.restore`, `run.hold` or `run.skip`. Writes nothing where there is no such
        version. A planner that computed its plan before this call writes nothing of it."""
        ...

    async def await_end(self, namespace: Namespace, run_key: RunKey) -> bool:
        """Have the listeners for `ended` told when this run ends, by any call. False where it has ended or is
        unknown, and where its row is locked for the moment: the call does not wait."""
        ...

    async def get(self, namespace: Namespace, run_key: RunKey) -> RunRecord | None: ...

    async def get_many(self, namespace: Namespace, run_keys: Sequence[RunKey]) -> Mapping[RunKey, RunRecord]:
        """The runs of these keys that are there, in one reading; in no order."""
        ...

    async def attempts(self, namespace: Namespace, run_key: RunKey) -> Sequence[Attempt]:
        """The attempts that are kept by themselves, first to last."""
        ...

    async def chain(self, namespace: Namespace, run_key: RunKey) -> Chain:
        """The runs that the run followed, with what they left, and the runs that follow it."""
        ...

    async def list(self, namespace: Namespace, filter: RunFilter) -> RunList:
        """Runs, newest fire time first, then by descending key. `ready` and `planned` are told apart by the
        store's time. To read all of them, go on from `RunList.following`."""
        ...

    async def ticks(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        since: datetime,
        until: datetime,
        after: tuple[datetime, RunKey] | None,
        limit: int,
    ) -> Sequence[RunRecord]:
        """The runs of a schedule with a fire time in (since, until], ascending by fire time and key, those
        after `after`, as shown."""
        ...

    async def ended(
        self, namespace: Namespace, schedule_id: ScheduleId, since: datetime, until: datetime, limit: int
    ) -> Sequence[RunRecord]:
        """The runs of a schedule that were started and ended in (since, until], the latest end first, those
        of one instant by descending key."""
        ...

    async def missed_ranges(
        self, namespace: Namespace, schedule_id: ScheduleId, since: datetime, until: datetime
    ) -> Sequence[MissedRange]:
        """The missed ranges of a schedule that reach into (since, until], ascending."""
        ...

    async def running(self, namespace: Namespace, limit: int) -> Sequence[RunRecord]:
        """Runs that are `running`, the longest since its last heartbeat first."""
        ...

    async def typical_run_s(self, namespace: Namespace, schedule_id: ScheduleId) -> float | None:
        """How long the last successful runs of a schedule took on average, at most 20 of them; None where
        there are none."""
        ...

    async def forgotten_before(self) -> datetime | None:
        """Retention may have removed ticks with fire times before this; None where it never removed any."""
        ...

    async def depth(self, namespace: Namespace) -> QueueDepth: ...

    async def queues(self, namespace: Namespace) -> Sequence[QueueView]:
        """Every queue in which something is due, waits for the limits of its job, or runs, by name."""
        ...

    async def taken_away(self, namespace: Namespace) -> tuple[Attempt, RunRecord] | None:
        """The latest attempt in the ledger whose run was taken from it (lost or terminated) and has a larger
        fence now, with that run."""
        ...

    async def tally(self, namespace: Namespace, since_s: float) -> dict[RunState, int]:
        """How many runs with a fire time in the last `since_s` seconds are in each state, as shown: a tick
        that has fired and is due later counts as `planned`. Ticks that are counted in missed ranges count as
        `missed`."""
        ...

    async def forget(self, older_than_s: float, limit: int, dead_older_than_s: float | None = None) -> int:
        """Remove ended ticks that finished longer ago, with their attempts, up to `limit`; returns how many.
        Dead ones stay for `dead_older_than_s`, where that is longer.

        Runs enqueued by hand keep their row, because only the row remembers their key; their payload, error
        and attempts are removed instead. The call never touches a schedule's cursor. A tick also stays while
        its fire time is not that long ago, and while a cursor of its schedule may still reach it. It stays
        while its schedule is paused and was so before it: a tick that was called off ahead of time must not
        be planned again. Withdrawn ticks and extra ones that were triggered by hand keep no tick."""
        ...
