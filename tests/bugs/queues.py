"""Bugs in what is claimed, beside what, how often, and in what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from fencepost.core import deployment, judgement, retry, settling
from fencepost.model.clocks import later
from fencepost.model.identifiers import RunKey
from fencepost.model.run import Hold, RunState
from fencepost.services import deployer
from fencepost.services.worker import Worker
from fencepost.stores.memory import desk
from fencepost.stores.memory.claims import MemoryClaims
from fencepost.stores.memory.desk import MemoryDesk
from fencepost.stores.memory.lanes import Lane, RunRow, by_fire_time, is_tick
from fencepost.stores.memory.ledger import MemoryLedger
from fencepost.stores.memory.part import MemoryPart
from fencepost.stores.memory.tables import Tables
from fencepost.stores.memory.writing import send_again
from tests.bugs.bug import Planted, bug

CONTRACT = "tests/conformance/test_memory.py::TestMemoryStore"
WALL_CLOCK_OFF_S = 30.0
SOON_FORGOTTEN_S = 60.0
LOST_OF = 2


@bug("overlap is judged by all runs of the schedule", "I7")
def overlap_judged_by_ones_own_runs() -> Planted:
    """Each worker sees to it that it does not overlap with itself."""
    claim_ticks = MemoryClaims.claim_ticks

    async def own(self: Any, appetite: Any, limit: int, judge: Any, limiter: Any = None) -> Any:
        def mine(facts: Any, now: Any, room: int) -> Any:
            runs = self._tables.lane(facts.namespace, facts.schedule_id).runs
            seen = tuple(
                one for one in facts.unfinished if runs[one.run_key].record.worker == appetite.worker
            )
            return judge(replace(facts, unfinished=seen), now, room)

        return await claim_ticks(self, appetite, limit, mine, limiter)

    return patch.object(MemoryClaims, "claim_ticks", own)


@bug("a run that waits for its retry is unfinished", "I7")
def overlap_ignores_waiting_retries() -> Planted:
    """The next tick begins while the one before waits for its second attempt: both run."""

    def running(self: Lane) -> list[RunRow]:
        return [row for row in by_fire_time(self.open) if row.record.state is RunState.RUNNING]

    return patch.object(Lane, "unfinished", running)


@bug("what is due is due by the store's clock", "backoff")
def due_by_the_workers_clock() -> Planted:
    """A worker whose clock is half a minute fast begins retries half a minute early."""
    in_time = MemoryClaims._due

    def due(self: Any, wanted: Any, by: Any) -> list[RunRow]:
        found = in_time(self, wanted, by)
        waiting = [row for row in self._tables.waiting.values() if not row.record.held and wanted(row)]
        soon = [row for row in waiting if row.record.run_at <= later(by, WALL_CLOCK_OFF_S)]
        return [*found, *(row for row in soon if row not in found and not is_tick(row.record))]

    return patch.object(MemoryClaims, "_due", due)


@bug("what is held does not start", f"{CONTRACT}::test_a_held_tick_is_neither_judged_nor_swept")
def held_runs_claimed() -> Planted:
    """Somebody holds a run back, or freezes everything, and it starts all the same."""
    claim_ticks = MemoryClaims.claim_ticks

    async def greedy(self: Any, appetite: Any, limit: int, judge: Any, limiter: Any = None) -> Any:
        claims = await claim_ticks(self, appetite, limit, judge, limiter)
        due = [row for row in self._tables.waiting.values() if row.record.run_at <= self._tables.now()]
        held = [row for row in due if row.record.held & ~Hold.PARKED]
        return [*claims, *(self._start(row, appetite, None) for row in held)]

    return patch.object(MemoryClaims, "claim_ticks", greedy)


@bug("max attempts is how often, not how often again", "I9")
def one_attempt_too_many() -> Planted:
    """Three attempts are four."""
    after_failure = retry.after_failure

    def generous(policy: Any, failure: Any, dice: float, budget: Any = None) -> Any:
        more = replace(policy, max_attempts=policy.max_attempts + 1)
        return after_failure(more, failure, dice, budget)

    return patch.object(settling, "after_failure", generous)


@bug("a retry keeps its key", "I3")
def retry_mints_a_new_key() -> Planted:
    """Each attempt is a new run: whoever looks for the tick finds a dead one and a stranger."""

    def requeue(self: Any, row: RunRow, reason: Any, error: Any, delay_s: float) -> None:
        record, tables = row.record, self._tables
        tables.end(row, RunState.DEAD, reason, error)
        again = replace(
            record,
            run_key=RunKey(f"{record.run_key}~{record.attempt}"),
            state=RunState.READY,
            run_at=later(tables.now(), delay_s),
            worker=None,
        )
        tables.insert(RunRow(again))

    return patch.object(MemoryLedger, "_requeue", requeue)


@bug("backoff stays below its cap", "backoff")
def backoff_without_a_cap() -> Planted:
    """The tenth retry waits for a day."""

    def uncapped(policy: Any, attempt: int, dice: float) -> float:
        return float(policy.base.total_seconds() * 4**attempt)

    return patch.object(retry, "delay_s", uncapped)


@bug("a herd of retries is spread", "tests/core/test_retry.py::test_the_jitter_is_full")
def backoff_without_a_wait() -> Planted:
    """What has just failed is tried again at once, by everybody."""
    return patch.object(retry, "delay_s", lambda policy, attempt, dice: 0.0)


@bug("a replay begins a new round of attempts", f"{CONTRACT}::test_a_second_replay_counts_on")
def replay_counts_the_old_attempts() -> Planted:
    """A run that was replayed has used up its attempts before it begins."""

    def tired(tables: Tables, row: RunRow, *arguments: Any) -> None:
        spent = row.record.spent
        send_again(tables, row, *arguments)
        tables.change(row, spent=spent)

    return patch.object(desk, "send_again", tired)


@bug("a key is enqueued once", "I12", seed=3, hours=1.0)
def enqueued_again_with_every_request() -> Planted:
    """A client that heard no answer asks again, and the order is sent twice."""
    enqueue = MemoryDesk._enqueue

    def again(self: Any, namespace: Any, run: Any, author: Any) -> bool:
        self._tables.runs.pop((namespace, run.run_key), None)
        return enqueue(self, namespace, run, author)

    return patch.object(MemoryDesk, "_enqueue", again)


@bug("a write that was acknowledged is there", "I12")
def enqueued_and_then_forgotten() -> Planted:
    """One order in two is acknowledged before it is written, and the process that had it ends."""
    enqueue = MemoryDesk._enqueue

    def lossy(self: Any, namespace: Any, run: Any, author: Any) -> bool:
        lost = int(run.run_key.rpartition("-")[2]) % LOST_OF == 0
        return True if lost else enqueue(self, namespace, run, author)

    return patch.object(MemoryDesk, "_enqueue", lossy)


@bug("retention removes what has ended", "I6")
def retention_removes_what_is_open() -> Planted:
    """What is old is removed, although it has not ended."""

    async def by_age(self: Any, older_than_s: float, limit: int) -> int:
        tables = self._tables
        cutoff = later(tables.now(), -SOON_FORGOTTEN_S)
        old = [row for row in tables.runs.values() if row.record.schedule_id and row.record.run_at < cutoff]
        for row in old:
            key = row.record.namespace, row.record.run_key
            lane = tables.lane(row.record.namespace, row.record.schedule_id)
            for index in (tables.waiting, tables.running):
                index.pop(key, None)
            for index in (lane.open, lane.parked):
                index.pop(key[1], None)
            tables.drop(row)
        return 0

    return patch.object(MemoryLedger, "forget", by_age)


@bug(
    "the key of a run by hand is never forgotten",
    f"{CONTRACT}::test_forget_keeps_the_key_of_a_run_by_hand",
)
def retention_forgets_keys_by_hand() -> Planted:
    """The row was the only memory of the key; a client that asks again next month is served again."""
    forget = MemoryLedger.forget

    async def too_tidy(self: Any, older_than_s: float, limit: int) -> int:
        removed = await forget(self, older_than_s, limit)
        for row in [one for one in self._tables.runs.values() if one.stripped]:
            self._tables.drop(row)
        return removed

    return patch.object(MemoryLedger, "forget", too_tidy)


@bug("who waits for a turn is called", "I2")
def nobody_is_called() -> Planted:
    """Ticks that wait behind others wait on when those have ended."""
    return patch.object(MemoryPart, "_unpark", lambda self, lane: False)


@bug("a hint is a hint", "tests/services/test_worker.py::test_a_tick_is_not_started_before_its_time")
def no_poll_behind_the_hints() -> Planted:
    """A hint is lost, and the worker sleeps on: nothing else would wake it."""
    return patch.object(Worker, "_rest_s", lambda self, outlook, begun: 3600.0)


@bug(
    "old replicas do not fight newer code",
    "tests/services/test_deployer.py::test_an_old_replica_that_restarts_in_mid_deploy_changes_nothing",
)
def old_code_fights_new_code() -> Planted:
    """In mid-deploy each replica that restarts writes its own schedules over those of the others."""

    def always(wanted: Any, current: Any, history: Sequence[Any], live_digests: Any) -> bool:
        return current is None or not deployment.same_words(current.spec, wanted)

    return patch.object(deployer, "should_apply", always)


@bug(
    "one judgement does not contradict itself",
    "tests/core/test_judgement.py::test_what_a_judgement_starts_it_does_not_stop",
)
def started_and_stopped_at_once() -> Planted:
    """A tick of the version before an edit starts, and in the same claim makes way for one after it: it runs
    although it was called off."""
    return patch.object(judgement._Session, "_starts_any", lambda self, runs: False)


@bug(
    "evidence stays while it is needed",
    f"{CONTRACT}::test_forget_does_not_reopen_what_was_called_off_before_an_edit",
)
def forgotten_before_the_cursor_came_by() -> Planted:
    """A tick that was called off is pruned, and the next version's cursor plans it again."""
    return patch.object(MemoryLedger, "_may_be_planned", lambda self, record: False)
