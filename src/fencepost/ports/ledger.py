"""The ledger of runs: one row per run key, for ever.

A worker *claims* runs: a compare-and-set from `planned` or `ready` to `running` that raises the attempt
by one and gives it a fence from one strictly rising sequence. Every later write of that attempt carries
the ticket (run key, attempt, fence) and changes a row only where all three still match.

Whoever takes a run away from its attempt (rescue, or an operator) also raises the fence, so that the old
ticket is dead from that instant.

A run is *due* when its state is `planned` or `ready` and its `run_at` is not after the store's time.
Becoming due is a matter of time and no write: readers show a due `planned` run as `ready`. A tick is due at
its fire time or later, where its schedule spreads its load; its key, and its place among the ticks of its
schedule, are those of the fire time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fencepost.model.claiming import Appetite, Judge, Outlook
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Fence, Namespace, NodeId, RunKey, ScheduleId
from fencepost.model.rescue import Expired, Rescue
from fencepost.model.run import (
    Attempt,
    Claim,
    NewRun,
    Outcome,
    Pulse,
    Receipt,
    RunFilter,
    RunRecord,
    RunState,
    Ticket,
)
from fencepost.model.status import QueueDepth


class Ledger(Protocol):
    """The workers' and the people's side of the ledger."""

    async def enqueue(self, namespace: Namespace, runs: Sequence[NewRun]) -> Sequence[bool]:
        """Write runs by hand (`ready`, or `planned` where `run_at` is in the future); fire time = run_at.

        For each run: True if it is new, False if its key was there already (the old row stands).
        Listeners for `runs` are told once a call.
        """
        ...

    async def trigger(
        self, namespace: Namespace, schedule_id: ScheduleId, fire_time: StoreTime
    ) -> RunKey | None:
        """Write one extra tick of a schedule, due at once, under its version in force; None where there
        is no such schedule or it is removed.

        The caller read `fire_time` from the store's clock, so that repeating the call after an unknown
        outcome writes nothing twice. It is judged at the claim like any tick. Listeners are told.
        """
        ...

    async def outlook(self, appetite: Appetite) -> Outlook:
        """What is due for this worker, and when the next run will be."""
        ...

    async def claim_direct(self, appetite: Appetite, limit: int) -> Sequence[Claim]:
        """Claim due runs that need no judgement, by priority, then `run_at`: those without a schedule,
        and retries. Rows that another claimer has locked are passed over."""
        ...

    async def claim_ticks(self, appetite: Appetite, limit: int, judge: Judge) -> Sequence[Claim]:
        """Lock up to `limit` schedules that have due ticks and that nobody else has locked, gather the
        facts of each in a fresh reading, ask the judge, and carry out its verdicts.

        The facts' `due` holds only ticks that this worker can take, their `newest_due` is that of all."""
        ...

    async def sweep_late(self, older_than_s: float, limit: int, judge: Judge) -> int:
        """As `claim_ticks`, in all namespaces and queues, for ticks due longer than that; nothing is
        started (the judge is asked with room for none). Returns how many ticks were ended."""
        ...

    async def adopt(self, worker: NodeId, known: Sequence[Fence]) -> Sequence[Claim]:
        """Runs that are `running` for this worker under a fence it does not know: the answer to its
        claim was lost. They are its own to run."""
        ...

    async def pulse(self, tickets: Sequence[Ticket], alive_for_s: float) -> Sequence[Pulse]:
        """Heartbeat: push `alive_until` to the store's time plus `alive_for_s` where still owned."""
        ...

    async def report_progress(self, ticket: Ticket, progress: str) -> bool:
        """Keep the latest word of progress on the run; False where it is not owned any more."""
        ...

    async def finish(self, outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
        """End attempts. An outcome with `retry_in_s` puts the run back to `ready`, due that much later; a run
        that had been asked to stop is not tried again but `cancelled`, for the reason `STOPPED_ON_REQUEST`.

        An attempt that failed or left output is also kept by itself (see `attempts`). Listeners for
        `runs` are told when something became ready at once.
        """
        ...

    async def expired(self, limit: int) -> Sequence[Expired]:
        """Running runs whose `alive_until` has passed, oldest first, each with its job's spec."""
        ...

    async def rescue(self, rescues: Sequence[Rescue]) -> Sequence[Receipt]:
        """Take runs away from attempts that show no life: only where the ticket still matches and
        `alive_until` has still passed. Raises the fence and keeps the attempt as lost."""
        ...

    async def cancel(self, namespace: Namespace, run_key: RunKey, reason: str) -> RunRecord | None:
        """End a run that has not started as `cancelled`; ask a running one to stop. None if unknown.

        The record returned is the one after the call; a run that had ended already stays as it was."""
        ...

    async def get(self, namespace: Namespace, run_key: RunKey) -> RunRecord | None: ...

    async def attempts(self, namespace: Namespace, run_key: RunKey) -> Sequence[Attempt]:
        """The attempts worth remembering by themselves, first to last."""
        ...

    async def list(self, namespace: Namespace, filter: RunFilter) -> Sequence[RunRecord]:
        """Runs, newest fire time first. `ready` and `planned` are told apart by the store's time."""
        ...

    async def depth(self, namespace: Namespace) -> QueueDepth: ...

    async def tally(self, namespace: Namespace, since_s: float) -> dict[RunState, int]:
        """How many runs whose fire time lies in the last so many seconds are in each state, as shown: a tick
        that has fired and is due later counts as `planned`."""
        ...

    async def forget(self, older_than_s: float, limit: int) -> int:
        """Remove ended ticks that finished longer ago, with their attempts; up to `limit`, return how many.

        Runs enqueued by hand keep their row, because the row is what remembers their key; their
        payload, error and attempts are dropped instead. A schedule's cursor is never touched."""
        ...
