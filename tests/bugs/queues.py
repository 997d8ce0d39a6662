"""Bugs in what is claimed, beside what, how often, and in what is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import unwrap
from typing import Any
from unittest.mock import patch

from fencepost.core import deployment, outcome, retry, verdict
from fencepost.model.clocks import later
from fencepost.model.run import Hold, RunState
from fencepost.model.table import Ranges, Row
from fencepost.model.tables import RUNS, RUNS_BY_SCHEDULE, RUNS_HELD, RUNS_UNFINISHED
from fencepost.rules import claims, orders, reports, runs
from fencepost.rules.claims import ClaimRules
from fencepost.rules.facts import facts_of
from fencepost.rules.orders import OrderRules
from fencepost.rules.part import writes
from fencepost.rules.reports import ReportRules
from fencepost.rules.runs import WAITING, end, send_again
from fencepost.services import deployer
from fencepost.services.worker import Worker
from tests.bugs.bug import Planted, all_of, bug
from tests.bugs.misled import Misled, See

CONTRACT = "tests/conformance/test_memory.py::TestMemoryStore"
WALL_CLOCK_OFF_S = 30.0
SOON_FORGOTTEN_S = 60.0
LOST_OF = 2


@bug("overlap is judged by all runs of the schedule", "I7")
def overlap_judged_by_ones_own_runs() -> Planted:
    """Each worker sees to it that it does not overlap with itself."""
    claim_ticks = unwrap(ClaimRules._claim_ticks)

    async def own(self: Any, tx: Any, claim_request: Any, *arguments: Any) -> Any:
        mine = _unfinished_if(lambda run: run["worker"] == claim_request.worker)
        return await claim_ticks(self, Misled(tx, mine), claim_request, *arguments)

    return patch.object(ClaimRules, "_claim_ticks", writes(own))


@bug("a run that waits for its retry is unfinished", "I7")
def overlap_ignores_waiting_retries() -> Planted:
    """The next tick begins while the one before waits for its second attempt: both run."""

    async def of_running(tx: Any, *arguments: Any) -> Any:
        running = _unfinished_if(lambda run: run["state"] == RunState.RUNNING)
        return await facts_of(Misled(tx, running), *arguments)

    return patch.object(claims, "facts_of", of_running)


@bug("what is due is due by the store's clock", "backoff")
def due_by_the_workers_clock() -> Planted:
    """A worker whose clock is half a minute fast begins retries half a minute early."""
    take = claims._take_direct

    async def early(tx: Any, claim_request: Any, lane_limit: Any, most: int, now: Any) -> Any:
        return await take(tx, claim_request, lane_limit, most, later(now, WALL_CLOCK_OFF_S))

    return patch.object(claims, "_take_direct", early)


@bug("what is held does not start", f"{CONTRACT}::test_a_held_tick_is_neither_judged_nor_swept")
def held_runs_claimed() -> Planted:
    """Somebody holds a run back, or freezes everything, and it starts all the same."""
    claim_ticks = unwrap(ClaimRules._claim_ticks)

    async def greedy(self: Any, tx: Any, claim_request: Any, *arguments: Any) -> Any:
        (claimed, full), now = await claim_ticks(self, tx, claim_request, *arguments), await tx.now()
        waiting = [run for run in await tx.take(RUNS_HELD()) if run["state"] in WAITING]
        held = [run for run in waiting if run["run_at"] <= now and run["held"] & ~Hold.PARKED.value]
        return [*claimed, *await claims._start(tx, held, claim_request, now, {})], full

    return patch.object(ClaimRules, "_claim_ticks", writes(greedy))


@bug("max attempts is how often, not how often again", "I9")
def one_attempt_too_many() -> Planted:
    """Three attempts are four."""
    after_failure = retry.after_failure

    def generous(policy: Any, failure: Any, dice: float, budget: Any = None) -> Any:
        more = replace(policy, max_attempts=policy.max_attempts + 1)
        return after_failure(more, failure, dice, budget)

    return patch.object(outcome, "after_failure", generous)


@bug("a retry keeps its key", "I3")
def retry_mints_a_new_key() -> Planted:
    """Each attempt is a new run: whoever looks for the tick finds a dead one and a stranger."""

    async def requeue(tx: Any, freed: Any, run: Any, reason: Any, error: Any, delay_s: float) -> Any:
        waits = {"state": RunState.READY.value, "worker": None, "alive_until": None, "slot": None}
        again = {**run, **waits, "run_key": f"{run['run_key']}~{run['attempt']}"}
        await tx.put_if_absent(RUNS, [{**again, "run_at": later(await tx.now(), delay_s)}])
        return await end(tx, freed, run, RunState.DEAD, reason, error)

    return patch.object(reports, "_requeue", requeue)


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

    async def tired(tx: Any, run: Any, *arguments: Any) -> Any:
        sent = await send_again(tx, run, *arguments)
        (tired,) = await tx.change(RUNS, [(sent, {"spent": run["spent"]})])
        return tired

    return patch.object(orders, "send_again", tired)


@bug("a key is enqueued once", "I12", hours=1.0)
def enqueued_again_with_every_request() -> Planted:
    """A client that heard no answer asks again, and the order is sent twice."""
    enqueue = unwrap(OrderRules.enqueue)

    async def again(self: Any, tx: Any, namespace: Any, new: Any, *, author: Any = None) -> Any:
        await tx.delete(RUNS, await tx.lock(RUNS.among((namespace, run.run_key) for run in new)))
        return await enqueue(self, tx, namespace, new, author=author)

    return patch.object(OrderRules, "enqueue", writes(again))


@bug("a write that was acknowledged is there", "I12")
def enqueued_and_then_forgotten() -> Planted:
    """One order in two is acknowledged before it is written, and the process that had it ends."""
    enqueue = unwrap(OrderRules.enqueue)

    async def lossy(self: Any, tx: Any, namespace: Any, new: Any, *, author: Any = None) -> Any:
        kept = [run for run in new if int(run.run_key.rpartition("-")[2]) % LOST_OF]
        answers = await enqueue(self, tx, namespace, kept, author=author)
        fresh = dict(zip((run.run_key for run in kept), answers, strict=True))
        return [fresh.get(run.run_key, True) for run in new]

    return patch.object(OrderRules, "enqueue", writes(lossy))


@bug("retention removes what has ended", "I6")
def retention_removes_what_is_open() -> Planted:
    """What is old is removed, although it has not ended."""

    async def by_age(self: Any, tx: Any, older_than_s: float, limit: int, dead_s: Any = None) -> int:
        cutoff = later(await tx.now(), -SOON_FORGOTTEN_S)
        await tx.delete(RUNS, [run for run in await tx.take(RUNS_BY_SCHEDULE()) if run["run_at"] < cutoff])
        return 0

    return patch.object(ReportRules, "forget", writes(by_age))


@bug(
    "the key of a run by hand is never forgotten",
    f"{CONTRACT}::test_forget_keeps_the_key_of_a_run_by_hand",
)
def retention_forgets_keys_by_hand() -> Planted:
    """The row was the only memory of the key; a client that asks again next month is served again."""
    forget = unwrap(ReportRules.forget)

    async def too_tidy(self: Any, tx: Any, older_than_s: float, limit: int, dead_s: Any = None) -> Any:
        removed = await forget(self, tx, older_than_s, limit)
        known = await tx.take(RUNS.indexes["runs_key"]())
        await tx.delete(RUNS, [run for run in known if run["stripped"]])
        return removed

    return patch.object(ReportRules, "forget", writes(too_tidy))


@bug("who waits for a turn is called", "I2")
def nobody_is_called() -> Planted:
    """Ticks that wait behind others wait on when those have ended."""

    async def none(*arguments: Any) -> int:
        return 0

    return all_of(*(patch.object(module, "unpark_first", none) for module in (runs, reports)))


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
    "one verdict does not contradict itself",
    "tests/core/test_verdict.py::test_what_a_judgement_starts_it_does_not_stop",
)
def started_and_stopped_at_once() -> Planted:
    """A tick of the version before an edit starts, and in the same claim makes way for one after it: it runs
    although it was called off."""
    return patch.object(verdict._Session, "_starts_any", lambda self, runs: False)


@bug(
    "evidence stays while it is needed",
    f"{CONTRACT}::test_forget_does_not_reopen_what_was_called_off_before_an_edit",
)
def forgotten_before_the_cursor_came_by() -> Planted:
    """A tick that was called off is pruned, and the next version's cursor plans it again."""

    async def never(tx: Any, run: Any) -> bool:
        return False

    return patch.object(reports, "_may_be_planned", never)


def _unfinished_if(counts: Callable[[Row], bool]) -> See:
    """Of the unfinished runs of a schedule, some are overlooked."""

    def see(selection: Any, run: Any) -> Any:
        asked = selection.ranges if isinstance(selection, Ranges) else ()
        unfinished = any(one.index is RUNS_UNFINISHED for one in asked)
        return None if unfinished and not counts(run) else run

    return see
